/** Registers the engine as a plugin would. The engine and its store load when a session needs them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PluginApi, ToolContext } from "../../contract/plugin.ts";
import { registerPinCommands } from "./command/pins.ts";
import type { LosslessOptions } from "./engine.ts";
import { recallTools } from "./recall.ts";
import { losslessSettings, PIN_SHARE, sessionPolicy, sharesOf } from "./settings.ts";
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

async function openStore(folder: string): Promise<LosslessStore> {
  const { openLosslessStore } = await import("./store/store.ts");
  return openLosslessStore(folder);
}

export function registerLossless(api: PluginApi, options: LosslessRegistration): void {
  const { selected, agentDir, memorySection } = options;
  const stores = new Set<LosslessStore>();
  api.registerContextEngine(ID, async (context) => {
    const { createLosslessEngine } = await import("./engine.ts");
    let opened: LosslessStore | undefined;
    const onStore = (store: LosslessStore): void => {
      opened = store;
      stores.add(store);
    };
    const engine = createLosslessEngine(context, { memorySection, onStore });
    return {
      ...engine,
      async dispose() {
        if (opened) stores.delete(opened);
        await engine.dispose?.();
      },
    };
  });
  // What is deleted is deleted here too, also while another engine is in the slot.
  api.on("session_end", async ({ reason }, { sessionKey, sessionId, agentId }) => {
    const folder = agentDir(agentId);
    if (reason === "shutdown" || !existsSync(join(folder, DATABASE))) return;
    const { forgetDebts, forgetSession } = await import("./command/forget.ts");
    if (reason === "deleted") await forgetSession(folder, { sessionKey, sessionId });
    else await forgetDebts(folder, sessionId);
  });
  const settings = losslessSettings(api.config);
  const pinRoom = Math.floor(sharesOf(settings, Infinity).head * PIN_SHARE);
  registerPinCommands(api, {
    room: pinRoom,
    open: (agentId) => openStore(agentDir(agentId)),
    refusal: ({ sessionKey }) => {
      if (selected !== ID)
        return `Pins need the engine ${ID}, and ${selected} is in the slot; set plugins.slots.contextEngine to "${ID}" for them.`;
      return sessionPolicy(settings, sessionKey) === "kept"
        ? undefined
        : "Nothing of this session is kept (ignoreSessions, statelessSessions), so nothing can be pinned.";
    },
  });
  if (selected !== ID) return;
  // A tool's call names its session, not its agent; of several agents' stores only its own knows the session.
  const storeOf = ({ sessionId }: ToolContext): LosslessStore | undefined => {
    const open = [...stores];
    return open.length === 1 ? open[0] : open.find((store) => store.session(sessionId) !== undefined);
  };
  for (const tool of recallTools(storeOf, { pinRoom }))
    api.registerTool(Object.assign(tool, { readOnly: true }));
}
