/** What the host gives the runtime, and what its configuration says. */
import type { ModelInfo } from "../../contract/model.ts";
import type { ModelGateway } from "../../contract/wire.ts";

/** One agent of `plugins.entries.acp.config.agents`. */
export interface AgentEntry {
  /** Path or name of the program; for a known agent its own is looked for where this is absent. */
  command?: string;
  args?: readonly string[];
  /** Added to the host's environment. */
  env?: Readonly<Record<string, string>>;
  /** Folder the program is started in; sessions have the turn's. */
  cwd?: string;
  /** Mode of the agent's sessions, whatever the permission mode. */
  mode?: string;
  /** Model of the agent's sessions, as the agent names it; default: the one of the turn, where the agent has it. */
  model?: string;
  /** `own`: the agent uses its own login and endpoint also where the host has access to the model. Default `host`. */
  login?: "host" | "own";
  /** `wire`: contexts of an engine reach its model through the host's model gateway, and not as text of the prompt. */
  context?: "wire";
  /** Longest wait for the program's first answer, and for a session, s. Default 60. */
  startSeconds?: number;
}

/** `plugins.entries.acp.config`. */
export interface AcpSettings {
  agents: Readonly<Record<string, AgentEntry>>;
  /** The agent where a policy names none. */
  agentId?: string;
}

/** Where a model is served; a key stands in `authorization`. */
export interface Endpoint {
  baseUrl: string;
  headers: Record<string, string>;
}

export interface AcpOptions extends AcpSettings {
  env: Readonly<Record<string, string | undefined>>;
  /** Undefined where the host has no access of its own. Throws what resolving a model throws. */
  endpoint(model: ModelInfo): Endpoint | undefined;
  /** Throws `gateway_failed`. Absent: contexts go by the prompt whatever is configured. */
  gateway?: (() => Promise<ModelGateway>) | undefined;
  log: {
    debug(line: string, fields: Record<string, unknown>): void;
    warn(line: string, fields: Record<string, unknown>): void;
  };
}
