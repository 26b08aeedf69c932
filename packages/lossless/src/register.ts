/** Registers the engine as a plugin would. The engine and its store are loaded lazily. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PluginApi, ToolContext } from "@pagurus/contract/host/plugin";
import { registerPinCommands } from "./command/pin-commands.ts";
import { registerRecallCommand } from "./command/recall-command.ts";
import type { SharedEncoder } from "./encoder/shared-encoder.ts";
import type { LosslessOptions } from "./lossless-engine.ts";
import { recallTools } from "./recall/recall-tools.ts";
import { losslessSettings, PIN_SHARE, sessionPolicy, sharesOf } from "./lossless-settings.ts";
import type { LosslessStore } from "./store/lossless-store.ts";

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
  const { openLosslessStore } = await import("./store/lossless-store.ts");
  return openLosslessStore(folder);
}

async function openEncoder(): Promise<SharedEncoder> {
  const { SharedEncoder } = await import("./encoder/shared-encoder.ts");
  return new SharedEncoder();
}

export function registerLossless(api: PluginApi, options: LosslessRegistration): void {
  const { selected, agentDir, memorySection } = options;
  const settings = losslessSettings(api.config);
  const stores = new Set<LosslessStore>();
  let encoders: Promise<SharedEncoder> | undefined;
  api.registerContextEngine(ID, async (context) => {
    const { createLosslessEngine } = await import("./lossless-engine.ts");
    let opened: LosslessStore | undefined;
    const onStore = (store: LosslessStore): void => {
      if (opened) stores.delete(opened);
      opened = store;
      stores.add(store);
    };
    if (settings.encoder) encoders ??= openEncoder();
    const shared = await encoders;
    const engine = createLosslessEngine(context, { memorySection, encoder: shared?.take(), onStore });
    return {
      ...engine,
      async dispose() {
        if (opened) stores.delete(opened);
        await engine.dispose?.();
        await shared?.release();
      },
    };
  });
  // A deleted session is erased by the host, also while another engine is in the slot.
  api.on("session_end", async ({ reason }, { sessionId, agentId }) => {
    const folder = agentDir(agentId);
    const isOver = reason === "new" || reason === "reset" || reason === "rotated";
    if (!isOver || !existsSync(join(folder, DATABASE))) return;
    const { forgetDebts } = await import("./command/forget.ts");
    await forgetDebts(folder, sessionId);
  });
  const pinTokens = Math.floor(sharesOf(settings, Infinity).head * PIN_SHARE);
  registerPinCommands(api, {
    pinTokens,
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
  // A tool call names its session, not its agent; only the store of its own agent knows the session.
  const storeOf = ({ sessionId }: ToolContext): LosslessStore | undefined => {
    const open = [...stores];
    return open.length === 1 ? open[0] : open.find((store) => store.has(sessionId));
  };
  const mayKeep = (key: string): boolean => sessionPolicy(settings, key) === "kept";
  for (const tool of recallTools(storeOf, { pinTokens, mayKeep }))
    api.registerTool(Object.assign(tool, { readOnly: true }));
  registerRecallCommand(api, { store: storeOf, open: (agentId) => openStore(agentDir(agentId)) });
}
