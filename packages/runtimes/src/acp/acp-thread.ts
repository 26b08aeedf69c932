/**
 * Decides whether a session of the host continues its bound native session, and tracks what that holds. Within an epoch it
 * only grows: each turn adds what the last one left out.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import {
  contextIdentity,
  CONTEXT_DIFFERENCES,
  foundThread,
  hashOf,
  lackingOf,
  stateOf,
  type ContextIdentity,
  type Differences,
  type Lacking,
  type ThreadContent,
  type ThreadState,
} from "../thread/thread-state.ts";

/** What must be equal for a native session to continue. */
export interface Identity extends ContextIdentity {
  /** Hash: agent, folder, model and endpoint. */
  place: string;
  /** Its context came through the gateway; turns without the gateway cannot continue it. */
  isWired?: boolean;
}

/** The binding's state, as it is stored with the session. */
export interface AcpThreadState extends Identity, ThreadState {
  agentId: string;
  cwd: string;
}

export function identityOf(
  turn: HarnessTurn,
  context: Pick<AssembledContext, "system" | "projection">,
  at: { agentId: string; endpoint: string },
): Identity {
  const place = hashOf(JSON.stringify([at.agentId, turn.cwd, turn.model.ref, at.endpoint]));
  return { place, ...contextIdentity(turn, context) };
}

/** Undefined for a binding of another version or another program. */
export function readAcpState(binding: HarnessBinding): AcpThreadState | undefined {
  return stateOf<AcpThreadState>(binding, ["place", "tools", "instructions", "agentId", "cwd"]);
}

export type BindingCheck =
  /** The bound session continues; `delta` is what it lacks of the history. */
  | (Lacking & { bound: true; nativeId: string; identity: Identity; isCompacted: boolean })
  /** Why a new one is needed. */
  | { bound: false; reason: string };

const DIFFERENCES: Differences<Identity> = [
  ["isWired", "another route of its context"],
  ["place", "another agent, folder, model or endpoint"],
  ...CONTEXT_DIFFERENCES,
];

/** The parts that are compared after a failed `assemble`. */
const PLAIN_DIFFERENCES = DIFFERENCES.filter(([field]) => ["isWired", "place", "tools"].includes(field));

/** Compares the binding with the turn. `keeps`: the agent manages the context, and its session lacks only later messages. */
export function checkAcpBinding(
  binding: HarnessBinding | undefined,
  identity: Identity,
  history: readonly AgentMessage[],
  keeps: boolean,
): BindingCheck {
  const found = foundThread(binding, readAcpState, identity, DIFFERENCES);
  if (!found.bound) return found;
  const { nativeId, state } = found;
  const lacking = lackingOf(state, history, keeps);
  if (!lacking) return { bound: false, reason: "the history is not what the native session holds" };
  return { bound: true, nativeId, identity, isCompacted: state.isCompacted === true, ...lacking };
}

/** The same after a failed `assemble`: the session continues as it is, whatever the plain history contains. */
export function checkUnassembled(binding: HarnessBinding | undefined, identity: Identity): BindingCheck {
  const found = foundThread(binding, readAcpState, identity, PLAIN_DIFFERENCES);
  if (!found.bound) return found;
  const { nativeId, state } = found;
  const { place, epoch, fingerprint, tools, instructions, held } = state;
  const known = { place, epoch, fingerprint, tools, instructions };
  return { bound: true, nativeId, identity: known, isCompacted: state.isCompacted === true, held, delta: [] };
}

/** The same for a turn through the gateway, where the session's content does not matter. */
export function checkWired(binding: HarnessBinding | undefined, identity: Identity): BindingCheck {
  const found = foundThread(binding, readAcpState, identity, DIFFERENCES);
  if (!found.bound) return found;
  const { nativeId } = found;
  return { bound: true, nativeId, identity, isCompacted: false, held: undefined, delta: [] };
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
export function closedBinding(
  { nativeId, agentId, cwd, identity }: Bound,
  content: ThreadContent,
): HarnessBinding {
  return { nativeId, state: { ...identity, agentId, cwd, ...content } };
}
