/**
 * Reader of Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`. Lines are `{timestamp, type, payload}`; the first versions
 * wrote the items bare. The `response_item` lines are what the model saw; the events repeat it for the screen.
 */
import { hash } from "node:crypto";
import { basename } from "node:path";
import { FRAGMENT_ENTRY, type FragmentNote } from "@pagurus/contract/fragment";
import type { AssistantMessage, Usage } from "@pagurus/contract/message";
import { resultContent } from "./blocks.ts";
import {
  compactedText,
  failedCall,
  fragmentOutput,
  isCompactionOutput,
  isResult,
  whoseWords,
} from "./codex-rollout-items.ts";
import { openParts, threadFiles, type ThreadFiles } from "./codex-parts.ts";
import type { Draft } from "./draft.ts";
import { numberOf, timeOf } from "./foreign-fields.ts";
import { keepLine, usableLines, type OpenFile } from "./jsonl-source.ts";
import {
  assistantContent,
  resultMessage,
  sortParts,
  stopReasonOf,
  usageOf,
  userContent,
} from "./message-parts.ts";
import { SLICE, type ForeignSession, type Paced } from "./foreign-source.ts";
import { sourceLines } from "./source-lines.ts";
import type { Tally } from "./tally.ts";
import { asRecord, type Fields, filledString, listOf } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

/** Item types of a model's answer. */
const ANSWER_ITEMS = new Set([
  "message",
  "reasoning",
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "tool_search_call",
  "web_search_call",
  "image_generation_call",
]);
/** Line types that set up a turn. */
const SETUP_LINES = new Set([
  "turn_context",
  "world_state",
  "state",
  "token_usage_record",
  "inter_agent_communication_metadata",
]);

interface Line {
  number: number;
  value: Fields;
}

interface Item {
  type: string;
  payload: Fields;
  at: number | undefined;
}

/** A line in the form of current versions. */
export function rolloutItem(value: Fields): Item {
  const type = filledString(value["type"]) ?? filledString(value["record_type"]) ?? "session_meta";
  const at = timeOf(value["timestamp"]);
  const payload = asRecord(value["payload"]);
  if (payload) return { type, payload, at };
  const bare = ANSWER_ITEMS.has(type) || isResult(value);
  return { type: bare ? "response_item" : type, payload: value, at };
}

export function* openCodex(file: OpenFile): Paced<ForeignSession> {
  const results = new Map<string, number>();
  const files = threadFiles(file);
  const { meta } = files;
  let cwd = filledString(meta?.["cwd"]);
  for (const part of openParts(file, files)) {
    for (const { value, number } of sourceLines(part.fd, part.size)) {
      if (number % SLICE === 0) yield;
      if (!value) continue;
      const { type, payload } = rolloutItem(value);
      cwd ??= filledString(payload["cwd"]);
      const callId =
        type === "response_item" && isResult(payload) ? filledString(payload["call_id"]) : undefined;
      if (callId !== undefined) results.set(callId, (results.get(callId) ?? 0) + 1);
    }
  }
  const stem = basename(file.path).replace(/\.jsonl$/, "");
  const sourceId =
    filledString(meta?.["id"]) ?? /[0-9a-f-]{36}$/.exec(stem)?.[0] ?? hash("sha1", stem, "hex").slice(0, 16);
  return {
    sourceId,
    key: `codex:${sourceId}`,
    cwd: cwd ?? "",
    startedAt: timeOf(meta?.["timestamp"]),
    awaits: (callId) => (results.get(callId) ?? 0) > 0,
    fill: (draft, tally) =>
      new CodexReader(draft, tally, results, filledString(meta?.["model_provider"]) ?? "openai").fill(
        file,
        files,
      ),
  };
}

class CodexReader {
  readonly #draft: Draft;
  readonly #tally: Tally;
  readonly #results: Map<string, number>;
  readonly #provider: string;
  #model: string | undefined;
  /** Items of the answer that is being read. */
  #answer: unknown[] = [];
  #answerAt: number | undefined;
  #answerLine = 0;
  #usage: Usage | undefined;
  #latest: string | null = null;
  #part = 0;
  readonly #failed = new Set<string>();
  /** Parent of each user message, for rollbacks. */
  readonly #turns: (string | null)[] = [];

  constructor(draft: Draft, tally: Tally, results: Map<string, number>, provider: string) {
    this.#draft = draft;
    this.#tally = tally;
    this.#results = results;
    this.#provider = provider;
  }

  *fill(file: OpenFile, files: ThreadFiles): Paced<void> {
    if (files.missing !== undefined)
      this.#tally.remarks.push(
        `The thread begins in that of ${files.missing}, whose file is not there: the words before are missing.`,
      );
    for (const part of openParts(file, files)) {
      this.#part += 1;
      for (const line of usableLines(part, this.#draft, this.#tally)) {
        this.#line(line);
        if (line.number % SLICE === 0) yield;
      }
    }
    this.#endAnswer();
    this.#draft.finish(this.#latest);
  }

  /** Key of an item without an id: lines of several files have the same numbers. */
  #key(kind: string, line: number): string {
    return `${kind} ${this.#part}:${line}`;
  }

  #line(line: Line): void {
    const { type, payload, at } = rolloutItem(line.value);
    if (type === "response_item") this.#item(line, payload, at);
    else if (type === "event_msg") this.#event(line, payload, at);
    else if (type === "compacted") this.#compacted(line, payload, at);
    else if (type === "session_meta") this.#tally.leaveOut(type);
    else if (SETUP_LINES.has(type)) {
      // Comes right after its answer.
      if (type === "token_usage_record" && this.#answer.length > 0) this.#usage = usageOf(payload["usage"]);
      this.#model = filledString(payload["model"]) ?? this.#model;
      this.#tally.leaveOut(type);
    } else this.#keep(line, type, at);
  }

  #item(line: Line, payload: Fields, at: number | undefined): void {
    const type = filledString(payload["type"]) ?? "item without a type";
    if (isResult(payload)) this.#result(line, payload, at);
    else if (type === "message" && payload["role"] !== "assistant") this.#otherMessage(line, payload, at);
    else if (type === "ghost_snapshot") this.#tally.leaveOut(type);
    else if (isCompactionOutput(line.value)) this.#keep(line, "summary before its compaction", at);
    else if (!ANSWER_ITEMS.has(type)) this.#keep(line, type, at);
    else {
      this.#answer.push(...(type === "message" ? listOf(payload["content"]) : [payload]));
      this.#answerAt = at ?? this.#answerAt;
      this.#answerLine ||= line.number;
    }
  }

  /** Ends an answer: the items so far are one answer of the model. */
  #endAnswer(): void {
    if (this.#answer.length === 0) return;
    const key = this.#key("answer", this.#answerLine);
    const parts = sortParts(this.#answer);
    const content = assistantContent(parts, `${this.#part}_${this.#answerLine}`);
    const at = this.#answerAt;
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...(this.#model === undefined ? {} : { provider: this.#provider, model: this.#model }),
      ...defined({ usage: this.#usage }),
      stopReason: stopReasonOf(undefined, content),
      ...defined({ timestamp: at }),
    };
    this.#answer = [];
    this.#answerLine = 0;
    this.#usage = undefined;
    this.#add(key, at, { type: "message", message });
    for (const { kind, raw } of parts.data) this.#draft.keep(kind, { raw }, { parent: key });
  }

  #add(key: string, at: number | undefined, body: Parameters<Draft["add"]>[0]["body"]): void {
    this.#draft.add({ key, parent: this.#latest, at, body });
    this.#latest = key;
  }

  #keep(line: Line, kind: string, at: number | undefined): void {
    this.#endAnswer();
    keepLine(this.#draft, kind, line, { at });
  }

  #result(line: Line, payload: Fields, at: number | undefined): void {
    this.#endAnswer();
    const fragment = fragmentOutput(payload);
    if (fragment) return this.#fragment(fragment, at);
    const callId = filledString(payload["call_id"]);
    if (callId === undefined) return this.#keep(line, "function_call_output without a call", at);
    this.#results.set(callId, (this.#results.get(callId) ?? 0) - 1);
    const output = asRecord(payload["output"]);
    const block = {
      type: "result",
      callId,
      name: "",
      content: resultContent(payload["output"] ?? payload["tools"]),
      isError: output?.["success"] === false || payload["success"] === false || this.#failed.has(callId),
    } as const;
    this.#draft.add({ at, body: { type: "message", message: resultMessage(block, at) } });
  }

  /** A message that is not the model's. */
  #otherMessage(line: Line, payload: Fields, at: number | undefined): void {
    this.#endAnswer();
    const parts = sortParts(payload["content"]);
    const content = userContent(parts);
    const whose = whoseWords(payload, content);
    if (whose === "context")
      return this.#keep(line, `${filledString(payload["role"]) ?? "unnamed"} context of Codex`, at);
    if (whose !== "user") return this.#fragment(whose, at);
    if (content.length === 0) return this.#keep(line, "empty message", at);
    this.#turns.push(this.#latest);
    const timestamp = at === undefined ? {} : { timestamp: at };
    const key = this.#key("line", line.number);
    this.#add(key, at, { type: "message", message: { role: "user", content, ...timestamp } });
    for (const { kind, raw } of parts.data) this.#draft.keep(kind, { raw }, { parent: key });
  }

  /** Additional context: an entry of its own before the next message, without an author. */
  #fragment(data: FragmentNote, at: number | undefined): void {
    this.#tally.fragments += 1;
    this.#draft.add({ at, body: { type: "custom", customType: FRAGMENT_ENTRY, data } });
  }

  #event(line: Line, payload: Fields, at: number | undefined): void {
    const type = filledString(payload["type"]) ?? "event";
    const failed = failedCall(payload);
    if (failed !== undefined) this.#failed.add(failed);
    if (type === "token_count") {
      // Comes after its answer; if it comes later than the results, the answer is complete already.
      if (this.#answer.length > 0) this.#usage = usageOf(asRecord(payload["info"])?.["last_token_usage"]);
    } else if (type === "thread_rolled_back") this.#rollBack(numberOf(payload["num_turns"]) ?? 0);
    const name = type === "thread_name_updated" ? filledString(payload["thread_name"]) : undefined;
    if (name !== undefined) this.#draft.add({ at, body: { type: "session_info", name } });
    this.#tally.leaveOut(`event ${type}`);
  }

  /** The user took turns back: the conversation continues before them, they stay off the path. */
  #rollBack(turns: number): void {
    this.#endAnswer();
    for (let left = turns; left > 0 && this.#turns.length > 0; left -= 1)
      this.#latest = this.#turns.pop() ?? null;
  }

  #compacted(line: Line, payload: Fields, at: number | undefined): void {
    this.#endAnswer();
    const summary = compactedText(payload);
    if (summary === undefined) {
      this.#tally.remarks.push(
        `The compaction of line ${line.number} is encrypted; the conversation before it stays as it was.`,
      );
      return this.#keep(line, "encrypted compaction", at);
    }
    this.#add(this.#key("line", line.number), at, {
      type: "compaction",
      summary,
      tokensBefore: Math.round(this.#draft.bytes / 4),
      origin: "model",
      lane: "harness",
      handledBy: "codex",
    });
  }
}
