/**
 * Tracks what a native session holds of the assembled context, and decides whether the next turn can continue it. Within an
 * epoch a session only grows. Source: the design, seam `thread`.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "../../contract/harness/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { extended, hashOf, type Held, NOTHING_HELD } from "../../native/held.ts";
import type { Endpoint } from "./claude-options.ts";

/** What must be equal for a session to continue. */
interface Identity {
  epoch: string | undefined;
  fingerprint: string | undefined;
  /** Hashes: of the tool catalog alone; of the system prompt; of model, endpoint, folder and what the program was started with. */
  tools: string;
  instructions: string;
  model: string;
}

/** The binding's state, as it is stored with the host's session. */
export interface ThreadState extends Identity {
  /** Absent when Claude Code manages the context. */
  held?: Held | undefined;
  /** Transcript entry of the newest message that reached the session. */
  anchor?: string | undefined;
  /** What ran in it last, which its program must have seen: other hosts may have continued it. */
  last?: string;
  /** Claude Code has compacted since, which removed the fragments. */
  isCompacted?: boolean;
  /** Its context came through the gateway; turns without the gateway cannot continue it. */
  isWired?: boolean;
  /** Set while a turn runs; found set later, it means that the session's content is unknown. */
  openTurn?: string;
}

export function identityOf(
  turn: HarnessTurn,
  { system, projection }: AssembledContext,
  endpoint: Endpoint | undefined,
): Identity {
  return {
    epoch: projection?.epoch,
    fingerprint: projection?.fingerprint,
    tools: turn.tools.fingerprint,
    instructions: hashOf(system),
    model: startedWith(turn, endpoint),
  };
}

/** Start settings in addition to tools and system prompt. */
export function startedWith(
  { model, cwd, thinking, maxSteps }: HarnessTurn,
  endpoint: Endpoint | undefined,
): string {
  const started = [
    model.ref,
    model.maxTokens,
    model.contextWindow,
    cwd,
    thinking,
    maxSteps,
    endpoint ?? null,
  ];
  return hashOf(JSON.stringify(started));
}

export function readState({ state }: HarnessBinding): ThreadState | undefined {
  const { count, hash: known } = (state["held"] ?? NOTHING_HELD) as Partial<Held>;
  if (typeof count !== "number" || typeof known !== "string") return undefined;
  if (typeof state["tools"] !== "string" || typeof state["model"] !== "string") return undefined;
  return state as unknown as ThreadState;
}

export type BindingCheck =
  /** The bound session continues; `lacking` is what it lacks of the context, with the turn's input at its end. */
  | { bound: true; nativeId: string; state: ThreadState; lacking: AgentMessage[] }
  /** Why a new one is needed. */
  | { bound: false; reason: string };

const DIFFERENCES: readonly (readonly [keyof Identity, string])[] = [
  ["model", "another model, endpoint or folder"],
  ["tools", "another tool catalog"],
  ["epoch", "another epoch"],
  ["fingerprint", "another fingerprint of the context"],
  ["instructions", "other instructions"],
];

/** The only fields compared after a failed `assemble`, and when Claude Code manages the context. */
const ALWAYS: ReadonlySet<keyof Identity> = new Set(["model", "tools"]);

/**
 * Compares the binding with the turn's context. `keeps`: Claude Code manages the context, and its session lacks only later
 * messages.
 */
export function checkBinding(
  binding: HarnessBinding | undefined,
  identity: Identity,
  context: AssembledContext,
  keeps: boolean,
): BindingCheck {
  if (!binding) return { bound: false, reason: "no session is bound" };
  const state = readState(binding);
  if (!state) return { bound: false, reason: "the binding cannot be read" };
  if (state.isWired === true) return { bound: false, reason: "its context came through the model gateway" };
  if (state.openTurn !== undefined)
    return { bound: false, reason: "a turn in the session did not end cleanly" };
  const unassembled = context.degraded !== undefined && !keeps;
  for (const [field, reason] of DIFFERENCES) {
    if (state[field] === identity[field]) continue;
    // A resumed session is restarted with the current tools, instructions and model.
    if (keeps || (unassembled && !ALWAYS.has(field))) continue;
    return { bound: false, reason };
  }
  const lacking = keeps
    ? afterAnchor(state, context.messages)
    : unassembled
      ? liveTurn(context)
      : afterHeld(state, context.messages);
  if (!lacking) return { bound: false, reason: "the context is not what the session holds" };
  return { bound: true, nativeId: binding.nativeId, state, lacking };
}

function afterHeld({ held }: ThreadState, messages: readonly AgentMessage[]): AgentMessage[] | undefined {
  if (!held || messages.length < held.count) return undefined;
  if (extended(NOTHING_HELD, messages.slice(0, held.count)).hash !== held.hash) return undefined;
  return messages.slice(held.count);
}

function afterAnchor({ anchor }: ThreadState, messages: readonly AgentMessage[]): AgentMessage[] | undefined {
  if (anchor === undefined) return undefined;
  const at = messages.findLastIndex(({ entryId }) => entryId === anchor);
  return at === -1 ? undefined : messages.slice(at + 1);
}

/** The live turn with the fragments right before it. */
function liveTurn({ messages, historyCount }: AssembledContext): AgentMessage[] {
  const isFragment = (message: AgentMessage | undefined): boolean =>
    message?.role === "user" && message.fragment !== undefined;
  let from = historyCount;
  while (from > 0 && isFragment(messages[from - 1])) from -= 1;
  return messages.slice(from);
}

export function bindingOf(nativeId: string, state: ThreadState): HarnessBinding {
  return { nativeId, state: { ...state } };
}
