/** Options that the host passes to the runtime, and its configuration. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { CostOf } from "./acp-model.ts";
import type { ModelGateway } from "@pagurus/contract/harness/wire";

/** One agent of `plugins.entries.acp.config.agents`. */
export interface AgentEntry {
  /** Path or name of the program; default for a known agent: its own name. */
  command?: string;
  args?: readonly string[];
  /** Added to the environment that every child of the host gets. */
  env?: Readonly<Record<string, string>>;
  /** Folder that the program is started in; sessions have the turn's. */
  cwd?: string;
  /** Mode of the agent's sessions, whatever the permission mode. */
  mode?: string;
  /** Model of the agent's sessions, as the agent names it; default: the turn's model, where the agent has it. */
  model?: string;
  /** `own`: the agent uses its own login and endpoint also when the host has access to the model. Default `host`. */
  login?: "host" | "own";
  /** `wire`: contexts of an engine reach its model through the host's model gateway, and not as text of the prompt. */
  context?: "wire";
  /** Timeout of the program's first answer, and of a new session, s. Default 60. */
  startSeconds?: number;
}

/** `plugins.entries.acp.config`. */
export interface AcpSettings {
  agents: Readonly<Record<string, AgentEntry>>;
  /** Default agent, for policies that name none. */
  agentId?: string;
}

/** Address of a model; the key is in `authorization`. */
export interface Endpoint {
  baseUrl: string;
  headers: Record<string, string>;
}

export interface AcpOptions extends AcpSettings {
  env: Readonly<Record<string, string | undefined>>;
  /** The host's folder, for files that an agent reads. */
  home: string;
  /** Whether the user trusts a folder. */
  trusts(cwd: string): boolean;
  /** Names of further variables for agents and their commands. */
  passedOn?: readonly string[] | undefined;
  /** Undefined when the host has no access of its own. Throws what resolving a model throws. */
  endpoint(model: ModelInfo): Endpoint | undefined;
  /** Dollars at the prices of a model (`provider/model`); undefined when they are unknown. Never throws. */
  costOf?: CostOf | undefined;
  /** Throws `gateway_failed`. Absent: contexts are always sent in the prompt. */
  gateway?: (() => Promise<ModelGateway>) | undefined;
  log: {
    debug(line: string, fields: Record<string, unknown>): void;
    warn(line: string, fields: Record<string, unknown>): void;
  };
}
