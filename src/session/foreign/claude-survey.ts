/**
 * First pass over a Claude Code session: what must be known before the first entry can be written. Holds ids and
 * numbers, no contents.
 */
import { hash } from "node:crypto";
import { basename } from "node:path";
import { fieldsOf, listOf, textOf, timeOf, type Fields } from "./fields.ts";
import type { OpenFile } from "./jsonl-source.ts";
import { SLICE, type Paced } from "./source.ts";
import { sourceLines } from "./source-lines.ts";

/** Lines of one message stand near each other; the same id further on is another message. */
const GROUP_REACH = 500;

export interface ClaudeSurvey {
  sourceId: string;
  key: string;
  cwd: string;
  startedAt: number | undefined;
  title: string | undefined;
  /** True in a file of a subagent: there all lines are side lines, and they are the conversation. */
  sideIsMain: boolean;
  /** Number of the last line of each assistant's message, by its group. */
  lastLineOf: ReadonlyMap<string, number>;
  /** Results by call that are still to come; the second pass counts down. */
  results: Map<string, number>;
  /** Line of the conversation's last message. */
  lastLine: number | undefined;
  /** How often the user said something in lines of his own, by `saidHash`. */
  said: ReadonlyMap<string, number>;
}

/** Tells which message an assistant's line belongs to; the same for both passes. */
export class MessageGroups {
  readonly #open = new Map<string, { group: string; line: number }>();
  #made = 0;

  group(messageId: string, line: number): string {
    const known = this.#open.get(messageId);
    const near = known && line - known.line <= GROUP_REACH;
    const group = near ? known.group : `message ${++this.#made}`;
    this.#open.set(messageId, { group, line });
    return group;
  }

  /** A prompt of the user ends the messages before it. */
  prompt(): void {
    this.#open.clear();
  }
}

export function isSide(value: Fields, sideIsMain: boolean): boolean {
  return value["isSidechain"] === true && !sideIsMain;
}

/** True for a line in which the user speaks: no tool's result, no text of the program. */
export function isPrompt(value: Fields): boolean {
  if (value["type"] !== "user" || value["isMeta"] === true) return false;
  return !contentOf(value).some((part) => fieldsOf(part)?.["type"] === "tool_result");
}

export function contentOf(value: Fields): readonly unknown[] {
  const content = fieldsOf(value["message"])?.["content"];
  return typeof content === "string" ? [content] : listOf(content);
}

/** What the user says in a line of his own. */
export function promptTexts(value: Fields): string[] {
  if (!isPrompt(value)) return [];
  return contentOf(value).flatMap((part) =>
    typeof part === "string" ? part : (textOf(fieldsOf(part)?.["text"]) ?? []),
  );
}

/** Tells of queued words whether a line of the user with them is still to come. */
export class Prompts {
  readonly #left: Map<string, number>;
  readonly #expected = new Map<string, number>();

  constructor(said: ReadonlyMap<string, number>) {
    this.#left = new Map(said);
  }

  /** Each line that is to come answers for one. */
  comes(words: string): boolean {
    const key = saidHash(words);
    const expected = this.#expected.get(key) ?? 0;
    if ((this.#left.get(key) ?? 0) <= expected) return false;
    this.#expected.set(key, expected + 1);
    return true;
  }

  said(words: string): void {
    const key = saidHash(words);
    this.#left.set(key, (this.#left.get(key) ?? 0) - 1);
    this.#expected.set(key, Math.max(0, (this.#expected.get(key) ?? 0) - 1));
  }
}

function countUp(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Fingerprint of what the user said, without its spaces. */
function saidHash(text: string): string {
  return hash("sha1", text.replace(/\s+/g, " ").trim(), "hex").slice(0, 16);
}

export function* surveyClaude(file: OpenFile): Paced<ClaudeSurvey> {
  const groups = new MessageGroups();
  const lastLineOf = new Map<string, number>();
  const results = new Map<string, number>();
  const said = new Map<string, number>();
  const sessions: string[] = [];
  const titles: Partial<Record<string, string>> = {};
  let last: { main?: number; side?: number } = {};
  let agentId: string | undefined;
  let cwd: string | undefined;
  let startedAt: number | undefined;
  for (const { value, number } of sourceLines(file.fd, file.size)) {
    if (number % SLICE === 0) yield;
    if (!value) continue;
    const session = textOf(value["sessionId"]);
    if (session !== undefined && !sessions.includes(session)) sessions.push(session);
    cwd ??= textOf(value["cwd"]);
    startedAt ??= timeOf(value["timestamp"]);
    const type = textOf(value["type"]) ?? "";
    const title = titleOf(value);
    if (title !== undefined) titles[type] = title;
    const queued = queuedCommand(value);
    if (queued !== undefined) countUp(said, saidHash(queued));
    if (type !== "user" && type !== "assistant") continue;
    const side = value["isSidechain"] === true;
    last = side ? { ...last, side: number } : { ...last, main: number };
    if (side) agentId ??= textOf(value["agentId"]);
    if (type === "assistant") {
      const id = textOf(fieldsOf(value["message"])?.["id"]);
      if (id !== undefined) lastLineOf.set(groups.group(id, number), number);
    } else takeUser(value, { groups, results, said });
  }
  const sideIsMain = last.main === undefined && last.side !== undefined;
  const stem = basename(file.path).replace(/\.jsonl$/, "");
  const session = sessions.includes(stem) ? stem : (sessions[0] ?? stem);
  const agent = sideIsMain && agentId !== undefined ? agentId : undefined;
  return {
    sourceId: agent === undefined ? session : `${session}-agent-${agent}`,
    key: `claude-code:${session}${agent === undefined ? "" : `:${agent}`}`,
    cwd: cwd ?? "",
    startedAt,
    title: titles["custom-title"] ?? titles["ai-title"] ?? titles["summary"],
    sideIsMain,
    lastLineOf,
    results,
    lastLine: sideIsMain ? last.side : last.main,
    said,
  };
}

/** The name of the conversation, where a line gives one. */
export function titleOf(value: Fields): string | undefined {
  if (value["type"] === "custom-title") return textOf(value["customTitle"]);
  if (value["type"] === "ai-title") return textOf(value["aiTitle"]) ?? textOf(value["title"]);
  return value["type"] === "summary" ? textOf(value["summary"]) : undefined;
}

/** What the user typed while the assistant worked, as newer versions write it. */
export function queuedCommand(value: Fields): string | undefined {
  const attachment = value["type"] === "attachment" ? fieldsOf(value["attachment"]) : undefined;
  if (attachment?.["type"] !== "queued_command") return undefined;
  const { prompt } = attachment;
  const parts = listOf(prompt).flatMap((part) => textOf(fieldsOf(part)?.["text"]) ?? []);
  return textOf(prompt) ?? textOf(parts.join("\n"));
}

function takeUser(
  value: Fields,
  into: { groups: MessageGroups; results: Map<string, number>; said: Map<string, number> },
): void {
  if (isPrompt(value) && value["isSidechain"] !== true) into.groups.prompt();
  for (const words of promptTexts(value)) countUp(into.said, saidHash(words));
  for (const part of contentOf(value)) {
    const block = fieldsOf(part);
    const id = block?.["type"] === "tool_result" ? textOf(block["tool_use_id"]) : undefined;
    if (id !== undefined) countUp(into.results, id);
  }
}
