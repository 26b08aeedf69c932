/** The files of the page that become workers. */
// oxlint-disable-next-line import/default -- Vite makes a module of the address
import events from "./event-worker.ts?sharedworker&url";
// oxlint-disable-next-line import/default -- Vite makes a module of the address
import colours from "./talk/highlight-worker.ts?worker&url";

interface ScriptPolicy {
  createScriptURL(url: string): string;
}

declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy }
  | undefined;

const ADDRESSES = { events, colours };

/** The page's policy lets these addresses become scripts, and no other: the server names the policy. */
const policy =
  typeof trustedTypes === "undefined"
    ? undefined
    : trustedTypes.createPolicy("pagurus-worker", {
        createScriptURL: (asked) => {
          if (!Object.values(ADDRESSES).includes(asked))
            throw new TypeError(`${asked} is not a worker of the page.`);
          return asked;
        },
      });

/** An address that the browser takes for a worker's script. */
export function workerAddress(name: keyof typeof ADDRESSES): string {
  return policy?.createScriptURL(ADDRESSES[name]) ?? ADDRESSES[name];
}
