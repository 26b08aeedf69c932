/** Opens the native session of a turn: the bound one with what it lacks, or a new one. */
import { PagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../../contract/harness/harness.ts";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import { extended, type Held, NOTHING_HELD } from "../thread/thread-state.ts";
import type { Access } from "./acp-access.ts";
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
  checkBinding,
  checkUnassembled,
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
  const live = messages.slice(historyCount);
  const done = live.findLastIndex(({ role }) => role !== "user") + 1;
  let from = historyCount + done;
  // The input's fragments come before it, at the end of the history.
  while (done === 0 && from > 0 && isFragment(messages[from - 1])) from -= 1;
  return {
    history: messages.slice(0, from),
    inputs: messages.slice(from).filter((message): message is UserMessage => message.role === "user"),
  };
}

function isFragment(message: AgentMessage | undefined): boolean {
  return message?.role === "user" && message.fragment !== undefined;
}

export function boundTo(turn: HarnessTurn, { agent }: TurnPlace, open: Opening): Bound {
  return { nativeId: open.session.id, agentId: agent.id, cwd: turn.cwd, identity: open.identity };
}

/** Throws `RequestRefused`, `runtime_failed`, `turn_aborted`. */
export async function openSession(
  turn: HarnessTurn,
  context: AssembledContext,
  at: TurnPlace,
  user: SessionUser,
): Promise<Opening> {
  const { history } = splitContext(context);
  const open = await found(turn, context, { at, user, history });
  open.session.tokens ??= context.estimatedTokens;
  return settledIn(turn, at, open);
}

/** The bound session, set to the turn's mode and model. Throws `RequestRefused`, `runtime_failed`, `turn_aborted`. */
export async function settledIn(turn: HarnessTurn, at: TurnPlace, open: Opening): Promise<Opening> {
  const { session } = open;
  const { agent, place } = at;
  turn.thread.bind(openBinding(boundTo(turn, at, open), turn.turnId));
  const mode = agent.entry.mode ?? agent.known?.modes?.[turn.permissionMode];
  const wanted = { mode, model: agent.entry.model ?? turn.model.id };
  try {
    const refused = await adjust(place, session, wanted, turn.signal);
    if (open.isNew)
      for (const detail of refused) await turn.io.emit({ type: "notice", kind: "acp_agent", detail });
  } catch (error) {
    leave(place, session);
    throw error;
  }
  return open;
}

async function found(
  turn: HarnessTurn,
  context: AssembledContext,
  { at, user, history }: { at: TurnPlace; user: SessionUser; history: readonly AgentMessage[] },
): Promise<Opening> {
  const { agent, access, place, options } = at;
  const keeps = !turn.engine.governs;
  const endpoint = access.endpoint?.baseUrl ?? "";
  const identity = identityOf(turn, context, { agentId: agent.id, endpoint });
  const binding = turn.thread.binding();
  const check =
    context.degraded === undefined || keeps
      ? checkBinding(binding, identity, history, keeps)
      : checkUnassembled(binding, identity);
  const { cwd, tools, signal, sessionKey } = turn;
  const title = `Pagurus: ${sessionKey}`;
  const request: SessionRequest = { cwd, tools, instructions: context.system, title, signal };
  const session = check.bound ? await resumeSession(place, check.nativeId, request, user) : undefined;
  if (check.bound && session) {
    const { held, delta, isCompacted } = check;
    const shownAgain = isCompacted ? turn.context.fragmentsLost().map(({ text }) => text) : [];
    return { session, isNew: false, identity: check.identity, held, lacks: delta, shownAgain };
  }
  if (check.bound) {
    const detail = `${agent.label} cannot continue the native session of this session; the turn continues in a new one, with the conversation as the host has it.`;
    await turn.io.emit({ type: "notice", kind: "acp_session", detail });
  }
  options.log.debug("acp session started", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    agentId: agent.id,
    before: binding?.nativeId,
    reason: check.bound ? "the agent cannot resume it" : check.reason,
  });
  const before = binding && place.sessions.get(binding.nativeId);
  if (before && !before.user) leave(place, before);
  const begun = await beginSession(place, request, user);
  const held = keeps ? undefined : extended(NOTHING_HELD, history);
  return { session: begun, isNew: true, identity, held, lacks: history, shownAgain: [] };
}
