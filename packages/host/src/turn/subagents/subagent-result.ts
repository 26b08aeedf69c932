/** The message to a parent's model about a child that has ended. The child's text is read from its own transcript. */
import { ERROR_CODES, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { ChildRecord } from "../../stores/files/subagent-log.ts";
import { answerText } from "./subagent-child.ts";
import type { SubagentResult } from "../agent/subagent-port.ts";

/** Characters of a child's answer that its parent sees. */
const MOST_CHARACTERS = 16_000;
/** Code of a child past its time-to-live. */
export const OVERDUE = "deadline_exceeded";

/** The result of an ended child; the same bytes each time. An unreadable answer is reported to `onFailure`. */
export async function readResult(
  store: SessionStore,
  record: ChildRecord,
  onFailure: (reason: string) => void,
): Promise<SubagentResult> {
  const { childSessionKey: key, answerEntryId, outcome, code } = record;
  const head = `<subagent_result session="${key}" outcome="${outcome}"${code === null ? "" : ` code="${code}"`}>`;
  const lines = [head];
  const sentence = endSentence(record);
  if (sentence !== undefined) lines.push(sentence);
  if (answerEntryId !== null) {
    try {
      lines.push(...quoted(await readChildAnswer(store, record, answerEntryId), key, answerEntryId));
    } catch (error) {
      onFailure(`the answer of the subagent ${key} cannot be read: ${toPagurusError(error).message}`);
      lines.push(`Its answer, entry ${answerEntryId} of its session, cannot be read.`);
    }
  }
  lines.push("</subagent_result>");
  return { childSessionKey: key, message: { role: "user", content: lines.join("\n") } };
}

function endSentence({ reason, outcome, code, answerEntryId }: ChildRecord): string | undefined {
  if (outcome === "completed") return answerEntryId === null ? "It ended without an answer." : undefined;
  const last = answerEntryId === null ? "" : " The last that it said:";
  if (reason === "swept" && code === OVERDUE) return `Its time was over before it had finished.${last}`;
  if (reason === "swept") return `The process that ran it ended before it had finished.${last}`;
  if (outcome === "aborted") return `It was aborted.${last}`;
  const known: Record<string, string> = ERROR_CODES;
  return `It failed: ${known[code ?? "internal"] ?? code}${last}`;
}

async function readChildAnswer(store: SessionStore, record: ChildRecord, entryId: string): Promise<string> {
  const reader = store.openReader(record.childSessionKey, record.childSessionId);
  try {
    const entry = await reader.cursor.get(entryId);
    if (entry?.type !== "message")
      throw new PagurusError("entry_not_found", `its session has no message ${entryId}`);
    return answerText(entry.message);
  } finally {
    reader.close();
  }
}

/** Escapes the frame's tags: an answer must neither end its frame nor open one. */
function quoted(text: string, key: string, entryId: string): string[] {
  const cut = wholeCharacters(text, MOST_CHARACTERS);
  const safe = cut.replaceAll(/<(?=\/?subagent_result)/g, "&lt;");
  if (cut.length === text.length) return [safe];
  return [
    safe,
    `[The first ${cut.length} of ${text.length} characters; the whole answer is entry ${entryId} of the session ${key}.]`,
  ];
}

function wholeCharacters(text: string, most: number): string {
  if (text.length <= most) return text;
  const code = text.charCodeAt(most - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? most - 1 : most);
}
