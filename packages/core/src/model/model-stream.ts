import { loadOnce } from "../platform/load-once.ts";
import type { ModelPart, ModelRequest, ResolvedModel } from "./provider-types.ts";

const offlineAnswer = loadOnce(() => import("./offline-answer.ts"));
const providerStream = loadOnce(() => import("./provider-stream.ts"));

/**
 * Calls a model and streams its answer; the last part is `finish` with the complete message. Failed calls are retried with
 * backoff, each announced by a `retry` part. Leaving the loop or aborting closes the connection at once. Throws `model_*`,
 * `context_overflow`, `turn_aborted`; no error contains a secret.
 */
export async function* streamModel(model: ResolvedModel, request: ModelRequest): AsyncGenerator<ModelPart> {
  if (model.info.api === "offline") {
    const { streamOffline } = await offlineAnswer();
    yield* streamOffline(model.info, request);
    return;
  }
  const { streamProvider } = await providerStream();
  yield* streamProvider(model, request);
}
