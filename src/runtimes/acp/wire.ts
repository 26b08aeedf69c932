/**
 * Agents that reach their model through the host's gateway: it tells the model the conversation, and a native session is told
 * nothing but what the user says. A route is one session's, and an agent is pointed to it as a whole: each has a process of its own.
 */
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import type { WireApi, WireRoute } from "../../contract/wire.ts";
import type { Access } from "./access.ts";
import type { Agent } from "./agents.ts";
import { settledIn, type Opening, type TurnPlace } from "./opening.ts";
import type { AcpOptions } from "./options.ts";
import { beginSession, goOnWith, leave, type SessionUser } from "./sessions.ts";
import { identityOf, wiredStanding } from "./standing.ts";

/** The agent cannot be pointed to the gateway; it has done nothing yet. */
export class NotRouted extends PagurusError {
  constructor(message: string) {
    super("gateway_failed", message);
  }
}

/** Which of the gateway's protocols an agent speaks that is told of the model's. */
const APIS: Readonly<Record<string, WireApi>> = {
  "anthropic-messages": "anthropic-messages",
  "openai-responses": "openai-responses",
  "openai-completions": "openai-responses",
};

/** Access through the gateway; undefined where the turn does not go that way, which is a degradation where it was to. */
export function wiredAccess(
  turn: HarnessTurn,
  agent: Agent,
  access: Access,
  { gateway }: AcpOptions,
): Access | undefined {
  if (agent.entry.context !== "wire" || !turn.engine.governs) return undefined;
  const api = APIS[turn.model.api];
  const refuse = (reason: string): undefined => notWired(turn, reason);
  if (!gateway) return refuse("this host has no model gateway");
  if (!access.endpoint)
    return refuse(`${agent.label} uses its own login, and the model gateway serves API keys only`);
  if (!api) return refuse(`the model gateway does not speak ${turn.model.api} with an agent`);
  const open = async (): Promise<WireRoute> => {
    try {
      const made = await gateway();
      const { sessionKey } = turn;
      const route = await made.open({ api, sessionKey, runtime: "acp", saysAddition: true });
      // An agent looks which models there are before it takes an endpoint.
      route.serve(turn);
      return route;
    } catch (error) {
      throw new NotRouted(toPagurusError(error, "gateway_failed").message);
    }
  };
  const key = `wire ${turn.sessionKey}\n${access.key}`;
  return { ...access, api, key, wire: { modelId: turn.model.id, open } };
}

export function notWired(turn: HarnessTurn, reason: string): undefined {
  turn.degrade(
    "projection",
    `The context of this turn is told in the prompt and does not go through the model gateway: ${reason.replace(/\.$/, "")}.`,
  );
}

/** What the native session is told: the user's last words, and what the turn has said before them. */
export function wiredInputs(said: readonly AgentMessage[]): {
  before: readonly AgentMessage[];
  inputs: UserMessage[];
} {
  const from = said.findLastIndex(({ role }) => role !== "user") + 1;
  const inputs = said.slice(from).filter((message): message is UserMessage => message.role === "user");
  return { before: said.slice(0, from), inputs };
}

/** The session that this one has there, or a new one. Throws `RequestRefused`, `runtime_failed`, `turn_aborted`. */
export async function openWired(turn: HarnessTurn, at: TurnPlace, user: SessionUser): Promise<Opening> {
  const { agent, access, place, options } = at;
  const endpoint = access.endpoint?.baseUrl ?? "";
  const { cwd, tools, instructions, signal, sessionKey } = turn;
  const identity = {
    ...identityOf(turn, { system: instructions }, { agentId: agent.id, endpoint }),
    isWired: true,
  };
  const begins = { identity, held: undefined, shownAgain: [] };
  const request = { cwd, tools, instructions, title: `Pagurus: ${sessionKey}`, signal };
  const binding = turn.binding();
  const standing = wiredStanding(binding, identity);
  const found = "nativeId" in standing ? await goOnWith(place, standing.nativeId, request, user) : undefined;
  if (found) return settledIn(turn, at, { ...begins, session: found, isNew: false, lacks: [] });
  options.log.debug("acp session started", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    agentId: agent.id,
    seam: "wire",
    reason: "reason" in standing ? standing.reason : "the agent cannot bring it back",
  });
  const before = binding && place.sessions.get(binding.nativeId);
  if (before && !before.user) leave(place, before);
  const session = await beginSession(place, request, user);
  const lacks = wiredInputs(turn.said()).before;
  return settledIn(turn, at, { ...begins, session, isNew: true, lacks });
}
