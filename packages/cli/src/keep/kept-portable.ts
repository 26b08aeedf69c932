/** A kept conversation as one that any program's session can be made of. */
import { defined } from "@pagurus/core/data/defined";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { asString, parseJson, recordOf } from "@pagurus/core/data/record-fields";
import type { Archive, FileRow } from "@pagurus/keeper/archive/archive";
import { compressedLines } from "@pagurus/keeper/formats/read-records";
import { itemsOf, type Portable } from "@pagurus/keeper/native/portable";
import { readOpenCode } from "@pagurus/keeper/native/read-opencode";
import { takenAt } from "@pagurus/keeper/programs/taken-at";
import type { KeptWords } from "@pagurus/keeper/words/kept-words";
import type { ConversationRow } from "@pagurus/keeper/words/words-database";
import { usageError } from "../cli-failure.ts";

/** Formats of files that the importers read. */
const DRAWN: ReadonlySet<string> = new Set(["claude-code", "codex", "pi"]);
/** Most files of a thread of Codex that begins in others. */
const MOST_PARTS = 100;

interface PortableQuestion {
  words: KeptWords;
  conversation: ConversationRow;
  env: Readonly<Record<string, string | undefined>>;
  /** Of its file; default: the newest. */
  version: number | undefined;
  /** Folder for copies, which exists. */
  copies: string;
}

/** Throws `usage_invalid` for a conversation of a program whose messages cannot be carried to another one. */
export async function keptPortable(question: PortableQuestion): Promise<Portable> {
  const { words, conversation, env, copies } = question;
  const files = words.filesOf(conversation.id).map((id) => words.archive.file(id));
  const formatOf = ({ agent, path }: FileRow): string => takenAt(agent, path, env).format ?? "";
  const drawn = files.find((file) => DRAWN.has(formatOf(file)));
  const database = files.find((file) => file.agent === "opencode" && formatOf(file) === "database");
  const folder = mkdtempSync(join(copies, "continued-"));
  try {
    if (drawn) return await drawnPortable(question, drawn, folder);
    if (database) {
      const version = versionOf(words.archive, database, question.version);
      const bytes = words.archive.bytes(database.id, version);
      const read = readOpenCode(bytes, conversation.native, join(folder, "database"));
      if (read) return read;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  throw usageError(
    `The conversation ${conversation.id} is one of ${conversation.agent}; those of claude-code, codex, opencode (its database) and pi can be continued.`,
  );
}

function versionOf(archive: Archive, file: FileRow, wanted: number | undefined): number {
  const version = wanted ?? file.version;
  if (archive.versions(file.id).some((each) => each.version === version)) return version;
  throw usageError(
    `The kept file ${file.path} has the versions 1 to ${file.version}, and no version ${version}.`,
  );
}

async function drawnPortable(
  { words: { archive }, conversation, version }: PortableQuestion,
  file: FileRow,
  folder: string,
): Promise<Portable> {
  // Where the reader of Codex looks for the files that a thread begins in.
  const sessions = join(folder, "sessions");
  mkdirSync(sessions);
  const path = put(archive, file, versionOf(archive, file, version), sessions);
  if (file.agent === "codex") putBases(archive, file, sessions);
  const { drawFile } = await import("@pagurus/importers/sessions/draw-file");
  const parts: Uint8Array[] = [];
  await drawFile(path, (bytes) => void parts.push(Buffer.from(bytes)));
  const entries = Buffer.concat(parts)
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TranscriptEntry);
  const { items, title } = itemsOf(entries);
  const name = title ?? conversation.title ?? undefined;
  const { agent, folder: cwd } = conversation;
  return { agent, cwd: cwd ?? "", items, ...defined({ title: name }) };
}

function put(archive: Archive, file: FileRow, version: number, folder: string): string {
  const bytes = archive.bytes(file.id, version);
  const lines = compressedLines(file.path, bytes);
  const name = basename(file.path).replace(/\.(?:zst|gz)$/, "");
  const path = join(folder, name);
  const content = lines ? Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])) : bytes;
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** The files of Codex in which the thread begins. */
function putBases(archive: Archive, file: FileRow, folder: string): void {
  let base = baseOf(archive, file);
  for (let count = 0; base !== undefined && count < MOST_PARTS; count += 1) {
    const ends = [`-${base}.jsonl`, `_${base}.jsonl`];
    const next = archive
      .files()
      .find(
        ({ agent, path }) =>
          agent === "codex" && ends.some((end) => path.replace(/\.(?:zst|gz)$/, "").endsWith(end)),
      );
    if (!next) return;
    put(archive, next, next.version, folder);
    base = baseOf(archive, next);
  }
}

function baseOf(archive: Archive, file: FileRow): string | undefined {
  const head = archive.bytes(file.id, file.version, 0, 256 * 1024).toString("utf8");
  const meta = recordOf(parseJson(head.slice(0, head.indexOf("\n"))));
  return asString(recordOf(recordOf(meta["payload"])["history_base"])["thread_id"]);
}
