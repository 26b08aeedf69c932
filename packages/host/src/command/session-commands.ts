import { PagurusError } from "@pagurus/contract/errors";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import { compactionSizes } from "./context-gauge.ts";
import { oneLine } from "./layout.ts";
import { recentInputs, rewindSession, undoLastTurn } from "./rewind.ts";
import { otherConversations, sessionChoices } from "./session-choices.ts";
import {
  EVERY_DOOR,
  say,
  type CommandContext,
  type CommandResult,
  type SlashCommand,
} from "./command-types.ts";

const FILES_STAY = "Files are unchanged: only the conversation was rewound.";

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
    ...(signal ? { signal } : {}),
  });
  return say(compactionText(result));
}

async function undo(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const undone = await undoLastTurn(pagurus.sessions(agentId), sessionKey, cwd);
  return say(`Undone: "${oneLine(undone.text, 60)}". ${FILES_STAY}`, { type: "rewound", text: undone.text });
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

async function rewind(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const store = pagurus.sessions(agentId);
  if (args !== "") {
    rewindSession(store, sessionKey, args === "start" ? null : args, cwd);
    return say(`The conversation ends at ${args} now. ${FILES_STAY}`, { type: "rewound" });
  }
  const reader = store.openReader(sessionKey);
  try {
    const inputs = await recentInputs(reader.cursor, context.pick ? 200 : 10);
    if (inputs.length === 0) throw new PagurusError("entry_not_found", `Session "${sessionKey}" is empty.`);
    if (context.pick) return await pickedRewind(inputs, context);
    const lines = inputs.map((input) => `${input.before ?? "start"}  before "${oneLine(input.text, 60)}"`);
    return say(["Say /rewind and one of these, or any entry id of the session:", ...lines].join("\n"));
  } finally {
    reader.close();
  }
}

/** Rewinds to before the message that the person picks, and puts its words back into the input. */
async function pickedRewind(
  inputs: Awaited<ReturnType<typeof recentInputs>>,
  { pick, pagurus, agentId, sessionKey, cwd }: CommandContext,
): Promise<CommandResult> {
  const rows = inputs.map(({ text }, index) => ({ value: String(index), label: oneLine(text, 100) }));
  const picked = inputs[Number((await pick?.("Go back to before which message?", rows)) ?? Number.NaN)];
  if (!picked) return say("");
  rewindSession(pagurus.sessions(agentId), sessionKey, picked.before, cwd);
  const text = `Rewound to before "${oneLine(picked.text, 60)}". ${FILES_STAY}`;
  return say(text, { type: "rewound", text: picked.text });
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
  {
    name: "undo",
    usage: "",
    summary: "Go back to before your last message; files are unchanged.",
    run: undo,
  },
  {
    name: "rewind",
    usage: "[entry]",
    summary: "Go back to an entry; without one, list the choices.",
    run: rewind,
  },
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
