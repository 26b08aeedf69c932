/** The plugin kit's functions: their parameters and results, for those that the package has types of. */
import type * as agentScope from "openclaw/plugin-sdk/agent-scope-runtime";
import type * as core from "openclaw/plugin-sdk/core";
import type * as logging from "openclaw/plugin-sdk/logging-core";
import type * as memory from "openclaw/plugin-sdk/memory-host-core";
import type * as params from "openclaw/plugin-sdk/param-readers";
import type * as sdk from "../../../../packages/host/src/plugin/compat/sdk.ts";
import type { OfExports } from "./declared.ts";
import type { Drift, None, Undeclared } from "./drift.ts";

/**
 * An entry is returned as it is, with members that only the loader reads; its type is a parameter here. The parameters and the result of the
 * compaction are those of the engine's `compact`.
 */
type Left = "definePluginEntry" | "defineChannelPluginEntry" | "delegateCompactionToRuntime";
type Ours = Omit<typeof sdk, Left>;
/** Compared with the engine contract; a set that is only read; a schema of JSON, whose type is recursive. */
type Apart = "runtimeContext" | "availableTools" | "jsonSchema";
type Shared<Theirs> = Extract<keyof Ours, keyof Theirs>;
type Differences<Theirs, Name extends string> = {
  [K in Shared<Theirs>]: Drift<Ours[K], Theirs[K], `${Name}.${K}`, "given", Apart>;
}[Shared<Theirs>];
type Of<Name extends string> = Extract<OfExports, `${Name}.${string}`>;

export type Core = None<Undeclared<Differences<typeof core, "core">, Of<"core">>>;
export type AgentScope = None<
  Undeclared<Differences<typeof agentScope, "agent-scope-runtime">, Of<"agent-scope-runtime">>
>;
export type Logging = None<Undeclared<Differences<typeof logging, "logging-core">, Of<"logging-core">>>;
export type Memory = None<Undeclared<Differences<typeof memory, "memory-host-core">, Of<"memory-host-core">>>;
export type Params = None<Undeclared<Differences<typeof params, "param-readers">, Of<"param-readers">>>;
