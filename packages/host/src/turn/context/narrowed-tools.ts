/** The tools of a turn, which `before_prompt_build` may narrow. */
import { createHash } from "node:crypto";
import type { ToolSet } from "@pagurus/contract/harness/tool";

export interface NarrowableTools extends ToolSet {
  /** Leaves only the named tools, for the rest of the turn; a second call narrows further. */
  narrow(names: readonly string[]): void;
}

/** Calls of a tool that was taken away are refused, also those that a runtime would execute itself. */
export function narrowable(tools: ToolSet): NarrowableTools {
  let allowed: ReadonlySet<string> | undefined;
  const refusal = (name: string): string | undefined =>
    allowed === undefined || allowed.has(name)
      ? undefined
      : `A plugin's hook leaves only other tools to this turn, so ${name} was not run.`;
  return {
    get specs() {
      return tools.specs.filter(({ name }) => refusal(name) === undefined);
    },
    // A runtime with a thread of its own makes a new one for other tools.
    get fingerprint() {
      if (allowed === undefined) return tools.fingerprint;
      const names = [...allowed].toSorted().join("\n");
      return createHash("sha256").update(`${tools.fingerprint}\n${names}`).digest("hex").slice(0, 16);
    },
    permits: async (call, signal) => refusal(call.name) ?? (await tools.permits(call, signal)),
    expect: () => tools.expect?.(),
    call: async (call, signal) => {
      const reason = refusal(call.name);
      if (reason === undefined) return await tools.call(call, signal);
      return { content: [{ type: "text", text: reason }], isError: true };
    },
    narrow: (names) => {
      const before = allowed;
      allowed = new Set(before ? names.filter((name) => before.has(name)) : names);
    },
  };
}
