import type { ContextEngineFactory } from "@pagurus/contract/engine/engine";
import type { ContextPolicy } from "../context-policy.ts";
import { EngineDriver } from "./engine-driver.ts";
import type { EngineOptions } from "./driver-params.ts";

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
