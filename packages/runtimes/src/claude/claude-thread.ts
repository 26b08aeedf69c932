/**
 * Tracks what a native session holds of the assembled context, and decides whether the next turn can continue it. Within an
 * epoch a session only grows. Source: the design, seam `thread`.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import { fragmentsFrom } from "../thread/thread-input.ts";
import {
  contextIdentity,
  CONTEXT_DIFFERENCES,
  foundThread,
  hashOf,
  lackingOf,
  stateOf,
  type ContextIdentity,
  type Differences,
  type ThreadState,
} from "../thread/thread-state.ts";
import type { Endpoint } from "./claude-options.ts";

/** What must be equal for a session to continue. */
interface Identity extends ContextIdentity {
  /** Hash of model, endpoint, folder and what the program was started with. */
  model: string;
}

/** The binding's state, as it is stored with the host's session. */
export interface ClaudeThreadState extends Identity, ThreadState {
  /** What ran in it last, which its program must have seen: other hosts may have continued it. */
  last?: string;
  /** Its context came through the gateway; turns without the gateway cannot continue it. */
  isWired?: boolean;
}

export function identityOf(
  turn: HarnessTurn,
  context: AssembledContext,
  endpoint: Endpoint | undefined,
): Identity {
  return { ...contextIdentity(turn, context), model: startedWith(turn, endpoint) };
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

export function readClaudeState(binding: HarnessBinding): ClaudeThreadState | undefined {
  return stateOf<ClaudeThreadState>(binding, ["tools", "model"]);
}

export type BindingCheck =
  /** The bound session continues; `lacking` is what it lacks of the context, with the turn's input at its end. */
  | { bound: true; nativeId: string; state: ClaudeThreadState; lacking: AgentMessage[] }
  /** Why a new one is needed. */
  | { bound: false; reason: string };

const DIFFERENCES: Differences<Identity> = [
  ["model", "another model, endpoint or folder"],
  ...CONTEXT_DIFFERENCES,
];

/** The parts that are compared after a failed `assemble`. */
const PLAIN_DIFFERENCES = DIFFERENCES.filter(([field]) => field === "model" || field === "tools");

/**
 * Compares the binding with the turn's context. `keeps`: Claude Code manages the context, and its session lacks only later
 * messages.
 */
export function checkClaudeBinding(
  binding: HarnessBinding | undefined,
  identity: Identity,
  context: AssembledContext,
  keeps: boolean,
): BindingCheck {
  const unassembled = context.degraded !== undefined && !keeps;
  // A resumed session is restarted with the current tools, instructions and model.
  const compared = keeps ? [] : unassembled ? PLAIN_DIFFERENCES : DIFFERENCES;
  const found = foundThread(binding, readClaudeState, identity, compared);
  if (!found.bound) return found;
  const { nativeId, state } = found;
  if (state.isWired === true) return { bound: false, reason: "its context came through the model gateway" };
  const lacking = unassembled ? liveTurn(context) : lackingOf(state, context.messages, keeps)?.delta;
  if (!lacking) return { bound: false, reason: "the context is not what the session holds" };
  return { bound: true, nativeId, state, lacking };
}

/** The live turn with the fragments right before it. */
function liveTurn({ messages, historyCount }: AssembledContext): AgentMessage[] {
  return messages.slice(fragmentsFrom(messages, historyCount));
}

export function bindingOf(nativeId: string, state: ClaudeThreadState): HarnessBinding {
  return { nativeId, state: { ...state } };
}
