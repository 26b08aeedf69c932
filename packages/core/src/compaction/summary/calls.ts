/** Tool calls of a span with their outcomes, one record a call. */
import type { AgentMessage, ToolCallPart } from "@pagurus/contract/message";
import { callsOf, textOf } from "../message-text.ts";
import type { Pace } from "../../platform/pace.ts";
import { resultWords } from "./result-words.ts";
import { onOneLine, shorten } from "./sentences.ts";
import { defined } from "../../data/defined.ts";

export interface CallRecord {
  name: string;
  /** Tool and its main argument, one line: `shell npm test`, `edit src/a.ts`. */
  label: string;
  /** Subject of the call: equal for calls that differ only in the state that they report. */
  topic: string;
  /** True for a report that something is in progress or to do; a later report may close it. */
  isOpenReport: boolean;
  kind: "edit" | "read" | "command" | "other";
  /** The path argument. */
  path?: string;
  /** Number of lines that the call was to write to the path. */
  lines?: number;
  /** The whole command line, when it is a string. */
  command?: string;
  state: "ok" | "failed" | "open";
  /** Text of the result, without a harness's frame; empty while open. */
  result: string;
  /** Index of the message that made the call. */
  index: number;
}

const SUBJECT_KEYS = ["command", "cmd", "path", "file_path", "pattern", "query", "url", "prompt"];
const LABEL_CHARS = 160;

/** The file that a call names. */
export function pathOf(call: ToolCallPart): string | undefined {
  const path = call.arguments["path"] ?? call.arguments["file_path"];
  return typeof path === "string" && path !== "" ? path : undefined;
}

function linesOf(call: ToolCallPart): number | undefined {
  const content = call.arguments["content"] ?? call.arguments["file_text"];
  if (typeof content !== "string") return undefined;
  return content === "" ? 0 : content.replace(/\n$/, "").split("\n").length;
}

function commandOf(call: ToolCallPart): string | undefined {
  const command = call.arguments["command"] ?? call.arguments["cmd"];
  return typeof command === "string" ? command : undefined;
}

function subjectOf(call: ToolCallPart): string {
  for (const key of SUBJECT_KEYS) {
    const value = call.arguments[key];
    if (typeof value === "string" && value !== "") return value;
    if (Array.isArray(value) && value.length > 0) return value.map(String).join(" ");
  }
  const json = JSON.stringify(call.arguments);
  return json === "{}" ? "" : json;
}

/** One line that names a call; of a longer command, its first line. */
export function labelOf(call: ToolCallPart): string {
  const subject = subjectOf(call).trim();
  const end = subject.indexOf("\n");
  const first = end < 0 ? subject : `${subject.slice(0, end)} …`;
  return shorten(onOneLine(`${call.name} ${first}`), LABEL_CHARS);
}

function kindOf(call: ToolCallPart): CallRecord["kind"] {
  const name = call.name.toLowerCase();
  if (/edit|write|patch/.test(name)) return "edit";
  if (/^read|^view|^cat$|^ls$|^list/.test(name)) return "read";
  if (call.arguments["command"] !== undefined || call.arguments["cmd"] !== undefined) return "command";
  return /shell|bash|exec|command/.test(name) ? "command" : "other";
}

/** Arguments that report a step's state; a later report replaces an earlier one. */
const STATE_KEYS = new Set(["status", "state", "progress", "done", "completed"]);

const OPEN_STATE =
  /^(?:in[ _-]?progress|pending|open|to[ _-]?do|running|started|active|queued|waiting|false)$/i;

function isOpenReport(call: ToolCallPart): boolean {
  return Object.entries(call.arguments).some(
    ([name, value]) => STATE_KEYS.has(name) && OPEN_STATE.test(String(value).trim()),
  );
}

function callTopic(call: ToolCallPart): string {
  const rest = Object.entries(call.arguments).filter(([name]) => !STATE_KEYS.has(name));
  const isReport = rest.length > 0 && rest.length < Object.keys(call.arguments).length;
  return isReport ? `${call.name} ${JSON.stringify(rest)}` : labelOf(call);
}

function recordOf(call: ToolCallPart, index: number): CallRecord {
  const path = pathOf(call);
  const lines = linesOf(call);
  const command = commandOf(call);
  return {
    name: call.name,
    label: labelOf(call),
    topic: callTopic(call),
    isOpenReport: isOpenReport(call),
    kind: kindOf(call),
    state: "open",
    result: "",
    index,
    ...defined({ path, lines, command }),
  };
}

/** Records in the order of the calls. A result belongs to the newest open call with its id. */
class CallLog {
  readonly records: CallRecord[] = [];
  readonly #open = new Map<string, CallRecord>();

  add(message: AgentMessage, index: number): void {
    if (message.role === "assistant") {
      for (const call of callsOf(message)) {
        const record = recordOf(call, index);
        this.records.push(record);
        this.#open.set(call.id, record);
      }
    } else if (message.role === "toolResult") {
      const record = this.#open.get(message.toolCallId);
      if (!record) return;
      record.state = message.isError ? "failed" : "ok";
      record.result = resultWords(textOf(message));
      this.#open.delete(message.toolCallId);
    }
  }
}

/** Reads the calls synchronously, for a span that fits a window. */
export function callRecords(messages: readonly AgentMessage[]): CallRecord[] {
  const log = new CallLog();
  for (const [index, message] of messages.entries()) log.add(message, index);
  return log.records;
}

/** The same in slices. */
export async function readCalls(messages: readonly AgentMessage[], pace: Pace): Promise<CallRecord[]> {
  const log = new CallLog();
  await pace.each(messages, (message, index) => log.add(message, index));
  return log.records;
}
