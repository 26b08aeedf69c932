import type { ContextEngineFactory } from "../../../packages/contract/src/engine/engine.ts";
import type { ContextPolicy } from "../policy.ts";
import { EngineDriver } from "./driver.ts";
import type { EngineOptions } from "./params.ts";

/** A context engine as a policy; `name` names the setting. One engine instance for each session. */
export function engineContextPolicy(
  name: string,
  create: ContextEngineFactory,
  options: EngineOptions,
): ContextPolicy {
  return {
    name,
    limit: options.window,
    open: (session) => EngineDriver.open(create, options, session),
  };
}
