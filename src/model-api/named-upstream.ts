/** A model by its provider's own name: clients of the API call it `provider/model`. */
import type { Upstream } from "../gateway/upstream/upstream.ts";
import { wholeMembers } from "../gateway/json/scan.ts";

export function withModelName(upstream: Upstream, modelId: string): Upstream {
  return {
    label: upstream.label,
    ...(upstream.secrets ? { secrets: upstream.secrets } : {}),
    send: (request) => upstream.send({ ...request, body: named(request.body, modelId) }),
  };
}

function named(parts: readonly Buffer[], modelId: string): Buffer[] {
  const body = Buffer.concat(parts);
  const span = wholeMembers(body).get("model");
  if (!span) return [body];
  const name = Buffer.from(JSON.stringify(modelId));
  return [body.subarray(0, span.start), name, body.subarray(span.end)];
}
