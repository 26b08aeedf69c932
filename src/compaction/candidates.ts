/** Lines that a summary may hold, each with a score; `extract.ts` chooses among them. */
import type { AgentMessage, AssistantMessage } from "../contract/message.ts";
import { callRecords, type CallRecord } from "./calls.ts";
import { carriedFiles, fileLine, fileStates, isChanged, readFileLine } from "./files.ts";
import { callsOf, textOf } from "./message-text.ts";
import { isAcknowledgement, isConstraint, isDecision, isErrorLine, substance } from "./salience.ts";
import { readSections, type Section } from "./sections.ts";
import { oneLine, sentencesOf, shorten } from "./sentences.ts";

export interface Candidate {
  section: Section;
  text: string;
  score: number;
  /** Lines with the same key say the same thing; the newest one stands. */
  key: string;
}

const MOST_SENTENCES = 12;
const OUTCOME_CHARS = 140;
const ERRORS_OF_A_CALL = 2;

function keyOf(section: Section, text: string): string {
  if (section === "Work done") return `${section}\n${text.split(" — ")[0]?.toLowerCase() ?? ""}`;
  if (section === "Files touched") return `${section}\n${readFileLine(text)?.path ?? text}`;
  // One sentence is not told twice, wherever it was found.
  return text.toLowerCase();
}

function candidate(section: Section, text: string, score: number): Candidate {
  return { section, text, score, key: keyOf(section, text) };
}

function best(candidates: readonly Candidate[], limit: number): Candidate[] {
  const ranked = candidates.map((item, index) => ({ item, index }));
  ranked.sort((a, b) => b.item.score - a.item.score || a.index - b.index);
  const kept = new Set(ranked.slice(0, limit).map((entry) => entry.item));
  return candidates.filter((item) => kept.has(item));
}

/** A user's message: whole where it fits a line, else its telling sentences. Their own words in any case. */
function userLines(text: string, lineChars: number, boost: number): Candidate[] {
  const whole = oneLine(text);
  if (whole === "") return [];
  if (isAcknowledgement(whole)) return [candidate("Requests", whole, 1 + boost / 4)];
  if (whole.length <= lineChars) {
    return [candidate("Requests", whole, 10 + boost + (isConstraint(whole) ? 2 : 0))];
  }
  // A line that is only a tag frames what a program pasted.
  const telling = sentencesOf(text).filter((sentence) => !/^<[^<>]*>$/.test(sentence));
  const sentences = telling.map((sentence, index) => {
    const line = shorten(sentence, lineChars);
    if (isConstraint(sentence)) return candidate("Decisions and constraints", `User: ${line}`, 9 + boost);
    const opening = index === 0 ? 3 : 0;
    return candidate("Requests", line, 6 + boost + opening + (/[?？]$/.test(sentence) ? 1 : 0));
  });
  if (sentences.length === 0) return [candidate("Requests", shorten(whole, lineChars), 8 + boost)];
  return best(sentences, MOST_SENTENCES);
}

/** Decisions anywhere; of the message that ends a turn also what it reports. */
function assistantLines(
  message: AssistantMessage,
  final: boolean,
  lineChars: number,
  recency: number,
): Candidate[] {
  const lines = sentencesOf(textOf(message)).flatMap((sentence) => {
    const told = substance(sentence);
    if (told === 0) return [];
    const score = told + recency;
    const line = shorten(sentence, lineChars);
    if (isDecision(sentence)) return [candidate("Decisions and constraints", line, 4.5 + score)];
    return final ? [candidate("Answers", line, 3 + score)] : [];
  });
  return best(lines, MOST_SENTENCES);
}

function errorLines(record: CallRecord): string[] {
  const lines = record.result
    .split("\n")
    .map(oneLine)
    .filter((line) => line !== "");
  const found = [...new Set(lines.filter((line) => isErrorLine(line, record.state === "failed")))];
  if (found.length === 0 && record.state === "failed") found.push(...lines.slice(-1));
  return found.slice(0, ERRORS_OF_A_CALL);
}

function isClean(record: CallRecord): boolean {
  return record.state === "ok" && errorLines(record).length === 0;
}

function errorSource(record: CallRecord): string {
  return shorten(record.label, 60);
}

function outcomeOf(record: CallRecord): string {
  if (record.state === "open") return "no result recorded";
  if (record.state === "failed")
    return shorten(`failed: ${errorLines(record)[0] ?? "no output"}`, OUTCOME_CHARS);
  if (record.kind !== "command") return "ok";
  const last = record.result.trimEnd().split("\n").at(-1) ?? "";
  return last.trim() === "" ? "ok" : shorten(oneLine(last), OUTCOME_CHARS);
}

const WORK_SCORE = { edit: 5, command: 4, other: 2, read: 0.5 };

/** A call as a line: of an edited file the end of its path, since `Files touched` has it in full. */
function workLabel(record: CallRecord): string {
  if (record.kind !== "edit" || record.path === undefined) return record.label;
  return `${record.name} ${record.path.split(/[\\/]/).slice(-2).join("/")}`;
}

/** One line for each different call, with its last outcome and how often it was made. */
function workLines(records: readonly CallRecord[], recencyOf: (index: number) => number): Candidate[] {
  const groups = new Map<string, { record: CallRecord; times: number }>();
  for (const record of records) {
    const times = (groups.get(record.label)?.times ?? 0) + 1;
    groups.delete(record.label);
    groups.set(record.label, { record, times });
  }
  return [...groups.values()].map(({ record, times }) => {
    const repeated = times > 1 ? ` (${times} times, the last one told)` : "";
    const state = record.state === "ok" ? 0 : 1.5;
    const score = WORK_SCORE[record.kind] + state + recencyOf(record.index);
    return candidate("Work done", `${workLabel(record)} — ${outcomeOf(record)}${repeated}`, score);
  });
}

/** Errors that commands and failed calls printed; one that the same call later did without weighs little. */
function troubleLines(records: readonly CallRecord[], recencyOf: (index: number) => number): Candidate[] {
  const lastOk = new Map<string, number>();
  for (const record of records) {
    if (isClean(record)) lastOk.set(record.label, record.index);
  }
  return records.flatMap((record) => {
    // Sources and search results are full of the word "error".
    if (record.state !== "failed" && record.kind !== "command") return [];
    const resolved = (lastOk.get(record.label) ?? -1) > record.index;
    return errorLines(record).map((line) => {
      const source = `${errorSource(record)}${resolved ? "; later without it" : ""}`;
      const text = `${shorten(line, OUTCOME_CHARS)} (${source})`;
      return candidate("Errors", text, (resolved ? 1.5 : 6) + recencyOf(record.index));
    });
  });
}

/** Files of the span with their state, which an earlier summary may know better than the last look at one. */
function fileLines(records: readonly CallRecord[], previousSummary: string | undefined): Candidate[] {
  const touched = [...fileStates(records).keys()];
  const states = fileStates(records, carriedFiles(previousSummary));
  return touched.flatMap((path, index) => {
    const state = states.get(path);
    if (!state) return [];
    const recency = (2 * (index + 1)) / touched.length;
    return [candidate("Files touched", fileLine(path, state), (isChanged(state) ? 5 : 1.5) + recency)];
  });
}

const CARRIED_SCORE: Record<Section, number> = {
  Requests: 9,
  "Decisions and constraints": 6,
  Answers: 3,
  "Work done": 3.5,
  Errors: 3,
  Earlier: 5,
  "Files touched": 3.5,
  "Exact identifiers": 0,
};

/** Lines of the previous summary; identifiers are ranked apart, errors that a later call no longer shows go. */
function carriedLines(
  previousSummary: string,
  lineChars: number,
  records: readonly CallRecord[],
): Candidate[] {
  const fixedSources = records.filter(isClean).map((record) => `(${errorSource(record)})`);
  return readSections(previousSummary).flatMap(({ section, text }) => {
    if (section === "Exact identifiers") return [];
    if (section === "Errors" && fixedSources.some((source) => text.endsWith(source))) return [];
    const read = section === "Files touched" && text.endsWith("(read)") ? 2 : 0;
    const fixed = section === "Errors" && text.endsWith("; later without it)") ? 2 : 0;
    const acknowledged = section === "Requests" && isAcknowledgement(text) ? 8 : 0;
    const score = CARRIED_SCORE[section] - read - fixed - acknowledged;
    return [candidate(section, shorten(text, Math.max(lineChars, 400)), score)];
  });
}

/** A line said again replaces its earlier wording, and keeps the better of the two scores. */
function withoutRepeats(candidates: readonly Candidate[]): Candidate[] {
  const byKey = new Map<string, Candidate>();
  for (const item of candidates) {
    const before = byKey.get(item.key);
    byKey.delete(item.key);
    byKey.set(item.key, before && before.score > item.score ? { ...item, score: before.score } : item);
  }
  return [...byKey.values()];
}

/** All lines, in the order they would stand in. */
export function candidatesOf(params: {
  messages: readonly AgentMessage[];
  previousSummary?: string | undefined;
  lineChars: number;
}): Candidate[] {
  const { messages, previousSummary, lineChars } = params;
  const recencyOf = (index: number): number => (2 * (index + 1)) / Math.max(1, messages.length);
  const users = messages.flatMap((message, index) => (message.role === "user" ? [index] : []));
  const records = callRecords(messages);
  const lines = previousSummary === undefined ? [] : carriedLines(previousSummary, lineChars, records);
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") {
      const boost = index === users.at(-1) ? 4 : index === users[0] && previousSummary === undefined ? 3 : 0;
      lines.push(...userLines(textOf(message), lineChars, boost + recencyOf(index) / 2));
    } else if (message.role === "assistant") {
      const final = callsOf(message).length === 0 && messages[index + 1]?.role !== "assistant";
      lines.push(...assistantLines(message, final, lineChars, recencyOf(index)));
    }
  }
  lines.push(
    ...workLines(records, recencyOf),
    ...troubleLines(records, recencyOf),
    ...fileLines(records, previousSummary),
  );
  return withoutRepeats(lines);
}
