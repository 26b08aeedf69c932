/** Names of items and responses in a request of the Responses API that only the provider which stored them can replace by their content. */
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { parsePart } from "../../json/scan.ts";
import type { WireRequest } from "../../dialect/wire-dialect.ts";
import { membersOf } from "./translate-fields.ts";

/** An id, or an object with one. */
function idOfItem(value: unknown): string {
  return stringOf(value) || stringOf(recordOf(value)["id"]);
}

/** The refusal of a request that names what no other model can look up, in the provider's words; undefined if it names nothing. */
export function namedElsewhere(request: WireRequest): string | undefined {
  if (request.api !== "openai-responses") return undefined;
  const member = membersOf(request);
  const response = idOfItem(member("previous_response_id"));
  if (response !== "")
    return `Previous response with id "${response}" not found: the gateway has no response of that id. Send the whole conversation in "input".`;
  const conversation = idOfItem(member("conversation"));
  if (conversation !== "")
    return `Conversation with id "${conversation}" not found: the gateway stores no conversations. Send the whole conversation in "input".`;
  for (const [at, item] of request.items.entries()) {
    if (!("type" in item) || item.type !== "item_reference") continue;
    const id = idOfItem(recordOf(parsePart(request.body, item))["id"]);
    return `Item with id "${id}" not found: input[${at}] names an item that the gateway does not have. Send the item itself.`;
  }
  return undefined;
}
