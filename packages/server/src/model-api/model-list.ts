/** The models that a client may name, in one form for the libraries of all protocols. */
import { attempt } from "@pagurus/core/data/attempt";
import type { WireReply } from "@pagurus/gateway/dialect/wire-dialect";
import { WireCallError } from "@pagurus/gateway/server/faults";
import { jsonReply } from "./json-reply.ts";

const LIST = "/models";

function modelObject(id: string): object {
  return {
    id,
    object: "model",
    type: "model",
    display_name: id,
    created: 0,
    created_at: "1970-01-01T00:00:00Z",
    owned_by: id.slice(0, id.indexOf("/")),
  };
}

/** The list, or the model that the path names with its slash as it is or encoded. Throws `WireCallError`. */
export function modelReply(names: readonly string[], path: string): WireReply {
  if (path === LIST) {
    const ids = { first_id: names[0] ?? null, last_id: names.at(-1) ?? null };
    return jsonReply({ object: "list", data: names.map(modelObject), has_more: false, ...ids });
  }
  const id = attempt(() => decodeURIComponent(path.slice(LIST.length + 1))) ?? "";
  if (names.includes(id)) return jsonReply(modelObject(id));
  throw new WireCallError("not_found", `There is no model "${id}"; there are: ${names.join(", ")}.`);
}
