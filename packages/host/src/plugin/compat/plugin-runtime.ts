/** `api.runtime` of OpenClaw: the supported parts, under OpenClaw's names. */
import { PagurusError } from "@pagurus/contract/errors";
import type { PluginApi } from "@pagurus/contract/host/plugin";
import { foreignComplete } from "./foreign-llm.ts";
import type { NoteIdle } from "./idle.ts";
import type { PluginState } from "./keyed-store.ts";
import { runCommandWithTimeout } from "./plugin-run-command.ts";
import { PluginSubagents, type AgentRuns } from "./plugin-subagent.ts";

export interface RuntimePlace {
  /** Absent where no agents can be started. */
  agents?: AgentRuns | undefined;
  state: PluginState;
  /** Queues a text for a session's next turn; false for a duplicate. */
  enqueueSystemEvent(sessionKey: string, text: string): boolean;
  version: string;
}

export function runtimeOf(
  own: PluginApi,
  config: unknown,
  { agents, state, enqueueSystemEvent, version }: RuntimePlace,
  note: NoteIdle,
): Record<string, unknown> {
  const unchanged = async (): Promise<never> => {
    note("change of the configuration");
    throw new PagurusError(
      "usage_invalid",
      `The plugin ${own.id} would change the configuration, which no plugin may here; set it with pagurus config set.`,
    );
  };
  return {
    version,
    llm: { complete: foreignComplete(own.runtime.llm.complete, { caller: { kind: "plugin", id: own.id } }) },
    config: {
      current: () => config,
      loadConfig: () => config,
      mutateConfigFile: unchanged,
      replaceConfigFile: unchanged,
      writeConfigFile: unchanged,
    },
    logging: { getChildLogger: () => own.logger, shouldLogVerbose: () => false },
    system: {
      enqueueSystemEvent: (text: string, { sessionKey }: { sessionKey?: string } = {}) =>
        enqueueSystemEvent(sessionKey ?? "main", String(text)),
      requestHeartbeat: () => note("heartbeat request"),
      requestHeartbeatNow: () => note("heartbeat request"),
      runCommandWithTimeout,
      formatNativeDependencyHint: ({ packageName = "" }: { packageName?: string } = {}) =>
        `Install ${packageName} beside the plugin.`,
    },
    events: {
      onAgentEvent: () => listener(note, "agent events"),
      onSessionTranscriptUpdate: () => listener(note, "transcript updates"),
    },
    state: {
      resolveStateDir: state.resolveStateDir,
      openKeyedStore: state.openKeyedStore,
      openSyncKeyedStore: state.openSyncKeyedStore,
    },
    ...(agents && { subagent: new PluginSubagents(own.id, agents) }),
  };
}

/** A subscription that never fires; the returned function ends it. */
function listener(note: NoteIdle, to: string): () => void {
  note(`listener for ${to}`);
  return () => undefined;
}
