import { defined } from "@pagurus/core/data/defined";
import { PagurusError } from "@pagurus/contract/errors";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import { compactionSizes } from "./context-gauge.ts";
import { oneLine } from "./layout.ts";
import { undoCommands } from "./undo-commands.ts";
import { otherConversations, sessionChoices } from "./session-choices.ts";
import {
  EVERY_DOOR,
  say,
  type CommandContext,
  type CommandResult,
  type SlashCommand,
} from "./command-types.ts";

async function renew(context: CommandContext, reason: "new" | "reset"): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const record = await pagurus.renew({ sessionKey, agentId, cwd, reason });
  const text = `A new conversation under "${sessionKey}"; the earlier one is kept (pagurus sessions list --all).`;
  return say(text, { type: "renewed", sessionId: record.sessionId });
}

/** Text of the result of `/compact` and `pagurus compact`. */
export function compactionText(result: CompactionReport): string {
  if (!result.compacted)
    return `Not compacted: ${result.reason ?? "the engine gave no reason"}.`.replace(/\.\.$/, ".");
  const wrong = result.degraded.map(
    ({ stage, reason }) => `degraded (${stage}): ${oneLine(reason, Infinity)}`,
  );
  return [savedText(result), ...wrong].join("\n");
}

function savedText(result: CompactionReport): string {
  const { tokensBefore: before, tokensAfter: after } = result;
  if (before === undefined && after === undefined)
    return "Compacted. The transcript keeps the full text, searchable.";
  return `Compacted: ${compactionSizes(before ?? 0, after ?? 0)}. The transcript keeps the full text, searchable.`;
}

async function compact(focus: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd, signal } = context;
  context.note?.("compacting…");
  const result = await pagurus.compact({
    sessionKey,
    agentId,
    cwd,
    ...(focus === "" ? {} : { focus }),
    ...defined({ signal }),
  });
  return say(compactionText(result));
}

/** Conversations that are offered. */
const MOST_SESSIONS = 50;

async function resume(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd, pick } = context;
  const store = pagurus.sessions(agentId);
  if (args !== "") {
    if (!store.find(args)) throw new PagurusError("session_not_found", `There is no session "${args}".`);
    return say("", { type: "session", sessionKey: args });
  }
  const others = otherConversations(store, sessionKey, cwd).slice(0, MOST_SESSIONS);
  if (others.length === 0) return say("This folder has no other conversation.");
  const rows = sessionChoices(others);
  if (!pick) {
    const lines = rows.map(
      ({ value, label, description = "" }) => `/resume ${value}  "${label}" ${description}`,
    );
    return say(["Say one of these:", ...lines].join("\n"));
  }
  const key = await pick("Continue which conversation?", rows);
  return key === undefined ? say("") : say("", { type: "session", sessionKey: key });
}

/** Commands that change the conversation. */
export const sessionCommands: readonly SlashCommand[] = [
  {
    name: "new",
    doors: EVERY_DOOR,
    usage: "",
    summary: "Start a new conversation under the same key.",
    run: (_, c) => renew(c, "new"),
  },
  {
    name: "reset",
    doors: EVERY_DOOR,
    usage: "",
    summary: "As /new, and the runtime forgets its thread.",
    run: (_, c) => renew(c, "reset"),
  },
  {
    name: "compact",
    doors: EVERY_DOOR,
    usage: "[focus]",
    summary: "Summarize the older part of the context now.",
    run: compact,
  },
  ...undoCommands,
  {
    name: "stop",
    doors: EVERY_DOOR,
    usage: "",
    summary: "End the turn that runs.",
    atOnce: () => true,
    run: (_, { turn }) => {
      turn?.abort();
      return Promise.resolve(say(turn ? "The turn ends." : "No turn runs."));
    },
  },
  {
    name: "resume",
    usage: "[key]",
    summary: "Continue another conversation of the folder.",
    run: resume,
  },
];
