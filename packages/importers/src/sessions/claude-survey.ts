/** First pass over a Claude Code session: data that is needed before the first entry can be written. Keeps ids and numbers, no contents. */
import { hash } from "node:crypto";
import { basename } from "node:path";
import { timeOf } from "./foreign-fields.ts";
import type { OpenFile } from "./jsonl-source.ts";
import { SLICE, type Paced } from "./foreign-source.ts";
import { sourceLines } from "./source-lines.ts";
import { asRecord, type Fields, filledString, listOf } from "@pagurus/core/data/record-fields";

/** Lines of one message are close together; the same id further on is another message. */
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
  /** Pending results by call; the second pass counts down. */
  results: Map<string, number>;
  /** Line of the conversation's last message. */
  lastLine: number | undefined;
  /** How often the user sent a text in lines of his own, by `promptHash`. */
  prompts: ReadonlyMap<string, number>;
}

/** Maps an assistant's line to its message; the same for both passes. */
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

/** True for a line with a prompt of the user: no tool result, no text of the program. */
export function isPrompt(value: Fields): boolean {
  if (value["type"] !== "user" || value["isMeta"] === true) return false;
  return !contentOf(value).some((part) => asRecord(part)?.["type"] === "tool_result");
}

export function contentOf(value: Fields): readonly unknown[] {
  const content = asRecord(value["message"])?.["content"];
  return typeof content === "string" ? [content] : listOf(content);
}

/** The user's texts in a line of his own. */
export function promptTexts(value: Fields): string[] {
  if (!isPrompt(value)) return [];
  return contentOf(value).flatMap((part) =>
    typeof part === "string" ? part : (filledString(asRecord(part)?.["text"]) ?? []),
  );
}

/** Whether a queued text appears later in a line of the user. */
export class Prompts {
  readonly #left: Map<string, number>;
  readonly #expected = new Map<string, number>();

  constructor(prompts: ReadonlyMap<string, number>) {
    this.#left = new Map(prompts);
  }

  /** Each later line matches one. */
  comes(words: string): boolean {
    const key = promptHash(words);
    const expected = this.#expected.get(key) ?? 0;
    if ((this.#left.get(key) ?? 0) <= expected) return false;
    this.#expected.set(key, expected + 1);
    return true;
  }

  seen(words: string): void {
    const key = promptHash(words);
    this.#left.set(key, (this.#left.get(key) ?? 0) - 1);
    this.#expected.set(key, Math.max(0, (this.#expected.get(key) ?? 0) - 1));
  }
}

function countUp(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Hash of a user's text, without whitespace. */
function promptHash(text: string): string {
  return hash("sha1", text.replace(/\s+/g, " ").trim(), "hex").slice(0, 16);
}

export function* surveyClaude(file: OpenFile): Paced<ClaudeSurvey> {
  const groups = new MessageGroups();
  const lastLineOf = new Map<string, number>();
  const results = new Map<string, number>();
  const prompts = new Map<string, number>();
  const sessions: string[] = [];
  const titles: Partial<Record<string, string>> = {};
  let last: { main?: number; side?: number } = {};
  let agentId: string | undefined;
  let cwd: string | undefined;
  let startedAt: number | undefined;
  for (const { value, number } of sourceLines(file.fd, file.size)) {
    if (number % SLICE === 0) yield;
    if (!value) continue;
    const session = filledString(value["sessionId"]);
    if (session !== undefined && !sessions.includes(session)) sessions.push(session);
    cwd ??= filledString(value["cwd"]);
    startedAt ??= timeOf(value["timestamp"]);
    const type = filledString(value["type"]) ?? "";
    const title = titleOfRecord(value);
    if (title !== undefined) titles[type] = title;
    const queued = queuedCommand(value);
    if (queued !== undefined) countUp(prompts, promptHash(queued));
    if (type !== "user" && type !== "assistant") continue;
    const side = value["isSidechain"] === true;
    last = side ? { ...last, side: number } : { ...last, main: number };
    if (side) agentId ??= filledString(value["agentId"]);
    if (type === "assistant") {
      const id = filledString(asRecord(value["message"])?.["id"]);
      if (id !== undefined) lastLineOf.set(groups.group(id, number), number);
    } else takeUser(value, { groups, results, prompts });
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
    prompts,
  };
}

/** The name of the conversation, when a line has one. */
export function titleOfRecord(value: Fields): string | undefined {
  if (value["type"] === "custom-title") return filledString(value["customTitle"]);
  if (value["type"] === "ai-title") return filledString(value["aiTitle"]) ?? filledString(value["title"]);
  return value["type"] === "summary" ? filledString(value["summary"]) : undefined;
}

/** Input that the user typed while the assistant worked, as newer versions write it. */
export function queuedCommand(value: Fields): string | undefined {
  const attachment = value["type"] === "attachment" ? asRecord(value["attachment"]) : undefined;
  if (attachment?.["type"] !== "queued_command") return undefined;
  const { prompt } = attachment;
  const parts = listOf(prompt).flatMap((part) => filledString(asRecord(part)?.["text"]) ?? []);
  return filledString(prompt) ?? filledString(parts.join("\n"));
}

function takeUser(
  value: Fields,
  into: { groups: MessageGroups; results: Map<string, number>; prompts: Map<string, number> },
): void {
  if (isPrompt(value) && value["isSidechain"] !== true) into.groups.prompt();
  for (const words of promptTexts(value)) countUp(into.prompts, promptHash(words));
  for (const part of contentOf(value)) {
    const block = asRecord(part);
    const id = block?.["type"] === "tool_result" ? filledString(block["tool_use_id"]) : undefined;
    if (id !== undefined) countUp(into.results, id);
  }
}
