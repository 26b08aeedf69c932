/** Rewinds words and files together, records how that is taken back, and says what cannot be undone. */
import {
  REWOUND_ENTRY,
  type FileRewind,
  type FileRewindRequest,
  type RewoundNote,
} from "@pagurus/contract/host/checkpoints";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { attempt } from "@pagurus/core/data/attempt";
import { plural } from "@pagurus/core/data/plain-numbers";
import type { CommandContext } from "./command-types.ts";
import { oneLine } from "./layout.ts";

/** The part of a turn that a rewind restores. */
export type RewindPart = "words" | "files" | "both";

export interface RewindOptions {
  part: RewindPart;
  /** Only show it. */
  preview: boolean;
  overwrite: boolean;
}

const WORDS: Readonly<Record<string, Partial<RewindOptions>>> = {
  words: { part: "words" },
  files: { part: "files" },
  both: { part: "both" },
  preview: { preview: true },
  overwrite: { overwrite: true },
};

/** Splits arguments into options and the rest, for example `files overwrite`. */
export function rewindOptions(args: string): { options: RewindOptions; rest: string; hasPart: boolean } {
  const words = args.split(/\s+/).filter((word) => word !== "");
  const known = words.flatMap((word) => WORDS[word] ?? []);
  const rest = words.filter((word) => WORDS[word] === undefined).join(" ");
  const options = Object.assign(
    { part: "both", preview: false, overwrite: false },
    ...known,
  ) as RewindOptions;
  return { options, rest, hasPart: known.some(({ part }) => part !== undefined) };
}

export const FILES_STAY = "Files are unchanged: only the conversation was rewound.";
const MOST_NAMED = 10;

/** Sentences about the files of a rewind. */
export function filesText(
  { changes, files, kept, problem }: FileRewind,
  { overwrite, preview }: RewindOptions,
  done = "changed back; /redo takes it back",
): string {
  if (problem !== undefined) return `Files are unchanged: ${problem}.`;
  if (changes.length === 0 && kept.length === 0) return "No file had changed.";
  const count = preview ? changes.length : files.length;
  const names = changes.slice(0, MOST_NAMED).map((line) => `  ${line}`);
  if (changes.length > MOST_NAMED) names.push(`  … and ${changes.length - MOST_NAMED} more`);
  const keptNames = kept.slice(0, MOST_NAMED).map(({ path, why }) => `  ${path}: ${why}`);
  if (kept.length > MOST_NAMED) keptNames.push(`  … and ${kept.length - MOST_NAMED} more`);
  return [
    count > 0 ? `${plural(count, "file")} ${preview ? "would be changed" : done}:` : "No file was changed.",
    ...names,
    ...(kept.length > 0 ? [`Kept as ${kept.length === 1 ? "it is" : "they are"}:`, ...keptNames] : []),
    ...(kept.length > 0 && !overwrite ? ["Add the word overwrite to restore these, too."] : []),
  ].join("\n");
}

/** Asks whether files that others changed since are restored, too, where a person can pick; else they stay. */
export async function agreedRewind(
  request: Pick<FileRewindRequest, "to">,
  options: RewindOptions,
  context: CommandContext,
): Promise<FileRewind | undefined> {
  const { pagurus, sessionKey, agentId, cwd, pick } = context;
  const { overwrite, preview } = options;
  const asked = { ...request, sessionKey, agentId, cwd };
  if (preview || overwrite || !pick) return pagurus.rewindFiles({ ...asked, overwrite, preview });
  const { kept } = await pagurus.rewindFiles({ ...asked, preview: true });
  if (kept.length === 0) return pagurus.rewindFiles(asked);
  const names = oneLine(kept.map(({ path }) => path).join(", "), 60);
  const title = `You or another conversation changed ${names} since. What about ${kept.length === 1 ? "it" : "them"}?`;
  const answer = await pick(title, [
    { value: "keep", label: "Keep as it is, and restore the others" },
    { value: "overwrite", label: "Restore it, too", description: "/redo takes it back" },
  ]);
  if (answer === undefined) return undefined;
  return pagurus.rewindFiles({ ...asked, overwrite: answer === "overwrite" });
}

/** Where the words of a rewind go; absent: they stay. */
export interface WordsTarget {
  target: string | null;
}

const MOST_RECORDED = 50;

/** Moves the conversation, and records how words and files are taken back. Throws as `SessionStore.openWriter`. */
export function recordRewind(
  { pagurus, sessionKey, agentId, cwd }: CommandContext,
  words: WordsTarget | undefined,
  files: FileRewind | undefined,
): void {
  const writer = pagurus.sessions(agentId).openWriter(sessionKey, { cwd, create: false });
  try {
    const { leafId: leaf } = writer;
    if (words) writer.rewind(words.target);
    else if (files?.undo === undefined) return;
    const data: RewoundNote = {
      leaf,
      ...(files?.undo === undefined
        ? {}
        : {
            checkpoint: files.undo,
            files: files.files.slice(0, MOST_RECORDED),
            count: files.files.length,
          }),
    };
    // A server that is far away takes no such entries; only /redo needs it then.
    if (files?.undo === undefined)
      attempt(() => writer.append({ type: "custom", customType: REWOUND_ENTRY, data }));
    else writer.append({ type: "custom", customType: REWOUND_ENTRY, data });
  } finally {
    writer.close();
  }
}

/** How the newest rewind is taken back, unless the conversation has continued since. */
export async function newestRewind(cursor: TranscriptCursor): Promise<RewoundNote | undefined> {
  for await (const entry of cursor.backward()) {
    if (entry.type === "message" || entry.type === "turn_commit") return undefined;
    if (entry.type === "custom" && entry.customType === REWOUND_ENTRY) return noteOf(entry.data);
  }
  return undefined;
}

function noteOf(data: unknown): RewoundNote | undefined {
  const { leaf, checkpoint } = (data ?? {}) as Partial<RewoundNote>;
  if (leaf !== null && typeof leaf !== "string") return undefined;
  return { leaf, ...(typeof checkpoint === "number" ? { checkpoint } : {}) };
}

/** Tools whose effects are on files, or that change nothing. */
const LOCAL =
  /^(?:read|write|edit|multiedit|notebookedit|glob|grep|search|ls|list|view|apply_patch|filechange|file_change|todo\w*|plan|update_plan|context_\w+|memory_\w+|web_?fetch|web_?search|skill|task|agent|spawn_agent|exitplanmode|toolsearch)$/i;
const BEYOND =
  /\b(?:git\s+push|curl|wget|ssh|scp|rsync|sftp|gh|glab|npm\s+publish|twine|docker|podman|kubectl|helm|terraform|aws|gcloud|az|psql|mysql|sqlite3|redis-cli|mongosh?|systemctl|kill|pkill|apt(?:-get)?|sudo|mail|sendmail)\b|\brm\b[^;&|\n]*\s[/~]/;
const MOST_CALLS = 5;

/** Calls of the entries whose effects are not only in files of the folder, as words for a person; the oldest first. */
export function callsBeyondFiles(entries: readonly TranscriptEntry[]): string[] {
  return entries.flatMap((entry) => {
    if (entry.type !== "message" || entry.message.role !== "assistant") return [];
    return entry.message.content.flatMap((part) => {
      if (part.type !== "toolCall" || LOCAL.test(part.name)) return [];
      const command = part.arguments["command"] ?? part.arguments["cmd"];
      if (command === undefined) return [part.name];
      const text = typeof command === "string" ? command : JSON.stringify(command);
      return BEYOND.test(text) ? [`${part.name} ${oneLine(text, 80)}`] : [];
    });
  });
}

/** The sentence about these calls; empty without any. */
export function beyondText(calls: readonly string[]): string {
  if (calls.length === 0) return "";
  const more = calls.length - MOST_CALLS;
  const named = [...calls.slice(0, MOST_CALLS), ...(more > 0 ? [`${more} more`] : [])].join("; ");
  return `Effects outside of the folder remain: ${named}.`;
}
