/** Collects facts from the messages that leave the context, and carries them over. Done by code, never by a model. */
import { callRecords, type CallRecord } from "@pagurus/core/compaction/summary/calls";
import {
  carriedFiles,
  fileLine,
  fileStates,
  readFileLine,
  type FileState,
} from "@pagurus/core/compaction/summary/touched-files";
import { textOf } from "@pagurus/core/compaction/message-text";
import { shownWords } from "./shown-words.ts";
import { isAcknowledgement, isChoice, isConstraint } from "@pagurus/core/compaction/summary/salience";
import { failureLine, resultLine } from "@pagurus/core/compaction/summary/result-words";
import { readSections } from "@pagurus/core/compaction/summary/sections";
import { onOneLine, sentencesOf, shorten } from "@pagurus/core/compaction/summary/sentences";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Pace } from "@pagurus/core/platform/pace";
import { NO_FACTS, type Facts } from "../epoch.ts";
import { isRecall } from "../store/search/recall-names.ts";
import { readFileList } from "./file-list.ts";
import { afterMessages } from "./rule-history.ts";
import { gatherStrings } from "./strings.ts";
import { planAfter, troublesAfter } from "./trouble.ts";

const MOST_FILES = 600;
const MOST_WORK = 120;
const MOST_EFFECTS = 200;
const MOST_REPORTS = 12;
const MOST_RULES = 80;
export const MOST_USERS = 400;
const LINE_CHARS = 240;
const OUTCOME_CHARS = 100;
const ANSWER_CHARS = 1_600;

interface Leaving {
  /** Messages in order, without fragments. */
  messages: readonly AgentMessage[];
  /** Messages that are read for lasting rules; default: the same. */
  spoken?: readonly AgentMessage[];
  /** Turns of the span that failed or were aborted, one line each. */
  badEnds: readonly string[];
  /** The summary ends inside a turn, so all work since its input must be listed. */
  inTurn: boolean;
}

function isNotice(message: AgentMessage): boolean {
  return message.role !== "user" || shownWords(message).trim() === "";
}

function outcomeOf(record: CallRecord): string {
  if (record.state === "failed") return `failed: ${failureLine(record.result, OUTCOME_CHARS - 8)}`;
  const words = record.kind === "command" ? resultLine(record.result, OUTCOME_CHARS - 6) : "";
  return words === "" ? "done" : `done: ${words}`;
}

/**
 * Finished calls, each distinct one once, with its last outcome. Reads change nothing and are skipped; the list of files
 * has the state of edited files.
 */
function workLines(records: readonly CallRecord[]): string[] {
  const groups = new Map<string, { record: CallRecord; times: number }>();
  for (const record of records) {
    if (record.kind === "read" || record.state === "open" || record.isOpenReport) continue;
    if (record.kind === "edit" && record.path !== undefined) continue;
    if (isRecall(record.name)) continue;
    const before = groups.get(record.topic);
    const times = before?.record.label === record.label ? before.times + 1 : 1;
    groups.delete(record.topic);
    groups.set(record.topic, { record, times });
  }
  return [...groups.values()].map(({ record, times }) => {
    const often = times > 1 ? ` (${times} times)` : "";
    return shorten(`${record.label}${often} — ${outcomeOf(record)}`, LINE_CHARS);
  });
}

/** Read-only commands: on files, on the history, builds and tests. */
const READ_ONLY_COMMANDS =
  /^(?:(?:cd|ls|cat|head|tail|grep|egrep|rg|find|wc|pwd|which|tree|file|stat|du|df|ps|date|sort|uniq|cut|tr|awk|echo|diff|jq|true|sleep|test|pytest|tsc|eslint|jest|vitest)\b|sed -n\b|git (?:status|log|diff|show|branch|blame|ls-files|grep|rev-parse)\b|(?:npm|pnpm|yarn|bun|make|cargo|go|python3? -m|npx|uv run|poetry run)(?: run)? (?:test|tests|lint|check|build|typecheck|vet|clippy|pytest|unittest|tsc|eslint|jest|vitest|mypy|ruff)\b)/;
/** Output redirections that change nothing. */
const HARMLESS_REDIRECTION = /\d?>(?:&\d|\s*\/dev\/null)/g;

/** True when every part of the command line is read-only and no part writes a file. */
function onlyLooks(command: string): boolean {
  const line = command.replaceAll(HARMLESS_REDIRECTION, " ");
  if (/[><`]|\$\(|-exec\b|-delete\b/.test(line)) return false;
  return line
    .split(/&&|\|\||[;|\n]/)
    .map((part) => part.trim())
    .every((part) => part === "" || READ_ONLY_COMMANDS.test(part));
}

/** Read-only tools, by the first word of their names. */
const LOOKING_TOOL =
  /^(?:grep|glob|search|find|list|get|fetch|look|show|describe|query|web|context|ask|count|check|inspect)(?![a-z])|(?:search|fetch|output)$/i;

function mayChange({ kind, name, command }: CallRecord): boolean {
  if (kind === "command" && command !== undefined) return !onlyLooks(command);
  return !LOOKING_TOOL.test(name);
}

/** Open reports after these calls. */
function reportsAfter(before: Facts["reports"], records: readonly CallRecord[]): Facts["reports"] {
  const open = new Map(before.map((report) => [report.topic, report.label]));
  for (const { topic, label, isOpenReport, state } of records) {
    if (state === "failed") continue;
    open.delete(topic);
    if (isOpenReport) open.set(topic, label);
  }
  return [...open].slice(-MOST_REPORTS).map(([topic, label]) => ({ topic, label }));
}

function mergeLines(before: readonly string[], fresh: readonly string[], most: number): string[] {
  const lines = new Set(before);
  for (const line of fresh) {
    lines.delete(line);
    lines.add(line);
  }
  return [...lines].slice(-most);
}

interface Rename {
  from: string;
  to: string;
}

/** Renames by plain `mv` and `git mv` of one path, in a command without `cd`, pipes or alternatives, so that every part succeeded. */
function renamesOf({ command, state }: CallRecord): Rename[] {
  if (command === undefined || state !== "ok" || /[;|\n<>*?]|\bcd\b/.test(command)) return [];
  return command.split("&&").flatMap((part) => {
    const words = part.trim().split(/\s+/);
    if (words[0] === "git") words.shift();
    if (words.shift() !== "mv") return [];
    const [from, to, ...more] = words
      .filter((word) => !word.startsWith("-"))
      .map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
    if (from === undefined || to === undefined || more.length > 0) return [];
    const source = from.replace(/\/+$/, "");
    return [{ from: source, to: to.endsWith("/") ? to + source.slice(source.lastIndexOf("/") + 1) : to }];
  });
}

/** Applies a rename; a folder moves its known files along. Files known at the new place were put there by the agent. */
function applyRename(states: Map<string, FileState>, { from, to }: Rename): void {
  const moved = [...states.keys()].filter((path) => path.startsWith(`${from}/`));
  for (const path of moved.length > 0 ? moved : [from]) {
    states.delete(path);
    states.set(path, { operation: "deleted" });
    const target = to + path.slice(from.length);
    states.delete(target);
    states.set(target, { operation: "written" });
  }
}

/** Lines of all known files, and of those that these calls touched. */
async function fileLines(
  before: readonly string[],
  records: readonly CallRecord[],
  pace: Pace,
): Promise<{ all: string[]; touched: string[] }> {
  const known = new Map<string, FileState>();
  for (const line of before) {
    const file = readFileLine(line);
    if (file) known.set(file.path, file.state);
  }
  // A file that is only removed appears in no other call.
  for (const record of records) {
    if (record.command === undefined || record.state !== "ok") continue;
    const removed = /^(?:git )?rm (?:-[a-zA-Z]+ )*([^\s;&|<>*?"'$`]+)$/.exec(record.command.trim())?.[1];
    if (removed !== undefined && !known.has(removed)) known.set(removed, { operation: "read" });
  }
  const named = new Set(records.map(({ path }) => path));
  let states = new Map(known);
  let from = 0;
  for (const [index, record] of records.entries()) {
    const renames = renamesOf(record);
    if (renames.length === 0) continue;
    states = await fileStates(records.slice(from, index + 1), states, pace);
    for (const rename of renames) applyRename(states, rename);
    from = index + 1;
  }
  states = await fileStates(records.slice(from), states, pace);
  const all: string[] = [];
  const touched: string[] = [];
  for (const [path, state] of [...states].slice(-MOST_FILES)) {
    const line = fileLine(path, state);
    all.push(line);
    if (named.has(path) || known.get(path) !== state) touched.push(line);
  }
  return { all, touched };
}

/** The agent's newest informative text. */
function lastAnswerOf(messages: readonly AgentMessage[]): string {
  const last = messages.findLast((message) => message.role === "assistant" && textOf(message).trim() !== "");
  return last ? shorten(onOneLine(textOf(last)), ANSWER_CHARS) : "";
}

function openLines(records: readonly CallRecord[], badEnds: readonly string[]): string[] {
  const open = records.filter(({ state }) => state === "open");
  return [...open.map(({ label }) => `${label} — no result was recorded`), ...badEnds].slice(-12);
}

/** Facts that the removed messages add: user entries, work lines, lines of touched files, errors that are new or have ended. */
export type News = Pick<Facts, "users" | "work" | "files" | "troubles">;

/** Facts of everything before the new cut, from those before the old cut and the removed messages. */
export async function gatherFacts(before: Facts, leaving: Leaving, pace: Pace): Promise<Facts> {
  return (await gatherNews(before, leaving, pace)).facts;
}

/** The same, with the added part. */
export async function gatherNews(
  before: Facts,
  leaving: Leaving,
  pace: Pace,
): Promise<{ facts: Facts; news: News }> {
  const { messages } = leaving;
  const records = callRecords(messages);
  const newest = messages.findLastIndex((message) => message.role === "user");
  const older = records.filter(({ index }) => index < newest);
  const newer = records.filter(({ index }) => index >= newest);
  const users = messages.flatMap((message) =>
    isNotice(message) || message.entryId === undefined ? [] : [message.entryId],
  );
  const olderWork = workLines(older);
  const newerWork = workLines(newer);
  const effects = [...(newest < 0 ? before.effects : []), ...workLines(newer.filter(mayChange))];
  const reports = reportsAfter(before.reports, records);
  const plan = planAfter(before.plan, messages);
  const work = mergeLines(before.work, olderWork, MOST_WORK);
  const shownUsers = [...before.users, ...users];
  const files = await fileLines(before.files, records, pace);
  const facts: Facts = {
    users: shownUsers.slice(-MOST_USERS),
    earlierUsers: before.earlierUsers + Math.max(0, shownUsers.length - MOST_USERS),
    rules: before.rules,
    ...(before.lasting
      ? { lasting: await afterMessages(before.lasting, leaving.spoken ?? messages, pace) }
      : {}),
    troubles: troublesAfter(before.troubles, records),
    plan,
    // All work since the newest request is listed, whatever else has to go.
    work: leaving.inTurn
      ? [...work, ...newerWork].slice(-4 * MOST_WORK)
      : mergeLines(work, newerWork, MOST_WORK),
    effects: leaving.inTurn ? effects.slice(-MOST_EFFECTS) : [],
    reports,
    open: [
      ...openLines(leaving.inTurn ? newer : records.slice(-8), leaving.badEnds),
      ...reports.map(({ label }) => label),
      ...plan,
    ],
    files: files.all,
    strings: await gatherStrings(before.strings, messages, before.left, pace),
    left: before.left + messages.length,
    lastAnswer: lastAnswerOf(messages) || before.lastAnswer,
  };
  const troubles = facts.troubles.filter((trouble) => !before.troubles.includes(trouble));
  return { facts, news: { users, work: [...olderWork, ...newerWork], files: files.touched, troubles } };
}

/** Sentences of a user's message that bind later work or make a choice; they stay when the message is dropped. */
export function rulesOf(text: string): string[] {
  return sentencesOf(text)
    .filter((sentence) => isConstraint(sentence) || isChoice(sentence))
    .map((sentence) => shorten(sentence, LINE_CHARS))
    .slice(0, 6);
}

export function withRules(rules: readonly string[], fresh: readonly string[]): string[] {
  return mergeLines(rules, fresh, MOST_RULES);
}

/** A longer message is usually not a request or a correction (but a paste, a plan). Characters. */
const DIRECT_CHARS = 600;
/** Beginning of a message that corrects what was asked or done before. */
const CORRECTION =
  /^\W*(?:no[,.:!]|not (?:like )?that\b|that(?:'s| is|’s) (?:wrong|not)\b|wrong\b|i (?:was wrong|meant|made a mistake)\b|correction\b|actually\b)/i;

/**
 * Weight for keeping a user's message verbatim. Short ones are dropped last, since they cost little; the binding
 * sentences of a long one that is dropped stay as rules.
 */
export function weightOf(text: string): number {
  if (isAcknowledgement(onOneLine(text))) return 0;
  const binds = isConstraint(text) || CORRECTION.test(text) || sentencesOf(text).some(isChoice);
  return (text.length <= DIRECT_CHARS ? 3 : 1) + (binds ? 1 : 0);
}

/** Facts from another engine's summary. */
export function factsOfSummary(summary: string): Facts {
  const lines = readSections(summary);
  return {
    ...NO_FACTS,
    files: [
      ...[...carriedFiles(summary)].map(([path, state]) => fileLine(path, state)),
      ...readFileList(lines.flatMap(({ section, text }) => (section === "Files touched" ? [text] : []))),
    ],
    strings: lines.flatMap(({ section, text: value }) =>
      section === "Exact identifiers" ? [{ value, said: 1, last: 0 }] : [],
    ),
  };
}
