/**
 * Full text index of messages: user messages, the assistant's text, tool results. Runs of scripts that are written without spaces are
 * indexed by pairs of characters, so that a word of two is found inside a sentence.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { parseEntry } from "../transcript/transcript-entry.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { entryById, sessionRow } from "./index-rows.ts";
import { linesForward } from "../transcript/transcript-lines.ts";

/** Characters of one message that are indexed; a limit only so that no commit has to wait for it. */
const TEXT_LIMIT = 16 * 1024 * 1024;
const SCRIPTS = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"];
const CLASS = `[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]`;
const UNSPACED = new RegExp(`${CLASS}+`, "gu");
const UNSPACED_CHARACTER = new RegExp(`^${CLASS}$`, "u");

export function messageText(message: AgentMessage): string {
  const { content } = message;
  if (typeof content === "string") return content.slice(0, TEXT_LIMIT);
  let text = "";
  for (const part of content) {
    if (part.type !== "text" || typeof part.text !== "string") continue;
    text += text === "" ? part.text : `\n${part.text}`;
    if (text.length >= TEXT_LIMIT) break;
  }
  return text.slice(0, TEXT_LIMIT);
}

function pairs(run: string, single: boolean): string {
  const characters = Array.from(run);
  const tokens = characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
  // The last character alone lets a query of one character match.
  if (single || tokens.length === 0) tokens.push(characters.at(-1) ?? "");
  return ` ${tokens.join(" ")} `;
}

/** Scripts without spaces as pairs of characters, between spaces. */
export function indexedText(text: string): string {
  return text.replace(UNSPACED, (run) => pairs(run, true));
}

/** The same for a word of a query. */
export function queryText(word: string): string {
  return word.replace(UNSPACED, (run) => pairs(run, false)).trim();
}

/** A word that is found as the beginning of a pair. */
export function isUnspacedCharacter(word: string): boolean {
  return UNSPACED_CHARACTER.test(word);
}

/** Lower case without diacritics; has the length of its source only for most scripts. */
export function fold(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
}

/** The terms of a user's query as quoted FTS5 phrases: nothing a user types is query syntax. */
export function queryTerms(query: string): { word: string; phrase: string }[] {
  const words = query.normalize("NFC").match(/[^\s"]+/gu) ?? [];
  const terms = new Map<string, string>();
  for (const word of words.slice(0, 32)) {
    if (!/[\p{L}\p{N}\p{Co}]/u.test(word)) continue;
    terms.set(word, `"${queryText(word).replaceAll("\0", "")}"${isUnspacedCharacter(word) ? "*" : ""}`);
  }
  return [...terms].map(([word, phrase]) => ({ word, phrase }));
}

/** The token of a session in the index, to limit a search to some of them. */
export function sessionToken(num: number): string {
  return `s${num}`;
}

/** Indexes the words of one message; once for each row of `entries`. */
export function insertWords(
  db: Database,
  { num, session }: { num: number; session: number },
  message: AgentMessage,
): void {
  const text = messageText(message);
  if (text === "") return;
  db.run(
    "INSERT INTO words (rowid, t, s) VALUES (?, ?, ?)",
    num,
    indexedText(text.normalize("NFC")),
    sessionToken(session),
  );
}

/**
 * Indexes the words of lines, in file order and at most once: lines before the mark are skipped. Call in a transaction.
 */
export function indexWords(
  db: Database,
  sessionId: string,
  lines: Iterable<{ offset: number; length: number; entry: TranscriptEntry | undefined }>,
): void {
  const row = sessionRow(db, sessionId);
  if (!row) return;
  let mark = row.words_bytes;
  for (const { offset, length, entry } of lines) {
    if (offset < mark) continue;
    mark = offset + length;
    if (entry?.type !== "message" || messageText(entry.message) === "") continue;
    const known = entryById(db, row.num, entry.id);
    // A second line with the same id is unreadable, and not this row.
    if (known?.offset === offset) insertWords(db, known, entry.message);
  }
  if (mark !== row.words_bytes) db.run("UPDATE sessions SET words_bytes = ? WHERE num = ?", mark, row.num);
}

/** Lines between the two marks of a session, as `indexWords` expects them. Ends with the line that reaches `budget` bytes. */
export function* wordLines(
  fd: number,
  from: number,
  to: number,
  budget = Number.MAX_SAFE_INTEGER,
): Generator<{ offset: number; length: number; entry: TranscriptEntry | undefined }> {
  for (const { offset, length, bytes } of linesForward(fd, from, to)) {
    const parsed = parseEntry(bytes);
    yield { offset, length, entry: "entry" in parsed ? parsed.entry : undefined };
    // Before the next line is read, which may be long.
    if (offset + length - from >= budget) return;
  }
}
