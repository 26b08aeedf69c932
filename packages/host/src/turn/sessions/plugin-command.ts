import type { PluginCommand } from "@pagurus/contract/host/plugin";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { engineEntryType } from "@pagurus/contract/session/engine-entry";
import { appendBetweenTurns } from "../record/append-between-turns.ts";
import { detachedCursor, emptyCursor } from "../agent/session-look.ts";
import { pluginFailure } from "../guard/plugin-failure.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

const COMMAND_DEADLINE_MS = 60_000;

/** Runs a plugin's command and returns its text. Throws what the command throws, `deadline_exceeded`, `turn_aborted`. */
export async function runPluginCommand(
  host: AgentHost,
  command: PluginCommand,
  request: {
    args?: string;
    sessionKey?: string;
    cwd?: string;
    signal: AbortSignal;
  },
): Promise<string> {
  const { args = "", signal: asked } = request;
  const sessionKey = sessionKeyOf(host, request);
  const record = host.store.find(sessionKey);
  const cwd = request.cwd ?? host.settings.workspace ?? currentFolder();
  const remember = (data: unknown): string => {
    const customType = engineEntryType(host.slot.id);
    const at = { sessionKey, cwd, sessionId: record?.sessionId };
    return appendBetweenTurns(host.store, at, { type: "custom", customType, data }).id;
  };
  try {
    const text: unknown = await withDeadline(
      (signal) =>
        command.run(args, {
          sessionKey,
          ...(record ? { sessionId: record.sessionId, remember } : {}),
          agentId: host.agentId,
          cwd,
          transcript: record ? detachedCursor(host, sessionKey) : emptyCursor,
          signal,
        }),
      { ms: COMMAND_DEADLINE_MS, label: `The command /${command.name}`, signal: asked },
    );
    return typeof text === "string" ? text : "";
  } catch (error) {
    throw pluginFailure(error);
  }
}
