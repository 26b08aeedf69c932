/** Options that the host passes to the runtime. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { ModelGateway } from "@pagurus/contract/harness/wire";
import type { Endpoint } from "./codex-thread.ts";

export interface CodexOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Names of further variables for Codex and its commands. */
  passedOn?: readonly string[] | undefined;
  /** The host's folder, which contains the runtime's files. */
  home: string;
  /** Whether the user trusts a folder. */
  trusts(cwd: string): boolean;
  /** Configured path or name of the binary. */
  command?: string | undefined;
  /** Address of a model; undefined when Codex's own login is used. Throws what resolving a model throws. */
  endpoint(model: ModelInfo): Endpoint | undefined;
  /** How a context reaches Codex's model; undefined: depends on whether the engine names epochs. */
  seam?: "thread" | "projection" | "wire" | undefined;
  /** The model gateway, for the seam `wire`. Throws `gateway_failed`. */
  gateway?: (() => Promise<ModelGateway>) | undefined;
  /** `own`: Codex compacts its threads by itself, and the engine writes the summaries (seam `wire`). */
  compaction?: "none" | "own" | undefined;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access" | undefined;
  log: {
    debug(line: string, fields: Record<string, unknown>): void;
    warn(line: string, fields: Record<string, unknown>): void;
  };
}
