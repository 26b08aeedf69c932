/** Colours of code from the worker, which is loaded when the first code is shown. */
import type { CodePiece } from "@pagurus/core/highlight/highlighted-code";
import type { Asked, Coloured } from "./highlight-worker.ts";
// oxlint-disable-next-line import/default -- Vite makes a module of the address
import address from "./highlight-worker.ts?worker&url";

interface ScriptPolicy {
  createScriptURL(url: string): string;
}

declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy }
  | undefined;

/** The page's policy lets this one address become a script, and no other: the server names the policy. */
function trusted(url: string): string {
  if (typeof trustedTypes === "undefined") return url;
  return trustedTypes
    .createPolicy("pagurus-worker", {
      createScriptURL: (asked) => {
        if (asked !== url) throw new TypeError(`${asked} is not the page's worker.`);
        return asked;
      },
    })
    .createScriptURL(url);
}

const waiting = new Map<number, (pieces: readonly CodePiece[] | undefined) => void>();
let worker: Worker | undefined;
let last = 0;

function started(): Worker {
  const made = new Worker(trusted(address), { type: "module", name: "colours" });
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
