/**
 * What a native session holds of the assembled context, and whether the next turn can go on in it. Within an epoch a session
 * only grows. Source: the design, seam `thread`.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { extended, hashOf, type Held, NOTHING_HELD } from "../../native/held.ts";
import type { Endpoint } from "./options.ts";

/** What must be the same for a session to go on. */
interface Identity {
  epoch: string | undefined;
  fingerprint: string | undefined;
  /** Hashes: of the tool catalog alone; of the system prompt; of model, endpoint, folder and what the program was started with. */
  tools: string;
  instructions: string;
  model: string;
}

/** The binding's state, as it is kept with the host's session. */
export interface ThreadState extends Identity {
  /** Absent where Claude Code keeps the context in its own way. */
  held?: Held | undefined;
  /** Transcript entry of the newest message that reached the session. */
  anchor?: string | undefined;
  /** What ran in it last, which its program has to have seen: other hosts may have gone on with it. */
  last?: string;
  /** Claude Code has compacted since: the fragments are gone from its sight. */
  isCompacted?: boolean;
  /** Its context came through the gateway, and no other turn can go on in it. */
  isWired?: boolean;
  /** Set while a turn runs: what the session holds is not known if it is found so. */
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

/** Of what a program is started with, beside tools and system prompt. */
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

export type Standing =
  /** The bound session goes on; `lacking` is what it lacks of the context, the turn's input at its end. */
  | { bound: true; nativeId: string; state: ThreadState; lacking: AgentMessage[] }
  /** Why a new one is due. */
  | { bound: false; reason: string };

const DIFFERENCES: readonly (readonly [keyof Identity, string])[] = [
  ["model", "another model, endpoint or folder"],
  ["tools", "another tool catalog"],
  ["epoch", "another epoch"],
  ["fingerprint", "another fingerprint of the context"],
  ["instructions", "other instructions"],
];

/** Where the engine could not be asked, and where Claude Code keeps its context, only these tell. */
const ALWAYS: ReadonlySet<keyof Identity> = new Set(["model", "tools"]);

/**
 * Whether the host's session can go on in its native one with this context. `keeps`: Claude Code keeps the context by itself,
 * and what it lacks is what was said since.
 */
export function standingOf(
  binding: HarnessBinding | undefined,
  identity: Identity,
  context: AssembledContext,
  keeps: boolean,
): Standing {
  if (!binding) return { bound: false, reason: "no session is bound" };
  const state = readState(binding);
  if (!state) return { bound: false, reason: "the binding cannot be read" };
  if (state.isWired === true) return { bound: false, reason: "its context came through the model gateway" };
  if (state.openTurn !== undefined)
    return { bound: false, reason: "a turn in the session did not end as it should" };
  const unassembled = context.degraded !== undefined && !keeps;
  for (const [field, reason] of DIFFERENCES) {
    if (state[field] === identity[field]) continue;
    // A session that is resumed is started anew, with the tools, instructions and model of now.
    if (keeps || (unassembled && !ALWAYS.has(field))) continue;
    return { bound: false, reason };
  }
  const lacking = keeps
    ? saidSince(state, context.messages)
    : unassembled
      ? liveTurn(context)
      : behindHeld(state, context.messages);
  if (!lacking) return { bound: false, reason: "the context is not what the session holds" };
  return { bound: true, nativeId: binding.nativeId, state, lacking };
}

function behindHeld({ held }: ThreadState, messages: readonly AgentMessage[]): AgentMessage[] | undefined {
  if (!held || messages.length < held.count) return undefined;
  if (extended(NOTHING_HELD, messages.slice(0, held.count)).hash !== held.hash) return undefined;
  return messages.slice(held.count);
}

function saidSince({ anchor }: ThreadState, messages: readonly AgentMessage[]): AgentMessage[] | undefined {
  if (anchor === undefined) return undefined;
  const at = messages.findLastIndex(({ entryId }) => entryId === anchor);
  return at === -1 ? undefined : messages.slice(at + 1);
}

/** With the fragments right before it. */
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
