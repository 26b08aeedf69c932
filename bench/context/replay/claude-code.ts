/**
 * Reads sessions as Claude Code writes them: JSON lines, one for each part of an answer and for each tool result. The parts
 * of one answer share a message id, also with results of its first calls between them.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultMessage,
  Usage,
} from "../../../packages/contract/src/message.ts";
import {
  entryId,
  growthOf,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";

/** The recorded sessions next to the checkout. */
export const CODING_SESSIONS = join(
  import.meta.dirname,
  "..",
  "..",
  "..",
  "..",
  "shared",
  "data",
  "coding-sessions",
);

interface Part {
  type?: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  tool_use_id?: string;
  is_error?: boolean;
  content?: string | Part[];
  source?: { data?: string; media_type?: string };
}

interface RecordedUsage {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
}

/** The fields of a line that the replay reads. */
export interface Line {
  type?: string;
  timestamp?: string;
  /** Written by the program for itself: the summary of a compaction, local notices. */
  isCompactSummary?: boolean;
  isMeta?: boolean;
  operation?: string;
  content?: string;
  message?: { id?: string; model?: string; content?: string | Part[]; usage?: RecordedUsage };
}

function contentParts(parts: readonly Part[]): (TextPart | ImagePart)[] {
  return parts.flatMap((part): (TextPart | ImagePart)[] => {
    if (part.type === "text") return [{ type: "text", text: part.text ?? "" }];
    if (part.type !== "image") return [];
    return [
      { type: "image", data: part.source?.data ?? "", mimeType: part.source?.media_type ?? "image/png" },
    ];
  });
}

function answerPart(part: Part): AssistantMessage["content"] {
  if (part.type === "text") return [{ type: "text", text: part.text ?? "" }];
  if (part.type === "thinking") return [{ type: "thinking", thinking: part.thinking ?? "" }];
  if (part.type !== "tool_use") return [];
  return [{ type: "toolCall", id: part.id ?? "", name: part.name ?? "", arguments: part.input ?? {} }];
}

function usageOf(usage: RecordedUsage): Usage {
  const input = usage.input_tokens ?? 0;
  const output = usage.output_tokens ?? 0;
  const cacheRead = usage.cache_read_input_tokens ?? 0;
  const cacheWrite = usage.cache_creation_input_tokens ?? 0;
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite };
}

/** One answer with its results; calls without a recorded result get none. */
interface Round {
  id: string;
  answer: AssistantMessage;
  results: Map<string, ToolResultMessage>;
}

class Reader {
  readonly messages: AgentMessage[] = [];
  readonly calls: ModelCall[] = [];
  #round: Round | undefined;
  #liveStart = -1;
  #turns = 0;
  /** True after a user's message since the last answer. */
  #opened = false;
  /** Inputs that were queued while the agent worked, and those of them that reached it since the last answer. */
  #queued: { text: string; timestamp: number }[] = [];
  #steering: AgentMessage[] = [];

  line(line: Line): void {
    const timestamp = Date.parse(line.timestamp ?? "");
    if (line.type === "queue-operation") return this.#queue(line, timestamp);
    if (line.isCompactSummary === true || line.isMeta === true || line.message === undefined) return;
    if (line.type === "assistant") return this.#answer(line.message, timestamp);
    if (line.type !== "user") return;
    const content = line.message.content ?? "";
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const part of parts) if (part.type === "tool_result") this.#result(part, timestamp);
    const typed = contentParts(parts);
    if (typed.length > 0) this.#input({ role: "user", content: typed, timestamp });
  }

  end(): void {
    this.#close();
  }

  #queue(line: Line, timestamp: number): void {
    if (line.operation === "enqueue") this.#queued.push({ text: line.content ?? "", timestamp });
    // Input that leaves the queue in this way was passed to the agent during its work.
    const taken = line.operation === "remove" ? this.#queued.shift() : undefined;
    if (line.operation === "dequeue") this.#queued.shift();
    if (taken) this.#steering.push({ role: "user", content: taken.text, timestamp });
  }

  #input(message: AgentMessage): void {
    this.#close();
    this.#queued = this.#queued.filter(({ text }) => text !== textOf(message));
    if (!this.#opened) {
      this.#liveStart = this.messages.length;
      this.#turns += 1;
      this.#opened = true;
    }
    this.#push(message);
  }

  #answer(message: NonNullable<Line["message"]>, timestamp: number): void {
    const { id = "", content = [], usage = {}, model } = message;
    if (model === "<synthetic>") return;
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (this.#round?.id !== id) this.#open(id, usageOf(usage), timestamp);
    const round = this.#round;
    if (!round) return;
    round.answer.content.push(...parts.flatMap(answerPart));
    // The output is counted up from line to line.
    round.answer.usage = usageOf(usage);
  }

  #open(id: string, usage: Usage, timestamp: number): void {
    this.#close();
    for (const message of this.#steering.splice(0)) this.#push(message);
    if (this.#liveStart < 0) throw new Error("The session has an answer before its first input.");
    const { input, cacheRead = 0, cacheWrite = 0 } = usage;
    this.calls.push({
      index: this.calls.length,
      turnId: `t${this.#turns}`,
      end: this.messages.length,
      liveStart: this.#liveStart,
      at: timestamp,
      reportedInput: input + cacheRead + cacheWrite,
    });
    const answer: AssistantMessage = { role: "assistant", content: [], provider: "anthropic", timestamp };
    this.#round = { id, answer, results: new Map() };
    this.#opened = false;
  }

  #result(part: Part, timestamp: number): void {
    const toolCallId = part.tool_use_id ?? "";
    const content =
      typeof part.content === "string"
        ? [{ type: "text" as const, text: part.content }]
        : contentParts(part.content ?? []);
    this.#round?.results.set(toolCallId, {
      role: "toolResult",
      toolCallId,
      toolName: "",
      content,
      isError: part.is_error === true,
      timestamp,
    });
  }

  /** The answer is complete: it is added to the history with its results in the order of its calls. */
  #close(): void {
    const round = this.#round;
    if (!round) return;
    this.#round = undefined;
    const calls = round.answer.content.filter((part): part is ToolCallPart => part.type === "toolCall");
    round.answer.stopReason = calls.length > 0 ? "toolUse" : "stop";
    this.#push(round.answer);
    for (const call of calls) {
      const result = round.results.get(call.id);
      const missing: ToolResultMessage = {
        role: "toolResult",
        toolCallId: call.id,
        toolName: call.name,
        content: [{ type: "text", text: "No result was recorded for this tool call." }],
        isError: true,
      };
      this.#push(result ? { ...result, toolName: call.name } : missing);
    }
  }

  #push(message: AgentMessage): void {
    this.messages.push({ ...message, entryId: entryId(this.messages.length) });
  }
}

function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Reads the lines of one file. Throws for a file that does not begin with an input. */
export function readSession(name: string, lines: Iterable<Line>): RecordedSession {
  const reader = new Reader();
  for (const line of lines) reader.line(line);
  reader.end();
  const { messages, calls } = reader;
  const { reported, estimated } = growthOf({ messages, calls });
  return { name, messages, calls, factor: estimated === 0 ? 1 : reported / estimated };
}

function* linesOf(file: string): Generator<Line> {
  for (const line of readFileSync(file, "utf8").split("\n")) if (line !== "") yield JSON.parse(line) as Line;
}

export interface RecordedSessions {
  /** In the order of their times. */
  main: RecordedSession[];
  /** Sessions of sub-agents; each has a history of its own. */
  subagents: RecordedSession[];
}

/** The recorded sessions next to the checkout; undefined without such a folder. */
export function recordedSessions(): RecordedSessions | undefined {
  if (!existsSync(CODING_SESSIONS)) return undefined;
  // A sub-agent's "acompact" is a compaction of the session, not work.
  const files = globSync("*.jsonl", { cwd: CODING_SESSIONS }).filter(
    (file) => !file.includes("_agent-acompact"),
  );
  const sessions = files.toSorted().map((file) => ({
    sub: file.includes("_subagents_"),
    session: readSession(basename(file, ".jsonl"), linesOf(join(CODING_SESSIONS, file))),
  }));
  const pick = (sub: boolean): RecordedSession[] =>
    sessions
      .filter((item) => item.sub === sub)
      .map(({ session }) => session)
      .toSorted((a, b) => (a.calls[0]?.at ?? 0) - (b.calls[0]?.at ?? 0));
  return { main: pick(false), subagents: pick(true) };
}
