/** The configuration's loader, for homes whose sessions are in PostgreSQL. */
import * as real from "../../../packages/core/src/config/load-config.ts";
import { tablesOf } from "./tables.ts";

export * from "../../../packages/core/src/config/load-config.ts";

function shared(loaded: real.LoadedConfig, home: string): real.LoadedConfig {
  return { ...loaded, config: { ...loaded.config, store: loaded.config.store ?? tablesOf(home) } };
}

export const loadConfig: typeof real.loadConfig = (options) => shared(real.loadConfig(options), options.home);
export const loadFor: typeof real.loadFor = (options, home) => shared(real.loadFor(options, home), home);
export const configFromValue: typeof real.configFromValue = (value, home) =>
  shared(real.configFromValue(value, home), home);
