/** Permission modes of turns: the one list that the configuration, the command line, the API and the agents' adapters use. */

/** From the narrowest to the most permissive: by what runs without a question. */
export const PERMISSION_MODES = ["read-only", "deny", "ask", "sandbox", "auto"] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** The mode of turns if neither the configuration nor the request names one. Without a working sandbox it asks like `ask`. */
export const DEFAULT_PERMISSION_MODE = "sandbox" satisfies PermissionMode;

/** For choosers: the name of each mode, and one sentence about it. */
export const MODE_WORDS: Readonly<Record<PermissionMode, { name: string; says: string }>> = {
  "read-only": { name: "Read only", says: "Tools may only read, inside the folder." },
  deny: { name: "Deny", says: "Changes are refused without a question." },
  ask: { name: "Ask", says: "Changes need your permission." },
  sandbox: {
    name: "Sandbox",
    says: "Commands and writes inside the folder run in the sandbox without a question; what would leave it asks: the network, files outside, tools of servers and plugins, places that programs start from.",
  },
  auto: {
    name: "Auto",
    says: "Everything is allowed, including reading outside the folder and local network addresses; only writing outside the folder still needs a rule.",
  },
};
