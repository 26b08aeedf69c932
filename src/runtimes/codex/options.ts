/** What the host gives the runtime. */
import type { ModelInfo } from "../../contract/model.ts";
import type { ModelGateway } from "../../contract/wire.ts";
import type { Endpoint } from "./thread.ts";

export interface CodexOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The host's folder; what the runtime keeps lies below it. */
  home: string;
  /** Configured path or name of the binary. */
  command?: string | undefined;
  /** Where the model is served; undefined where Codex's own login is to be used. Throws what resolving a model throws. */
  endpoint(model: ModelInfo): Endpoint | undefined;
  /** How a context reaches Codex's model; undefined: as the engine names epochs or not. */
  seam?: "thread" | "projection" | "wire" | undefined;
  /** The model gateway, for the seam `wire`. Throws `gateway_failed`. */
  gateway?: (() => Promise<ModelGateway>) | undefined;
  /** `own`: Codex compacts its threads as it does by itself, and the engine is asked for the summaries (seam `wire`). */
  compaction?: "none" | "own" | undefined;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access" | undefined;
  log: {
    debug(line: string, fields: Record<string, unknown>): void;
    warn(line: string, fields: Record<string, unknown>): void;
  };
}
