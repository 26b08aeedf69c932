/** What a harness adds to its requests itself (prompt, tools), so that the host neither sends nor counts it. */
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { PartSource, Receipt } from "@pagurus/contract/session/receipt";
import { createToolSet, type ToolSetOptions } from "../../tool/toolset.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import { inputTokens } from "@pagurus/core/tokens/add-usage";

type Harness = Pick<AgentHarness, "ownsInstructions" | "takesTools" | "nativeTools">;

/** Measured tokens of system prompt and tools: by the harness itself, or from the session's newest receipt (`last`). */
export function measuredFixed(
  harness: Pick<AgentHarness, "id" | "fixedTokens"> | undefined,
  sessionKey: string,
  last: Receipt | undefined,
  window: number,
): number | undefined {
  return harness?.fixedTokens?.(sessionKey) ?? measuredIn(last, harness, window);
}

const FIXED: ReadonlySet<PartSource> = new Set(["system", "instructions", "memory", "tools"]);
/** Longest conversation, tokens, in a request used for the measurement: in a longer one the error of its estimate weighs too much. */
const MOST_CONVERSATION_TOKENS = 4_000;

/**
 * Tokens that the harness adds to its requests itself: from the receipt, or from the provider's count of a request with hardly any
 * conversation. Undefined when neither has them.
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
  // Later content of a thread is unknown, and text projections are counted with all calls of their prompt.
  if (seam !== "thread" || request !== 0 || purpose !== undefined || !usage) return undefined;
  let [fixed, conversation, addition] = [0, 0, 0];
  for (const { source, tokens } of parts)
    if (source === "addition") addition += tokens;
    else if (FIXED.has(source)) fixed += tokens;
    else conversation += tokens;
  // The engine's addition is counted with its context.
  const counted = inputTokens(usage) - conversation - addition;
  // Less than the host itself has sent, or more than fits the window: the provider counts differently.
  return conversation <= MOST_CONVERSATION_TOKENS && counted >= fixed && counted < window
    ? counted
    : undefined;
}

/**
 * Tokens of a thread's context by the provider's count of a request: all but the harness's own parts. Undefined where either is unknown.
 * The host's estimate lacks what a thread adds to each message.
 */
export function reportedContext(
  last: Receipt | undefined,
  harness: Pick<AgentHarness, "id"> | undefined,
  window: number,
): number | undefined {
  if (last?.seam !== "thread" || last.purpose !== undefined || !last.usage) return undefined;
  const fixed = measuredIn(last, harness, window);
  const reported = inputTokens(last.usage);
  return fixed !== undefined && reported > fixed && reported < window ? reported - fixed : undefined;
}

/** Pieces of the host's system prompt; none when the harness has one of its own. */
export function ownPieces(harness: Harness | undefined, pieces: () => SystemPiece[]): SystemPiece[] {
  return harness?.ownsInstructions === true ? [] : pieces();
}

/** False when its model is offered no tool of the host. */
export function takesTools(harness: Harness): boolean {
  return harness.ownsInstructions !== true || (harness.takesTools?.length ?? 0) > 0;
}

/**
 * The tools offered to its model; `engineTools`: names of those of the engine. For `strangers` only those. Throws as `createToolSet`.
 */
export function toolSetFor(
  harness: Harness | undefined,
  options: ToolSetOptions,
  engineTools: readonly string[],
  audience?: RunRequest["audience"],
): ReturnType<typeof createToolSet> {
  const allowed: ReadonlySet<string>[] = [];
  if (harness?.ownsInstructions === true)
    allowed.push(new Set(harness.takesTools === "engine" ? engineTools : harness.takesTools));
  if (audience === "strangers") allowed.push(new Set(engineTools));
  const tools = createToolSet(options);
  if (allowed.length === 0) return tools;
  const withheld = tools.specs.flatMap(({ name }) =>
    allowed.every((names) => names.has(name)) ? [] : [name],
  );
  return createToolSet({ ...options, native: [...(options.native ?? []), ...withheld] });
}
