/** Options that the host passes to the runtime. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { ModelGateway } from "@pagurus/contract/harness/wire";

/** Address of a turn's model. */
export interface Endpoint {
  /** With the version's path, as in our configuration. */
  baseUrl: string;
  headers: Record<string, string>;
  /** The provider's key; `headers` may contain it as a bearer token. */
  apiKey?: string | undefined;
}

export interface ClaudeOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Names of further variables for Claude Code and its commands. */
  passedOn?: readonly string[] | undefined;
  /** The host's folder, which contains the runtime's files. */
  home: string;
  /** Configured path or name of the program. */
  command?: string | undefined;
  /**
   * `own`: without a key of the host, Claude Code runs with the user's own configuration folder and its login. The host never
   * reads, stores or forwards it.
   */
  login?: "own" | undefined;
  /** `wire`: contexts of an engine reach the model through the host's model gateway, and not in the session's file. */
  context?: "wire" | undefined;
  /** Throws `gateway_failed`. Absent: contexts are always written to the session's file. */
  gateway?: (() => Promise<ModelGateway>) | undefined;
  /** Undefined when the host has no key of the model's provider. Throws what resolving a model throws. */
  endpoint(model: ModelInfo): Endpoint | undefined;
  log: {
    debug(line: string, fields: Record<string, unknown>): void;
    warn(line: string, fields: Record<string, unknown>): void;
  };
}
