/** What the host gives the runtime. */
import type { ModelInfo } from "../../contract/model.ts";
import type { ModelGateway } from "../../contract/wire.ts";

/** Where the model of a turn is served. */
export interface Endpoint {
  /** With the version's path, as our configuration has it. */
  baseUrl: string;
  headers: Record<string, string>;
  /** Of the provider; `headers` may have it as a bearer's token. */
  apiKey?: string | undefined;
}

export interface ClaudeOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The host's folder; what the runtime keeps lies below it. */
  home: string;
  /** Configured path or name of the program. */
  command?: string | undefined;
  /**
   * `own`: without a key of the host's, Claude Code runs with the user's own configuration folder and whatever login it has.
   * It is never read, stored or forwarded by the host.
   */
  login?: "own" | undefined;
  /** `wire`: contexts of an engine reach the model through the host's model gateway, and not in the session's file. */
  context?: "wire" | undefined;
  /** Throws `gateway_failed`. Absent: contexts go by the session's file whatever is configured. */
  gateway?: (() => Promise<ModelGateway>) | undefined;
  /** Undefined where the host has no key of the model's provider. Throws what resolving a model throws. */
  endpoint(model: ModelInfo): Endpoint | undefined;
  log: {
    debug(line: string, fields: Record<string, unknown>): void;
    warn(line: string, fields: Record<string, unknown>): void;
  };
}
