/** Keys of the library's requests and options; unknown keys are refused, since they would have no effect. */
import { PagurusError } from "@pagurus/contract/errors";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { RunRequest } from "@pagurus/contract/host/run";
import { nearest } from "@pagurus/core/platform/nearest";

/** The compiler checks these against the types. */
export const REQUEST_KEYS: Readonly<Record<keyof RunRequest, true>> = {
  prompt: true,
  parts: true,
  sessionKey: true,
  agentId: true,
  model: true,
  runtime: true,
  cwd: true,
  permission: true,
  audience: true,
  thinking: true,
  tools: true,
  heartbeat: true,
  turnId: true,
  additionalContext: true,
  maxCost: true,
  oneShot: true,
  signal: true,
};
export const OPTION_KEYS: Readonly<Record<keyof PagurusOptions, true>> = {
  home: true,
  config: true,
  engines: true,
  harnesses: true,
  plugins: true,
  env: true,
  askPermission: true,
  onlyLook: true,
  trustFolders: true,
};

/** Refuses a key that is not among the known ones. Throws `usage_invalid`. */
export function checkKeys(what: string, request: object, keys: Readonly<Record<string, true>>): void {
  const known = Object.keys(keys);
  const key = Object.keys(request).find((each) => !known.includes(each));
  if (key === undefined) return;
  const [near] = nearest(key, known);
  const hint = near === undefined ? `it knows ${known.join(", ")}` : `did you mean "${near}"?`;
  throw new PagurusError("usage_invalid", `${what} has no key "${key}"; ${hint}`, { details: { key } });
}
