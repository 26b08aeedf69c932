/** What one line, or one element of a document, means in each format. */
import { asString, countOf, isRecord, recordOf, type Fields } from "@pagurus/core/data/record-fields";
import { hasKind } from "./content-parts.ts";
import type { Role } from "./kept-record.ts";

export interface ReadLine {
  role: Role;
  /** Contents of the message; all other strings of the line are its further words. */
  contents: unknown[];
  at?: unknown;
  key?: unknown;
  conversation?: unknown;
  parent?: unknown;
  folder?: unknown;
  title?: unknown;
  /** Of the program. */
  version?: unknown;
}

export type LineFormat = (line: Fields) => ReadLine;

const ROLE_NAMES: Readonly<Record<string, Role>> = {
  user: "user",
  human: "user",
  assistant: "assistant",
  model: "assistant",
  gemini: "assistant",
  qwen: "assistant",
  agent: "assistant",
  tool: "tool",
  tool_result: "tool",
  toolResult: "tool",
  function: "tool",
  system: "system",
  developer: "system",
  info: "system",
};

function roleOf(value: unknown): Role {
  const name = asString(value) ?? "";
  return Object.hasOwn(ROLE_NAMES, name) ? (ROLE_NAMES[name] ?? "data") : "data";
}

/** A user's message that is only results of tools is one of a tool. */
function messageRole(role: unknown, content: unknown): Role {
  const known = roleOf(role);
  return known === "user" && hasKind(content, "result") && !hasKind(content, "text") ? "tool" : known;
}

function claudeCode(line: Fields): ReadLine {
  const message = recordOf(line["message"]);
  const common = {
    at: line["timestamp"],
    folder: line["cwd"],
    title: line["customTitle"] ?? line["aiTitle"],
    version: line["version"],
  };
  if (line["isCompactSummary"] === true)
    return { ...common, role: "summary", contents: [message["content"]] };
  if (line["type"] === "user" || line["type"] === "assistant")
    return { ...common, role: messageRole(line["type"], message["content"]), contents: [message["content"]] };
  if (line["type"] === "summary")
    return { ...common, role: "data", contents: [line["summary"]], title: line["summary"] };
  return { ...common, role: line["type"] === "system" ? "system" : "data", contents: [line["content"]] };
}

function codex(line: Fields): ReadLine {
  const payload = isRecord(line["payload"]) ? line["payload"] : line;
  const common = { at: line["timestamp"] ?? payload["timestamp"], folder: payload["cwd"] };
  switch (line["type"]) {
    case "session_meta":
      return {
        ...common,
        role: "data",
        contents: [],
        parent: payload["forked_from_id"] ?? payload["parent_thread_id"],
        version: payload["cli_version"],
      };
    case "compacted":
      return {
        ...common,
        role: "summary",
        contents: [payload["message"], replaced(payload["replacement_history"])],
      };
    case "event_msg":
    case "turn_context":
      // Copies of the items, for the screen.
      return { ...common, role: "data", contents: [] };
    default:
      return { ...common, ...codexItem(payload) };
  }
}

/** Messages that a compaction kept: they may be nowhere else. */
function replaced(history: unknown): unknown[] {
  return Array.isArray(history) ? history.map((item) => recordOf(item)["content"] ?? item) : [];
}

function codexItem(item: Fields): Pick<ReadLine, "role" | "contents"> {
  const type = asString(item["type"]) ?? "";
  if (type === "message") return { role: roleOf(item["role"]), contents: [item["content"]] };
  if (type.endsWith("_output")) return { role: "tool", contents: [item] };
  if (type === "reasoning" || type.endsWith("_call")) return { role: "assistant", contents: [item] };
  return {
    role: "role" in item ? roleOf(item["role"]) : "data",
    contents: "content" in item ? [item["content"]] : [],
  };
}

function pi(line: Fields): ReadLine {
  const common = { at: line["timestamp"], folder: line["cwd"], title: line["name"] };
  if (line["type"] === "message") {
    const message = recordOf(line["message"]);
    const { role, content, ...others } = message as Record<string, unknown>;
    // A command that the user ran has its output beside the content.
    return {
      ...common,
      role: role === "bashExecution" ? "tool" : roleOf(role),
      contents: [content ?? others],
    };
  }
  if (line["type"] === "compaction" || line["type"] === "branch_summary")
    return { ...common, role: "summary", contents: [line["summary"]] };
  if (line["type"] === "session")
    return { ...common, role: "data", contents: [], parent: sessionOf(line["parentSession"]) };
  if (line["type"] === "custom_message") return { ...common, role: "system", contents: [line["content"]] };
  return { ...common, role: "data", contents: [] };
}

/** The id at the end of a path such as `…/2026-01-01T00-00-00-000Z_<id>.jsonl`. */
function sessionOf(path: unknown): string | undefined {
  return /([^/_]+)\.jsonl$/.exec(asString(path) ?? "")?.[1];
}

function gemini(line: Fields): ReadLine {
  // A snapshot of all messages, in place of a line for each.
  const snapshot = recordOf(line["$set"])["messages"];
  if (Array.isArray(snapshot))
    return { role: "data", contents: (snapshot as unknown[]).map((message) => recordOf(message)["content"]) };
  const message = recordOf(line["message"]);
  const content =
    line["content"] ?? line["parts"] ?? message["parts"] ?? message["content"] ?? line["message"];
  const calls = Array.isArray(line["toolCalls"]) ? (line["toolCalls"] as unknown[]).map(geminiCall) : [];
  const thoughts = Array.isArray(line["thoughts"]) ? (line["thoughts"] as unknown[]).map(geminiThought) : [];
  return {
    role: roleOf(line["type"] ?? line["role"] ?? message["role"]),
    contents: [...thoughts, content, ...calls],
    at: line["timestamp"] ?? line["startTime"],
    key: line["id"] ?? line["uuid"],
    folder: line["cwd"] ?? line["projectRoot"],
    title: line["summary"],
  };
}

function geminiThought(thought: unknown): unknown {
  const { subject, description } = recordOf(thought);
  return { type: "thinking", thinking: subject, text: description };
}

function geminiCall(call: unknown): unknown {
  const { name, args, result, resultDisplay, ...others } = recordOf(call);
  return [
    { type: "tool_use", name, input: args },
    { type: "tool_result", name, content: { result, resultDisplay } },
    others,
  ];
}

function openCode(line: Fields): ReadLine {
  const time = recordOf(line["time"]);
  const common = {
    at: time["created"] ?? time["start"] ?? time["completed"],
    key: line["id"],
    conversation: line["sessionID"],
    folder: line["directory"] ?? recordOf(line["path"])["cwd"],
    parent: line["parentID"],
    title: line["title"],
  };
  // A part of a message names no role.
  if (typeof line["messageID"] === "string")
    return { ...common, parent: undefined, role: "assistant", contents: [line] };
  if (line["role"] !== undefined)
    return { ...common, parent: undefined, role: roleOf(line["role"]), contents: [] };
  return { ...common, conversation: line["id"], role: "data", contents: [] };
}

function plainMessage(line: Fields): ReadLine {
  const message = isRecord(line["message"]) ? line["message"] : line;
  const content = message["content"] ?? message["parts"] ?? message["text"];
  return {
    role: messageRole(message["role"] ?? line["role"] ?? line["type"], content),
    contents: [content],
    at: line["timestamp"] ?? line["ts"] ?? line["created"] ?? line["createdAt"] ?? message["timestamp"],
    key: line["id"],
    folder: line["cwd"] ?? line["working_dir"] ?? line["workspace"],
    title: line["title"] ?? line["description"],
    version: line["version"],
  };
}

function copilot(line: Fields): ReadLine {
  const data = recordOf(line["data"]);
  const [kind = ""] = (asString(line["type"]) ?? "").split(".");
  const context = recordOf(data["context"]);
  const isCall = kind === "tool" && "arguments" in data;
  return {
    role: kind === "tool" ? (isCall ? "assistant" : "tool") : roleOf(kind),
    contents: [
      data["content"],
      isCall ? { type: "tool_use", name: data["toolName"], input: data["arguments"] } : undefined,
      "result" in data ? { type: "tool_result", name: data["toolName"], content: data["result"] } : undefined,
    ],
    at: line["timestamp"],
    folder: context["cwd"] ?? data["cwd"],
    version: data["copilotVersion"],
  };
}

function prompt(line: Fields): ReadLine {
  return {
    role: "data",
    contents: [line["text"] ?? line["display"] ?? line["message"]],
    at: countOf(line["ts"]) !== undefined ? (countOf(line["ts"]) ?? 0) * 1_000 : line["timestamp"],
    folder: line["project"] ?? line["cwd"],
  };
}

export const LINE_FORMATS: Readonly<Record<string, LineFormat>> = {
  "claude-code": claudeCode,
  codex,
  pi,
  gemini,
  opencode: openCode,
  cline: plainMessage,
  goose: plainMessage,
  droid: plainMessage,
  json: plainMessage,
  copilot,
  prompts: prompt,
};

/** Milliseconds since the epoch; programs write seconds, milliseconds or a date. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === "number" && Number.isFinite(value) && value > 0)
    return value < 1e11 ? value * 1_000 : value;
  const parsed = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isFinite(parsed) ? parsed : undefined;
}
