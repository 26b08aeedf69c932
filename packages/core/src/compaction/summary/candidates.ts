/** Candidate lines of an extractive summary, each with a score; `extract.ts` chooses among them. */
import { inputWords, type InputData } from "@pagurus/contract/input-data";
import type { AgentMessage, AssistantMessage, UserMessage } from "@pagurus/contract/message";
import { readCalls, type CallRecord } from "./calls.ts";
import { excerpt, factLines } from "./text-excerpt.ts";
import { carriedFiles, fileLine, fileStates, isChanged, readFileLine } from "./touched-files.ts";
import { specificStrings } from "./specific-strings.ts";
import { callsOf, textOf } from "../message-text.ts";
import type { Pace } from "../../platform/pace.ts";
import {
  isAcknowledgement,
  isChoice,
  isConstraint,
  isDecision,
  isErrorLine,
  mayReportErrors,
  substance,
} from "./salience.ts";
import { resultLine } from "./result-words.ts";
import { readSections, type Section } from "./sections.ts";
import { onOneLine, sentencesOf, shorten } from "./sentences.ts";

export interface Candidate {
  section: Section;
  text: string;
  score: number;
  /** Lines with the same key are duplicates; the newest one is kept. */
  key: string;
  /** From the summary before; shortened where its section would have no line. */
  isCarried?: true;
}

/** Score bonus for the position of a message in the span. */
type Recency = (index: number) => number;

const MOST_SENTENCES = 12;
const OUTCOME_CHARS = 140;
const ERRORS_OF_A_CALL = 2;

function keyOf(section: Section, text: string): string {
  if (section === "Work done") return `${section}\n${text.split(" — ")[0]?.toLowerCase() ?? ""}`;
  if (section === "Files touched") return `${section}\n${readFileLine(text)?.path ?? text}`;
  // A sentence is listed once, whatever its section.
  return text.replace(/^User: /, "").toLowerCase();
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

/** Limits for one attachment: candidate lines, and characters read. */
const MOST_DATA_LINES = 6;
const MOST_DATA_CHARS = 4_000;

/** Lines of data attached to a message, each with its source. None of them counts as a request or a constraint. */
function dataLines({ source, text }: InputData, lineChars: number, boost: number): Candidate[] {
  const section = "From data";
  const count = text.split("\n").length;
  const named = `${shorten(source, 80)} (${count} ${count === 1 ? "line" : "lines"})`;
  const sentences = sentencesOf(excerpt(text, MOST_DATA_CHARS)).filter((line) => /\p{L}{2}/u.test(line));
  const lines = sentences.map((sentence, index) => {
    const line = `from ${shorten(source, 80)}: ${shorten(sentence, lineChars)}`;
    return candidate(section, line, 1 + boost / 2 + substance(sentence) + (index === 0 ? 1 : 0));
  });
  return [candidate(section, named, 5 + boost), ...best(lines, MOST_DATA_LINES)];
}

/** Lines of the user's own text, then of the attached data. */
function inputLines(message: UserMessage, lineChars: number, boost: number, recency: number): Candidate[] {
  const { words, data } = inputWords(message);
  return [
    ...userLines(words, lineChars, boost + recency),
    ...data.flatMap((item) => dataLines(item, lineChars, recency)),
  ];
}

/** Lines of a user's message: the whole text when it fits a line, else its best sentences, verbatim. */
function userLines(text: string, lineChars: number, boost: number): Candidate[] {
  const whole = onOneLine(text);
  if (whole === "") return [];
  if (isAcknowledgement(whole)) return [candidate("Requests", whole, 1 + boost / 4)];
  if (whole.length <= lineChars) {
    return [candidate("Requests", whole, 10 + boost + (isConstraint(whole) ? 2 : 0))];
  }
  // Skips lines that are only a tag, which frame text that a program pasted, and bare numbers.
  const untagged = sentencesOf(text).filter(
    (sentence) => !/^<[^<>]*>$/.test(sentence) && /\p{L}/u.test(sentence),
  );
  const sentences = untagged.map((sentence, index) => {
    const line = shorten(sentence, lineChars);
    if (isConstraint(sentence) || isChoice(sentence))
      return candidate("Decisions and constraints", `User: ${line}`, 9 + boost);
    const opening = index === 0 ? 3 : 0;
    return candidate("Requests", line, 6 + boost + opening + (/[?？]$/.test(sentence) ? 1 : 0));
  });
  if (sentences.length === 0) return [candidate("Requests", shorten(whole, lineChars), 8 + boost)];
  return best(sentences, MOST_SENTENCES);
}

/** Decisions of an assistant message; of the message that ends a turn also its other sentences, as answers. */
function assistantLines(
  message: AssistantMessage,
  final: boolean,
  lineChars: number,
  recency: number,
): Candidate[] {
  const lines = sentencesOf(textOf(message)).flatMap((sentence) => {
    const value = substance(sentence);
    if (value === 0) return [];
    const score = value + recency;
    const line = shorten(sentence, lineChars);
    if (isDecision(sentence)) return [candidate("Decisions and constraints", line, 4.5 + score)];
    return final ? [candidate("Answers", line, 3 + score)] : [];
  });
  return best(lines, MOST_SENTENCES);
}

function errorLines(record: CallRecord): string[] {
  if (record.state !== "failed" && !mayReportErrors(record.result)) return [];
  const lines = record.result
    .split("\n")
    .map(onOneLine)
    .filter((line) => line !== "");
  const found = [...new Set(lines.filter((line) => isErrorLine(line, record.state === "failed")))];
  if (found.length === 0 && record.state === "failed") found.push(...lines.slice(-1));
  return found.slice(0, ERRORS_OF_A_CALL);
}

/** A call with the error lines of its result. */
interface CheckedCall extends CallRecord {
  errors: string[];
}

function isClean(call: CheckedCall): boolean {
  return call.state === "ok" && call.errors.length === 0;
}

function errorSource(record: CallRecord): string {
  return shorten(record.label, 60);
}

function outcomeOf(record: CheckedCall): string {
  if (record.state === "open") return "no result recorded";
  if (record.state === "failed") return shorten(`failed: ${record.errors[0] ?? "no output"}`, OUTCOME_CHARS);
  if (record.kind === "edit" || record.kind === "read") return "ok";
  return resultLine(record.result, OUTCOME_CHARS) || "ok";
}

const WORK_SCORE = { edit: 5, command: 4, other: 2, read: 0.5 };

/** Label of a call; an edited file is named by the end of its path, since `Files touched` has it in full. */
function workLabel(record: CallRecord): string {
  if (record.kind !== "edit" || record.path === undefined) return record.label;
  return `${record.name} ${record.path.split(/[\\/]/).slice(-2).join("/")}`;
}

/** One line for each distinct call, with its last outcome and how often it was made. */
async function workCandidates(
  calls: readonly CheckedCall[],
  recencyOf: Recency,
  pace: Pace,
): Promise<Candidate[]> {
  const groups = new Map<string, { record: CheckedCall; times: number }>();
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

/** Limits for one result: candidate lines, and characters read. */
const FACTS_OF_A_CALL = 3;
const MOST_RESULT_CHARS = 20_000;

/** Facts from results, each with its call: those of a read file or a search appear nowhere else. */
async function resultFacts(
  calls: readonly CheckedCall[],
  lineChars: number,
  recencyOf: Recency,
  pace: Pace,
): Promise<Candidate[]> {
  const lines: Candidate[] = [];
  await pace.each(calls, (record) => {
    if (record.kind === "edit" || record.state !== "ok") return;
    const source = errorSource(record);
    for (const line of factLines(record.result.slice(0, MOST_RESULT_CHARS), FACTS_OF_A_CALL)) {
      const text = `from ${source}: ${shorten(onOneLine(line), Math.min(lineChars, OUTCOME_CHARS))}`;
      lines.push(candidate("From data", text, 1.5 + recencyOf(record.index)));
    }
  });
  return lines;
}

/** Errors that commands and failed calls printed; an error that is gone when the same call runs later scores low. */
async function troubleLines(
  calls: readonly CheckedCall[],
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

/** Files touched in the span, with their state; an earlier summary may add to the state. */
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
  "From data": 3,
  Earlier: 5,
  "Files touched": 3.5,
  "Exact identifiers": 0,
};

/** Score of an exact string in a request, and the number of them that count. */
const NAME_SCORE = 0.3;
const MOST_NAMES = 3;

/** Lines of the previous summary. Identifiers are ranked separately; errors that a later call no longer shows are dropped. */
function carriedLines(
  previousSummary: string,
  lineChars: number,
  calls: readonly CheckedCall[],
): Candidate[] {
  const fixedSources = [...new Set(calls.filter(isClean).map((call) => `(${errorSource(call)})`))];
  return readSections(previousSummary).flatMap(({ section, text }) => {
    if (section === "Exact identifiers") return [];
    if (section === "Errors" && fixedSources.some((source) => text.endsWith(source))) return [];
    const read = section === "Files touched" && text.endsWith("(read)") ? 2 : 0;
    const fixed = section === "Errors" && text.endsWith("; later without it)") ? 2 : 0;
    const acknowledged = section === "Requests" && isAcknowledgement(text) ? 8 : 0;
    const names = section === "Requests" ? Math.min(MOST_NAMES, specificStrings(text).length) : 0;
    const score = CARRIED_SCORE[section] + names * NAME_SCORE - read - fixed - acknowledged;
    const line = candidate(section, shorten(text, Math.max(lineChars, 400)), score);
    return [{ ...line, isCarried: true as const }];
  });
}

/** Removes duplicates: the later line replaces the earlier one and keeps the better score. */
async function withoutRepeats(candidates: readonly Candidate[], pace: Pace): Promise<Candidate[]> {
  const byKey = new Map<string, Candidate>();
  await pace.each(candidates, (item) => {
    const before = byKey.get(item.key);
    byKey.delete(item.key);
    byKey.set(item.key, before && before.score > item.score ? { ...item, score: before.score } : item);
  });
  return [...byKey.values()];
}

/** All candidate lines in text order. Built in slices. */
export async function candidatesOf(
  params: {
    messages: readonly AgentMessage[];
    previousSummary?: string | undefined;
    lineChars: number;
    resultFacts: boolean;
  },
  pace: Pace,
): Promise<Candidate[]> {
  const { messages, previousSummary, lineChars } = params;
  const recencyOf: Recency = (index) => (2 * (index + 1)) / Math.max(1, messages.length);
  const firstUser = messages.findIndex((message) => message.role === "user");
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  const calls: CheckedCall[] = [];
  await pace.each(await readCalls(messages, pace), (record) => {
    calls.push({ ...record, errors: errorLines(record) });
  });
  const lines = previousSummary === undefined ? [] : carriedLines(previousSummary, lineChars, calls);
  await pace.each(messages, (message, index) => {
    if (message.role === "user") {
      const boost = index === lastUser ? 4 : index === firstUser && previousSummary === undefined ? 3 : 0;
      lines.push(...inputLines(message, lineChars, boost, recencyOf(index) / 2));
    } else if (message.role === "assistant") {
      const final = callsOf(message).length === 0 && messages[index + 1]?.role !== "assistant";
      lines.push(...assistantLines(message, final, lineChars, recencyOf(index)));
    }
  });
  const all = lines.concat(
    await workCandidates(calls, recencyOf, pace),
    params.resultFacts ? await resultFacts(calls, lineChars, recencyOf, pace) : [],
    await troubleLines(calls, recencyOf, pace),
    await fileLines(calls, previousSummary, pace),
  );
  return await withoutRepeats(all, pace);
}
