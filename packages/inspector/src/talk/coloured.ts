/** Colours of code from the worker, which is loaded when the first code is shown. */
import type { CodePiece } from "@pagurus/core/highlight/highlighted-code";
import type { Asked, Coloured } from "./highlight-worker.ts";
import { workerAddress } from "../worker-addresses.ts";

const waiting = new Map<number, (pieces: readonly CodePiece[] | undefined) => void>();
let worker: Worker | undefined;
let last = 0;

function started(): Worker {
  const made = new Worker(workerAddress("colours"), { type: "module", name: "colours" });
  made.addEventListener("message", ({ data: { id, pieces } }: MessageEvent<Coloured>) => {
    waiting.get(id)?.(pieces);
    waiting.delete(id);
  });
  made.addEventListener("error", () => {
    // Its file cannot be loaded: code stays without colours.
    for (const answer of waiting.values()) answer(undefined);
    waiting.clear();
  });
  return made;
}

/** Resolves with undefined for a language without colours. */
export function coloured(code: string, language: string): Promise<readonly CodePiece[] | undefined> {
  worker ??= started();
  last += 1;
  const asked: Asked = { id: last, code, language };
  return new Promise((resolve) => {
    waiting.set(asked.id, resolve);
    worker?.postMessage(asked);
  });
}
