/** `/undo`, `/redo` and `/rewind`: the words of a conversation and the files of its folder, as they were. */
import { FILES_AT_SERVER, NO_CHECKPOINTS, type FileRewind } from "@pagurus/contract/host/checkpoints";
import { PagurusError } from "@pagurus/contract/errors";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./command-types.ts";
import { oneLine } from "./layout.ts";
import { recentInputs, type UserInput } from "./rewind.ts";
import {
  agreedRewind,
  beyondText,
  callsBeyondFiles,
  FILES_STAY,
  filesText,
  newestRewind,
  recordRewind,
  rewindOptions,
  type RewindOptions,
  type RewindPart,
} from "./undo-files.ts";

/** Where a rewind leads: the conversation's new end, and the first turn after it. */
interface Target {
  end: string | null;
  turnId: string | undefined;
  /** Entries that are undone, the oldest first. */
  entries: TranscriptEntry[];
}

async function undo(args: string, context: CommandContext): Promise<CommandResult> {
  const { sessionKey } = context;
  const { options } = rewindOptions(args);
  const [last] = await inputsOf(context, 1);
  if (!last) throw new PagurusError("entry_not_found", `Session "${sessionKey}" has no turn to undo.`);
  return rewindTo(await targetAt(last.before, context), {
    options,
    context,
    done: `Undone: "${oneLine(last.text, 60)}".`,
    text: last.text,
  });
}

async function inputsOf(
  { pagurus, sessionKey, agentId }: CommandContext,
  limit: number,
): Promise<UserInput[]> {
  const reader = pagurus.sessions(agentId).openReader(sessionKey);
  try {
    return await recentInputs(reader.cursor, limit);
  } finally {
    reader.close();
  }
}

async function targetAt(
  end: string | null,
  { pagurus, sessionKey, agentId }: CommandContext,
): Promise<Target> {
  const reader = pagurus.sessions(agentId).openReader(sessionKey);
  const entries: TranscriptEntry[] = [];
  try {
    let isFound = end === null;
    for await (const entry of reader.cursor.backward()) {
      isFound ||= entry.id === end;
      if (entry.id === end) break;
      entries.unshift(entry);
    }
    // Of another branch: the files of its turns are unknown.
    if (!isFound) return { end, turnId: undefined, entries: [] };
  } finally {
    reader.close();
  }
  const first = entries.find((entry) => entry.type === "message" && entry.message.role === "user");
  return { end, turnId: first?.turnId, entries };
}

interface Rewind {
  options: RewindOptions;
  context: CommandContext;
  /** The sentence about the words. */
  done: string;
  /** Words to edit and send again. */
  text?: string;
}

async function rewindTo({ end, turnId, entries }: Target, { options, context, done, text }: Rewind) {
  const { part, preview } = options;
  let files: FileRewind | undefined;
  if (part !== "words" && turnId !== undefined) {
    files = await agreedRewind({ to: { turnId } }, options, context);
    if (!files) return say("");
  }
  if (preview) {
    const shown = files
      ? [...(files.diff ?? []), filesText(files, options)]
      : ["Only words would be rewound."];
    return say(shown.join("\n"));
  }
  recordRewind(context, part === "files" ? undefined : { target: end }, files);
  const problem = files?.problem;
  const isPlain = part !== "files" && (problem === NO_CHECKPOINTS || problem === FILES_AT_SERVER);
  const about = files && !isPlain ? filesText(files, options) : FILES_STAY;
  const beyond = beyondText(callsBeyondFiles(entries));
  const lines = [part === "files" ? about : `${done} ${about}`, ...(beyond === "" ? [] : [beyond])];
  if (part === "files") return say(lines.join("\n"));
  return say(lines.join("\n"), { type: "rewound", ...(text === undefined ? {} : { text }) });
}

async function redo(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const { options } = rewindOptions(args);
  const store = pagurus.sessions(agentId);
  const reader = store.find(sessionKey) && store.openReader(sessionKey);
  let note;
  try {
    note = reader && (await newestRewind(reader.cursor));
  } finally {
    reader?.close();
  }
  if (!note) return say("Nothing was undone since the last message.");
  const { leaf, checkpoint } = note;
  let files: FileRewind | undefined;
  if (checkpoint !== undefined) {
    files = await agreedRewind({ to: { checkpoint } }, options, context);
    if (!files) return say("");
    if (options.preview) return say([...(files.diff ?? []), filesText(files, options)].join("\n"));
  }
  const writer = store.openWriter(sessionKey, { cwd, create: false });
  try {
    writer.rewind(leaf);
  } finally {
    writer.close();
  }
  const about = files ? ` ${filesText(files, options, "restored")}` : "";
  return say(`Done again.${about}`, { type: "rewound" });
}

async function rewind(args: string, context: CommandContext): Promise<CommandResult> {
  const { sessionKey } = context;
  const { options, rest, hasPart } = rewindOptions(args);
  if (rest !== "") {
    const end = rest === "start" ? null : rest;
    const done = `The conversation ends at ${rest} now.`;
    return rewindTo(await targetAt(end, context), { options, context, done });
  }
  const inputs = await inputsOf(context, context.pick ? 200 : 10);
  if (inputs.length === 0) throw new PagurusError("entry_not_found", `Session "${sessionKey}" is empty.`);
  if (context.pick) return pickedRewind(inputs, { options, hasPart }, context);
  const lines = inputs.map((input) => `${input.before ?? "start"}  before "${oneLine(input.text, 60)}"`);
  return say(["Say /rewind and one of these, or any entry id of the session:", ...lines].join("\n"));
}

/** Rewinds to before the message that the person picks, and puts its words back into the input. */
async function pickedRewind(
  inputs: readonly UserInput[],
  { options, hasPart }: { options: RewindOptions; hasPart: boolean },
  context: CommandContext,
): Promise<CommandResult> {
  const rows = inputs.map(({ text }, index) => ({ value: String(index), label: oneLine(text, 100) }));
  const picked =
    inputs[Number((await context.pick?.("Go back to before which message?", rows)) ?? Number.NaN)];
  if (!picked) return say("");
  const target = await targetAt(picked.before, context);
  const part = hasPart ? options.part : await pickedPart(target, context);
  if (part === undefined) return say("");
  return rewindTo(target, {
    options: { ...options, part },
    context,
    done: `Rewound to before "${oneLine(picked.text, 60)}".`,
    text: picked.text,
  });
}

/** Asks what is rewound, where files would change. */
async function pickedPart({ turnId }: Target, context: CommandContext): Promise<RewindPart | undefined> {
  if (turnId === undefined) return "words";
  const { pagurus, sessionKey, agentId, cwd } = context;
  const seen = await pagurus.rewindFiles({ to: { turnId }, sessionKey, agentId, cwd, preview: true });
  if (seen.changes.length === 0 && seen.kept.length === 0) return "both";
  const count = `${seen.changes.length} to change back${seen.kept.length > 0 ? `, ${seen.kept.length} changed by others` : ""}`;
  const choice = await context.pick?.("Rewind what?", [
    { value: "both", label: "The conversation and the files", description: count },
    { value: "words", label: "The conversation alone" },
    { value: "files", label: "The files alone", description: count },
  ]);
  return choice as RewindPart | undefined;
}

export const undoCommands: readonly SlashCommand[] = [
  {
    name: "undo",
    usage: "[words|files|preview]",
    summary: "Go back to before your last message, with the files.",
    run: undo,
  },
  {
    name: "redo",
    usage: "",
    summary: "Take the last /undo or /rewind back.",
    run: redo,
  },
  {
    name: "rewind",
    usage: "[entry]",
    summary: "Go back to an entry, with the files; without one, list the choices.",
    run: rewind,
  },
];
