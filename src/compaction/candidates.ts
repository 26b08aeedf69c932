/** Lines that a summary may hold, each with a score; `extract.ts` chooses among them. */
import type { AgentMessage, AssistantMessage } from "../contract/message.ts";
import { readCalls, type CallRecord } from "./calls.ts";
import { carriedFiles, fileLine, fileStates, isChanged, readFileLine } from "./files.ts";
import { callsOf, textOf } from "./message-text.ts";
import type { Pace } from "../platform/pace.ts";
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

/** What a line gains by the place of its message in the span. */
type Recency = (index: number) => number;

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

/** A call with the errors that its result tells. */
interface ToldCall extends CallRecord {
  errors: string[];
}

function isClean(call: ToldCall): boolean {
  return call.state === "ok" && call.errors.length === 0;
}

function errorSource(record: CallRecord): string {
  return shorten(record.label, 60);
}

function outcomeOf(record: ToldCall): string {
  if (record.state === "open") return "no result recorded";
  if (record.state === "failed") return shorten(`failed: ${record.errors[0] ?? "no output"}`, OUTCOME_CHARS);
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
async function workLines(calls: readonly ToldCall[], recencyOf: Recency, pace: Pace): Promise<Candidate[]> {
  const groups = new Map<string, { record: ToldCall; times: number }>();
  await pace.each(calls, (record) => {
    const before = groups.get(record.topic);
    const times = before?.record.label === record.label ? before.times + 1 : 1;
    groups.delete(record.topic);
    groups.set(record.topic, { record, times });
  });
  const lines: Candidate[] = [];
  await pace.each(groups.values(), ({ record, times }) => {
    if (record.isOpenReport) return;
    const repeated = times > 1 ? ` (${times} times, the last one told)` : "";
    const state = record.state === "ok" ? 0 : 1.5;
    const score = WORK_SCORE[record.kind] + state + recencyOf(record.index);
    lines.push(candidate("Work done", `${workLabel(record)} — ${outcomeOf(record)}${repeated}`, score));
  });
  return lines;
}

/** Errors that commands and failed calls printed; one that the same call later did without weighs little. */
async function troubleLines(
  calls: readonly ToldCall[],
  recencyOf: Recency,
  pace: Pace,
): Promise<Candidate[]> {
  const lastOk = new Map<string, number>();
  await pace.each(calls, (record) => {
    if (isClean(record)) lastOk.set(record.label, record.index);
  });
  const lines: Candidate[] = [];
  await pace.each(calls, (record) => {
    // Sources and search results are full of the word "error".
    if (record.state !== "failed" && record.kind !== "command") return;
    const resolved = (lastOk.get(record.label) ?? -1) > record.index;
    for (const line of record.errors) {
      const source = `${errorSource(record)}${resolved ? "; later without it" : ""}`;
      const text = `${shorten(line, OUTCOME_CHARS)} (${source})`;
      lines.push(candidate("Errors", text, (resolved ? 1.5 : 6) + recencyOf(record.index)));
    }
  });
  return lines;
}

/** Files of the span with their state, which an earlier summary may know better than the last look at one. */
async function fileLines(
  records: readonly CallRecord[],
  previousSummary: string | undefined,
  pace: Pace,
): Promise<Candidate[]> {
  const touched = await fileStates(records, new Map(), pace);
  const states = await fileStates(records, carriedFiles(previousSummary), pace);
  const lines: Candidate[] = [];
  await pace.each(touched.keys(), (path, index) => {
    const state = states.get(path);
    if (!state) return;
    const recency = (2 * (index + 1)) / touched.size;
    lines.push(candidate("Files touched", fileLine(path, state), (isChanged(state) ? 5 : 1.5) + recency));
  });
  return lines;
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
function carriedLines(previousSummary: string, lineChars: number, calls: readonly ToldCall[]): Candidate[] {
  const fixedSources = [...new Set(calls.filter(isClean).map((call) => `(${errorSource(call)})`))];
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
async function withoutRepeats(candidates: readonly Candidate[], pace: Pace): Promise<Candidate[]> {
  const byKey = new Map<string, Candidate>();
  await pace.each(candidates, (item) => {
    const before = byKey.get(item.key);
    byKey.delete(item.key);
    byKey.set(item.key, before && before.score > item.score ? { ...item, score: before.score } : item);
  });
  return [...byKey.values()];
}

/** All lines, in the order they would stand in. Made in slices. */
export async function candidatesOf(
  params: {
    messages: readonly AgentMessage[];
    previousSummary?: string | undefined;
    lineChars: number;
  },
  pace: Pace,
): Promise<Candidate[]> {
  const { messages, previousSummary, lineChars } = params;
  const recencyOf: Recency = (index) => (2 * (index + 1)) / Math.max(1, messages.length);
  const firstUser = messages.findIndex((message) => message.role === "user");
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  const calls: ToldCall[] = [];
  await pace.each(await readCalls(messages, pace), (record) => {
    calls.push({ ...record, errors: errorLines(record) });
  });
  const lines = previousSummary === undefined ? [] : carriedLines(previousSummary, lineChars, calls);
  await pace.each(messages, (message, index) => {
    if (message.role === "user") {
      const boost = index === lastUser ? 4 : index === firstUser && previousSummary === undefined ? 3 : 0;
      lines.push(...userLines(textOf(message), lineChars, boost + recencyOf(index) / 2));
    } else if (message.role === "assistant") {
      const final = callsOf(message).length === 0 && messages[index + 1]?.role !== "assistant";
      lines.push(...assistantLines(message, final, lineChars, recencyOf(index)));
    }
  });
  const all = lines.concat(
    await workLines(calls, recencyOf, pace),
    await troubleLines(calls, recencyOf, pace),
    await fileLines(calls, previousSummary, pace),
  );
  return await withoutRepeats(all, pace);
}
