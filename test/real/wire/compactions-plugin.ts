/** The intercepting engine as a plugin that a configuration links; it writes its requests to a file. Config: {how, file}. */
import { appendFileSync } from "node:fs";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { answeringEngine, ENGINE_ID, type Answering } from "./compactions-engine.ts";

export default function register(api: PluginApi): void {
  const { how, file } = api.pluginConfig as { how: Answering; file: string };
  const note = (asked: object): void => appendFileSync(file, `${JSON.stringify(asked)}\n`);
  api.registerContextEngine(ENGINE_ID, () => answeringEngine(how, note));
}
