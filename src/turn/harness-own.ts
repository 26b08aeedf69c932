/** What a harness brings along by itself, so that the host neither says nor counts it. */
import type { AgentHarness } from "../contract/harness.ts";
import type { PartSource, Receipt } from "../contract/receipt.ts";
import { createToolSet, type ToolSetOptions } from "../tool/toolset.ts";
import type { SystemPiece } from "./receipt-parts.ts";
import { inputTokens } from "./usage.ts";

type Harness = Pick<AgentHarness, "ownsInstructions" | "takesTools" | "nativeTools">;

/**
 * Tokens of system prompt and tools, where they were measured: by the harness itself, or in the session's newest receipt
 * (`last`).
 */
export function measuredFixed(
  harness: Pick<AgentHarness, "id" | "fixedTokens"> | undefined,
  sessionKey: string,
  last: Receipt | undefined,
  window: number,
): number | undefined {
  return harness?.fixedTokens?.(sessionKey) ?? measuredIn(last, harness, window);
}

const FIXED: ReadonlySet<PartSource> = new Set(["system", "addition", "instructions", "memory", "tools"]);
/** In a request whose conversation is longer, what is wrong with its estimate counts for too much. */
const MOST_SAID = 4_000;

/**
 * What the harness was seen to add to its requests by itself, tokens: as the receipt has it, or by the provider's count of a
 * request in which hardly anything was said. Undefined where neither tells.
 */
export function measuredIn(
  last: Receipt | undefined,
  harness: Pick<AgentHarness, "id"> | undefined,
  window: number,
): number | undefined {
  if (!last || last.runtime !== harness?.id) return undefined;
  return last.fixedTokens ?? countedIn(last, window);
}

function countedIn({ seam, request, parts, usage, purpose }: Receipt, window: number): number | undefined {
  // What a thread holds later is its own affair, and what is told as text is counted with all calls of its prompt.
  if (seam !== "thread" || request !== 0 || purpose !== undefined || !usage) return undefined;
  let [fixed, said] = [0, 0];
  for (const { source, tokens } of parts)
    if (FIXED.has(source)) fixed += tokens;
    else said += tokens;
  const counted = inputTokens(usage) - said;
  // Less than the host itself has given it, or more than there is room for: the provider counts in a way of its own.
  return said <= MOST_SAID && counted >= fixed && counted < window ? counted : undefined;
}

/** Pieces of the system prompt that are the host's, where it is not the harness's own. */
export function ownPieces(harness: Harness | undefined, pieces: () => SystemPiece[]): SystemPiece[] {
  return harness?.ownsInstructions === true ? [] : pieces();
}

/** False where its model is offered no tool of the host. */
export function takesTools(harness: Harness): boolean {
  return harness.ownsInstructions !== true || (harness.takesTools?.length ?? 0) > 0;
}

/** The tools that its model is offered; `engineTools`: names of those of the engine. Throws as `createToolSet`. */
export function toolSetFor(
  harness: Harness | undefined,
  options: ToolSetOptions,
  engineTools: readonly string[],
): ReturnType<typeof createToolSet> {
  if (harness?.ownsInstructions !== true) return createToolSet(options);
  const { takesTools: takes } = harness;
  const taken = new Set(takes === "engine" ? engineTools : takes);
  const withheld = createToolSet(options).specs.flatMap(({ name }) => (taken.has(name) ? [] : [name]));
  return createToolSet({ ...options, native: [...(options.native ?? []), ...withheld] });
}
