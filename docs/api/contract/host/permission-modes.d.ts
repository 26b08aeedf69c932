/** Permission modes of turns: the one list that the configuration, the command line, the API and the agents' adapters use. */
/** From the narrowest to the most permissive: by what runs without a question. */
export declare const PERMISSION_MODES: readonly ["read-only", "deny", "ask", "sandbox", "auto"];
export type PermissionMode = (typeof PERMISSION_MODES)[number];
/** The mode of turns if neither the configuration nor the request names one. Without a working sandbox it asks like `ask`. */
export declare const DEFAULT_PERMISSION_MODE = "sandbox";
/** For choosers: the name of each mode, and one sentence about it. */
export declare const MODE_WORDS: Readonly<Record<PermissionMode, {
    name: string;
    says: string;
}>>;
