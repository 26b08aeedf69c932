/** The host that keeps the sessions of other programs: the engine lossless, no model and no plugin. */
import { loadConfig } from "@pagurus/core/config/load-config";
import type { PagurusOptions } from "@pagurus/contract/host/host";

const ENGINE = "lossless";
/** Compactions are made without a model request. */
const NO_MODEL = "offline/extract";

export function insideOptions(home: string, env: Record<string, string | undefined>): PagurusOptions {
  const { config } = loadConfig({ home });
  const settings = config.plugins?.entries?.[ENGINE];
  return {
    home,
    env,
    config: {
      ...(config.session ? { session: config.session } : {}),
      agents: { defaults: { model: NO_MODEL } },
      plugins: {
        slots: { contextEngine: ENGINE },
        ...(settings ? { entries: { [ENGINE]: settings } } : {}),
      },
    },
  };
}
