/** Registers the engine as a plugin would. The engine and its store load when a session needs them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PluginApi } from "../../contract/plugin.ts";
import type { LosslessOptions } from "./engine.ts";
import { recallTools } from "./recall.ts";
import type { LosslessStore } from "./store/store.ts";

const ID = "lossless";
const DATABASE = "lossless.db";

export interface LosslessRegistration {
  /** Engine id in the slot: the recall tools are offered with this engine only. */
  selected: string;
  /** Folder of an agent. */
  agentDir(agentId: string): string;
  memorySection: NonNullable<LosslessOptions["memorySection"]>;
}

export function registerLossless(api: PluginApi, options: LosslessRegistration): void {
  const { selected, agentDir, memorySection } = options;
  const stores = new Set<LosslessStore>();
  api.registerContextEngine(ID, async (context) => {
    const { createLosslessEngine } = await import("./engine.ts");
    return createLosslessEngine(context, { memorySection, onStore: (store) => stores.add(store) });
  });
  // What is deleted is deleted here too, also while another engine is in the slot.
  api.on("session_end", async ({ reason }, { sessionKey, sessionId, agentId }) => {
    const folder = agentDir(agentId);
    if (reason !== "deleted" || !existsSync(join(folder, DATABASE))) return;
    const { openLosslessStore } = await import("./store/store.ts");
    const store = openLosslessStore(folder);
    try {
      const same = store.sessions().filter((session) => session.sessionKey === sessionKey);
      await store.deleteSession([...new Set([sessionId, ...same.map((session) => session.sessionId)])]);
    } finally {
      await store.close();
    }
  });
  if (selected !== ID) return;
  // A tool's call does not name its agent: with two agents' stores open neither is read for the other.
  const only = (): LosslessStore | undefined => (stores.size === 1 ? [...stores][0] : undefined);
  for (const tool of recallTools(only)) api.registerTool(Object.assign(tool, { readOnly: true }));
}
