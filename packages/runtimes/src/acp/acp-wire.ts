/**
 * Turns on agents that reach their model through the host's gateway: it sends the model the conversation, and a native
 * session gets only the user's text. A route belongs to one session and is set for the whole agent, so each session has a
 * process of its own.
 */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import { wireTurnOf } from "@pagurus/core/native/served-turn";
import type { WireApi, WireRoute } from "@pagurus/contract/harness/wire";
import type { Access } from "./acp-access.ts";
import type { Agent } from "./agents.ts";
import type { AcpOptions } from "./acp-options.ts";

/** The agent cannot be set to the gateway; nothing was done yet. */
export class NotRouted extends PagurusError {
  constructor(message: string) {
    super("gateway_failed", message);
  }
}

/** Protocol of the gateway for agents that accept the model's protocol by name. */
const APIS: Readonly<Record<string, WireApi>> = {
  "anthropic-messages": "anthropic-messages",
  "openai-responses": "openai-responses",
  "openai-completions": "openai-responses",
};

/** Access through the gateway; undefined when the turn does not use it, which is a degradation if it was configured to. */
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
      // An agent lists the models before it accepts an endpoint.
      route.serve(wireTurnOf(turn, {}));
      return route;
    } catch (error) {
      throw new NotRouted(toPagurusError(error, "gateway_failed").message);
    }
  };
  const key = `wire ${turn.sessionKey}\n${access.key}`;
  return { ...access, api, key, wire: { modelId: turn.model.id, open } };
}

export function notWired(turn: HarnessTurn, reason: string): undefined {
  turn.io.degrade(
    "projection",
    `The context of this turn is sent in the prompt and not through the model gateway: ${reason.replace(/\.$/, "")}.`,
  );
}
