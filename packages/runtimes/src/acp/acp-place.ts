/** Opens the native session of a turn: the bound one with what it lacks, or a new one. */
import { PagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import { firstVersionNote } from "@pagurus/core/platform/version-notes";
import { fragmentsFrom, splitInput } from "../thread/thread-input.ts";
import { extended, type Held, NOTHING_HELD } from "../thread/thread-state.ts";
import { askedModel, type Access } from "./acp-access.ts";
import { modeFor, otherMode } from "./acp-permission-modes.ts";
import type { Agent } from "./agents.ts";
import type { AcpOptions } from "./acp-options.ts";
import {
  adjust,
  beginSession,
  resumeSession,
  leave,
  type OpenSession,
  type Place,
  type SessionRequest,
  type SessionUser,
} from "./acp-sessions.ts";
import {
  identityOf,
  openBinding,
  checkAcpBinding,
  checkUnassembled,
  checkWired,
  type BindingCheck,
  type Bound,
  type Identity,
} from "./acp-thread.ts";

export interface TurnPlace {
  agent: Agent;
  access: Access;
  place: Place;
  options: AcpOptions;
}

/** The first prompt of a session, and what it holds afterwards. */
export interface Opening {
  session: OpenSession;
  isNew: boolean;
  identity: Identity;
  /** Part of the assembled context in the session; undefined when unknown, or when the agent manages its context. */
  held: Held | undefined;
  /** Messages of the conversation that the session lacks. */
  lacks: readonly AgentMessage[];
  /** Fragments that the agent's own compaction removed. */
  shownAgain: readonly string[];
}

/** Splits a context into the history and the current input with its fragments. Throws `internal`. */
export function splitContext({ messages, historyCount }: AssembledContext): {
  history: AgentMessage[];
  inputs: UserMessage[];
} {
  if (messages.length <= historyCount)
    throw new PagurusError("internal", "The assembled context has no live turn.");
  const done = splitInput(messages.slice(historyCount)).before.length;
  // The input's fragments come before it, at the end of the history.
  const from = done > 0 ? historyCount + done : fragmentsFrom(messages, historyCount);
  return { history: messages.slice(0, from), inputs: splitInput(messages.slice(from)).inputs };
}

export function boundTo(turn: HarnessTurn, { agent }: TurnPlace, open: Opening): Bound {
  return { nativeId: open.session.id, agentId: agent.id, cwd: turn.cwd, identity: open.identity };
}

/**
 * The session of a turn, set to its mode and model. `context`: undefined for a turn through the gateway, which sends the model
 * whatever the session lacks. Throws `RequestRefused`, `runtime_failed`, `runtime_unsupported`,
 * `turn_aborted`.
 */
export async function openSession(
  turn: HarnessTurn,
  context: AssembledContext | undefined,
  at: TurnPlace,
  user: SessionUser,
): Promise<Opening> {
  const wanted = context ? assembledSession(turn, context, at) : wiredSession(turn, at);
  const open = await found(turn, wanted, at, user);
  if (context) open.session.tokens ??= context.estimatedTokens;
  turn.thread.bind(openBinding(boundTo(turn, at, open), turn.turnId));
  const { agent, place } = at;
  const note =
    agent.known && firstVersionNote(at.options.home, agent.known.program, place.process.traits.version);
  if (note !== undefined) await turn.io.emit({ type: "notice", kind: "acp_agent", detail: note });
  const mode = modeFor(agent, turn.permissionMode);
  const model = askedModel(agent, turn.model, place.process.env);
  try {
    await adjust(place, open.session, { mode, model }, turn.signal);
    const detail = otherMode(agent, open.session, mode, turn.permissionMode);
    if (open.isNew && detail !== undefined) await turn.io.emit({ type: "notice", kind: "acp_agent", detail });
  } catch (error) {
    leave(place, open.session);
    throw error;
  }
  return open;
}

/** What the turn needs of its session, and whether the bound one has it. */
interface WantedSession {
  identity: Identity;
  system: string;
  check: BindingCheck;
  /** Messages that a new session lacks, and what it holds of the assembled context once it has them. */
  lacks: readonly AgentMessage[];
  held: Held | undefined;
}

function assembledSession(turn: HarnessTurn, context: AssembledContext, at: TurnPlace): WantedSession {
  const { system } = context;
  const { history: lacks } = splitContext(context);
  const keeps = !turn.engine.governs;
  const identity = identityOf(turn, context, endpointOf(at));
  const binding = turn.thread.binding();
  const check =
    context.degraded === undefined || keeps
      ? checkAcpBinding(binding, identity, lacks, keeps)
      : checkUnassembled(binding, identity);
  return { identity, system, check, lacks, held: keeps ? undefined : extended(NOTHING_HELD, lacks) };
}

function wiredSession(turn: HarnessTurn, at: TurnPlace): WantedSession {
  const { instructions: system } = turn;
  const identity = { ...identityOf(turn, { system }, endpointOf(at)), isWired: true };
  const check = checkWired(turn.thread.binding(), identity);
  return { identity, system, check, lacks: splitInput(turn.context.messages()).before, held: undefined };
}

function endpointOf({ agent, access }: TurnPlace): { agentId: string; endpoint: string } {
  return { agentId: agent.id, endpoint: access.endpoint?.baseUrl ?? "" };
}

async function found(
  turn: HarnessTurn,
  { identity, system, check, lacks, held }: WantedSession,
  { agent, access, place, options }: TurnPlace,
  user: SessionUser,
): Promise<Opening> {
  const { cwd, tools, signal, sessionKey } = turn;
  const title = `Pagurus: ${sessionKey}`;
  const { meta } = access.folder ?? {};
  const request: SessionRequest = { cwd, tools, instructions: system, title, signal, meta };
  if (agent.known?.keepsPast && !(check.bound && place.sessions.has(check.nativeId)))
    await requireUnused(place);
  const session = check.bound ? await resumeSession(place, check.nativeId, request, user) : undefined;
  if (check.bound && session) {
    const shownAgain = check.isCompacted ? turn.context.fragmentsLost().map(({ text }) => text) : [];
    return {
      session,
      isNew: false,
      identity: check.identity,
      held: check.held,
      lacks: check.delta,
      shownAgain,
    };
  }
  if (check.bound && identity.isWired !== true) {
    const detail = `${agent.label} cannot continue the native session of this session; the turn continues in a new one, with the conversation as the host has it.`;
    await turn.io.emit({ type: "notice", kind: "acp_session", detail });
  }
  const binding = turn.thread.binding();
  options.log.debug("acp session started", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    agentId: agent.id,
    before: binding?.nativeId,
    seam: identity.isWired === true ? "wire" : "projection",
    reason: check.bound ? "the agent cannot resume it" : check.reason,
  });
  const before = binding && place.sessions.get(binding.nativeId);
  if (before && !before.user) leave(place, before);
  const begun = await beginSession(place, request, user);
  return { session: begun, isNew: true, identity, held, lacks, shownAgain: [] };
}

/** Ends a process with an earlier session and throws that; the turn is retried in a new process. */
async function requireUnused({ process, isUsed }: Place): Promise<void> {
  if (isUsed !== true) return;
  const reason = new PagurusError(
    "runtime_failed",
    `${process.agent.label} was ended before a new session, which would have had the content of the earlier one.`,
  );
  await process.end(reason);
  throw reason;
}
