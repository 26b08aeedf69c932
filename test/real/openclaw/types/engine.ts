/** The engine contract, in both directions: what the host calls and gives, and what an engine answers. */
import type { ContextEngine, EngineFactoryContext } from "../../../../packages/contract/src/engine/engine.ts";
import type { RuntimeSettings } from "../../../../packages/contract/src/engine/runtime-settings.ts";
import type { ForeignRuntimeContext } from "../../../../packages/host/src/plugin/compat/foreign-engine.ts";
import type { OfContext, OfEngine } from "./declared.ts";
import type { Drift, None, Undeclared } from "./drift.ts";
import type { TheirContext, TheirEngine, TheirFactory, TheirSettings } from "./openclaw.ts";

type Shared = "runtimeContext" | "runtimeSettings";

export type Engine = None<
  Undeclared<Drift<TheirEngine, ContextEngine, "engine", "answered", Shared>, OfEngine>
>;
export type Context = None<
  Undeclared<Drift<ForeignRuntimeContext, TheirContext, "runtimeContext", "given">, OfContext>
>;
export type Settings = None<
  Undeclared<Drift<RuntimeSettings, TheirSettings, "runtimeSettings", "given">, never>
>;
export type Factory = None<
  Undeclared<Drift<EngineFactoryContext, Parameters<TheirFactory>[0], "factory()", "given">, never>
>;
