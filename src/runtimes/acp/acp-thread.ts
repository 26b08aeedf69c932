/**
 * Decides whether a session of the host continues its bound native session, and tracks what that holds. Within an epoch it
 * only grows: each turn adds what the last one left out.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "../../contract/harness/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { extended, hashOf, type Held, NOTHING_HELD } from "../../native/held.ts";

/** What must be equal for a native session to continue. */
export interface Identity {
  /** Hash: agent, folder, model and endpoint. */
  place: string;
  epoch: string | undefined;
  fingerprint: string | undefined;
  /** Hash of the tool catalog alone. */
  tools: string;
  /** Hash of the system prompt. */
  instructions: string;
  /** Its context came through the gateway; turns without the gateway cannot continue it. */
  isWired?: boolean;
}

/** What is known of a native session between turns. */
export interface Content {
  /** Later messages of a context are new to it. Absent when the agent manages the context. */
  held?: Held | undefined;
  /** Transcript entry of the newest message that reached it. */
  anchor?: string | undefined;
  /** The agent has compacted it since, which removed the fragments. */
  isCompacted?: boolean;
}

/** The binding's state, as it is stored with the session. */
export interface State extends Identity, Content {
  agentId: string;
  cwd: string;
  /** Set while a turn runs; found set later, it means that the session's content is unknown. */
  openTurn?: string;
}

export function identityOf(
  turn: HarnessTurn,
  context: Pick<AssembledContext, "system" | "projection">,
  at: { agentId: string; endpoint: string },
): Identity {
  return {
    place: hashOf(JSON.stringify([at.agentId, turn.cwd, turn.model.ref, at.endpoint])),
    epoch: context.projection?.epoch,
    fingerprint: context.projection?.fingerprint,
    tools: turn.tools.fingerprint,
    instructions: hashOf(context.system),
  };
}

/** Undefined for a binding of another version or another program. */
export function readState({ state }: HarnessBinding): State | undefined {
  const { count, hash: known } = (state["held"] ?? NOTHING_HELD) as Partial<Held>;
  if (typeof count !== "number" || typeof known !== "string") return undefined;
  for (const field of ["place", "tools", "instructions", "agentId", "cwd"])
    if (typeof state[field] !== "string") return undefined;
  return state as unknown as State;
}

export type BindingCheck =
  /** The bound session continues; `delta` is what it lacks of the history. */
  | {
      bound: true;
      nativeId: string;
      identity: Identity;
      held: Held | undefined;
      delta: AgentMessage[];
      isCompacted: boolean;
    }
  /** Why a new one is needed. */
  | { bound: false; reason: string };

const DIFFERENCES: readonly (readonly [keyof Identity, string])[] = [
  ["isWired", "another route of its context"],
  ["place", "another agent, folder, model or endpoint"],
  ["tools", "another tool catalog"],
  ["epoch", "another epoch"],
  ["fingerprint", "another fingerprint of the context"],
  ["instructions", "other instructions"],
];

/** Compares the binding with the turn. `keeps`: the agent manages the context, and its session lacks only later messages. */
export function checkBinding(
  binding: HarnessBinding | undefined,
  identity: Identity,
  history: readonly AgentMessage[],
  keeps: boolean,
): BindingCheck {
  const found = usable(binding);
  if ("reason" in found) return { bound: false, reason: found.reason };
  const { state, nativeId } = found;
  for (const [field, reason] of DIFFERENCES)
    if (state[field] !== identity[field]) return { bound: false, reason };
  const lacking = keeps ? afterAnchor(state, history) : afterHeld(state, history);
  if (!lacking) return { bound: false, reason: "the history is not what the native session holds" };
  return { bound: true, nativeId, identity, isCompacted: state.isCompacted === true, ...lacking };
}

/** The same after a failed `assemble`: the session continues as it is, whatever the plain history contains. */
export function checkUnassembled(binding: HarnessBinding | undefined, identity: Identity): BindingCheck {
  const found = usable(binding);
  if ("reason" in found) return { bound: false, reason: found.reason };
  const { state, nativeId } = found;
  if (state.isWired === true) return { bound: false, reason: "another route of its context" };
  if (state.place !== identity.place || state.tools !== identity.tools)
    return { bound: false, reason: "another agent, model or tool catalog" };
  const { place, epoch, fingerprint, tools, instructions, held } = state;
  return {
    bound: true,
    nativeId,
    identity: { place, epoch, fingerprint, tools, instructions },
    held,
    delta: [],
    isCompacted: state.isCompacted === true,
  };
}

/** The same for a turn through the gateway, which sends the model whatever the session lacks. */
export function checkWired(
  binding: HarnessBinding | undefined,
  identity: Identity,
): { nativeId: string } | { reason: string } {
  const found = usable(binding);
  if ("reason" in found) return found;
  for (const [field, reason] of DIFFERENCES) if (found.state[field] !== identity[field]) return { reason };
  return { nativeId: found.nativeId };
}

function usable(
  binding: HarnessBinding | undefined,
): { state: State; nativeId: string } | { reason: string } {
  if (!binding) return { reason: "no native session is bound" };
  const state = readState(binding);
  if (!state) return { reason: "the binding cannot be read" };
  if (state.openTurn !== undefined) return { reason: "a turn on the native session did not end cleanly" };
  return { state, nativeId: binding.nativeId };
}

interface Lacking {
  held: Held | undefined;
  delta: AgentMessage[];
}

function afterHeld({ held }: State, history: readonly AgentMessage[]): Lacking | undefined {
  if (!held || history.length < held.count) return undefined;
  if (extended(NOTHING_HELD, history.slice(0, held.count)).hash !== held.hash) return undefined;
  const delta = history.slice(held.count);
  return { held: extended(held, delta), delta };
}

function afterAnchor({ anchor }: State, history: readonly AgentMessage[]): Lacking | undefined {
  if (anchor === undefined) return undefined;
  const at = history.findLastIndex(({ entryId }) => entryId === anchor);
  return at === -1 ? undefined : { held: undefined, delta: history.slice(at + 1) };
}

/** Parts of a binding. */
export interface Bound {
  nativeId: string;
  agentId: string;
  cwd: string;
  identity: Identity;
}

/** Binding while a turn runs. */
export function openBinding({ nativeId, agentId, cwd, identity }: Bound, turnId: string): HarnessBinding {
  return { nativeId, state: { ...identity, agentId, cwd, openTurn: turnId } };
}

/** Binding after a turn that left it holding exactly this. */
export function closedBinding({ nativeId, agentId, cwd, identity }: Bound, content: Content): HarnessBinding {
  return { nativeId, state: { ...identity, agentId, cwd, ...content } };
}
