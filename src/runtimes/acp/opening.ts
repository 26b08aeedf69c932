/** The native session that a turn runs on: the one that its session has there with what that lacks, or a new one. */
import { PagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import { extended, type Held, NOTHING_HELD } from "../../native/held.ts";
import type { Access } from "./access.ts";
import type { Agent } from "./agents.ts";
import type { AcpOptions } from "./options.ts";
import {
  adjust,
  beginSession,
  goOnWith,
  leave,
  type OpenSession,
  type Place,
  type SessionRequest,
  type SessionUser,
} from "./sessions.ts";
import {
  identityOf,
  openBinding,
  standingOf,
  unassembledStanding,
  type Bound,
  type Identity,
} from "./standing.ts";

export interface TurnPlace {
  agent: Agent;
  access: Access;
  place: Place;
  options: AcpOptions;
}

/** What the session is told at first, and what it then holds. */
export interface Opening {
  session: OpenSession;
  isNew: boolean;
  identity: Identity;
  /** Of the assembled context; undefined where that is not known, or the agent keeps its context in its own way. */
  held: Held | undefined;
  /** What it lacks of the conversation. */
  lacks: readonly AgentMessage[];
  /** Fragments that its own compaction has taken from it. */
  shownAgain: readonly string[];
}

/** What was said before, and what the user says now; fragments of the input come with it. Throws `internal`. */
export function splitContext({ messages, historyCount }: AssembledContext): {
  history: AgentMessage[];
  inputs: UserMessage[];
} {
  if (messages.length <= historyCount)
    throw new PagurusError("internal", "The assembled context has no live turn.");
  const live = messages.slice(historyCount);
  const done = live.findLastIndex(({ role }) => role !== "user") + 1;
  let from = historyCount + done;
  // The input's fragments stand before it, at the end of the history.
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

/** Bound, in the mode and with the model of the turn. Throws `RequestRefused`, `runtime_failed`, `turn_aborted`. */
export async function settledIn(turn: HarnessTurn, at: TurnPlace, open: Opening): Promise<Opening> {
  const { session } = open;
  const { agent, place } = at;
  turn.bind(openBinding(boundTo(turn, at, open), turn.turnId));
  const mode = agent.entry.mode ?? agent.known?.modes?.[turn.permissionMode];
  const wanted = { mode, model: agent.entry.model ?? turn.model.id };
  try {
    const told = await adjust(place, session, wanted, turn.signal);
    if (open.isNew) for (const detail of told) await turn.emit({ type: "notice", kind: "acp_agent", detail });
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
  const binding = turn.binding();
  const standing =
    context.degraded === undefined || keeps
      ? standingOf(binding, identity, history, keeps)
      : unassembledStanding(binding, identity);
  const { cwd, tools, signal, sessionKey } = turn;
  const title = `Pagurus: ${sessionKey}`;
  const request: SessionRequest = { cwd, tools, instructions: context.system, title, signal };
  const session = standing.bound ? await goOnWith(place, standing.nativeId, request, user) : undefined;
  if (standing.bound && session) {
    const { held, delta, isCompacted } = standing;
    const shownAgain = isCompacted ? turn.fragmentsLost().map(({ text }) => text) : [];
    return { session, isNew: false, identity: standing.identity, held, lacks: delta, shownAgain };
  }
  if (standing.bound) {
    const detail = `${agent.label} cannot go on with the session that this one had there; the turn goes on in a new one, with the conversation as the host has it.`;
    await turn.emit({ type: "notice", kind: "acp_session", detail });
  }
  options.log.debug("acp session started", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    agentId: agent.id,
    before: binding?.nativeId,
    reason: standing.bound ? "the agent cannot bring it back" : standing.reason,
  });
  const before = binding && place.sessions.get(binding.nativeId);
  if (before && !before.user) leave(place, before);
  const begun = await beginSession(place, request, user);
  const held = keeps ? undefined : extended(NOTHING_HELD, history);
  return { session: begun, isNew: true, identity, held, lacks: history, shownAgain: [] };
}
