/** The rules of each hook, as its comment in `hooks.ts` says them. */
import type { HookName } from "./hooks.ts";
/** Deadline in ms, and what a throw or a missed deadline means. */
export declare const HOOK_RULES: {
    readonly [K in HookName]: {
        deadlineMs: number;
        onFailure: "warn" | "block";
    };
};
