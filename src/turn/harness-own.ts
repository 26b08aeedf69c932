/** What a harness brings along by itself, so that the host neither says nor counts it. */
import type { AgentHarness } from "../contract/harness.ts";
import { createToolSet, type ToolSetOptions } from "../tool/toolset.ts";
import type { SystemPiece } from "./receipt-parts.ts";

type Harness = Pick<AgentHarness, "fixedTokens" | "ownsInstructions" | "takesTools" | "nativeTools">;

/** Tokens of system prompt and tools: the harness's own count where it has one. */
export function fixedTokensOf(harness: Harness | undefined, sessionKey: string, own: () => number): number {
  return harness?.fixedTokens?.(sessionKey) ?? own();
}

/** Pieces of the system prompt that are the host's, where it is not the harness's own. */
export function ownPieces(harness: Harness | undefined, pieces: () => SystemPiece[]): SystemPiece[] {
  return harness?.ownsInstructions === true ? [] : pieces();
}

/** False where its model is offered no tool of the host. */
export function takesTools(harness: Harness): boolean {
  return harness.ownsInstructions !== true || (harness.takesTools?.length ?? 0) > 0;
}

/** The tools that its model is offered. Throws as `createToolSet`. */
export function toolSetFor(
  harness: Harness | undefined,
  options: ToolSetOptions,
): ReturnType<typeof createToolSet> {
  if (harness?.ownsInstructions !== true) return createToolSet(options);
  const taken = new Set(harness.takesTools);
  const withheld = createToolSet(options).specs.flatMap(({ name }) => (taken.has(name) ? [] : [name]));
  return createToolSet({ ...options, native: [...(options.native ?? []), ...withheld] });
}
