/** A conversation as a rollout of Codex, with at most as many items as a request may have. */
import type { ImagePart, TextPart, ToolResultMessage } from "@pagurus/contract/message";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import {
  answerParts,
  callId,
  dataUrl,
  inputParts,
  resultText,
  thoughtsOf,
  Times,
  type NativeIds,
  type NativeSession,
  type Portable,
  type PortableItem,
} from "./portable.ts";

type Item = Record<string, unknown>;
interface Line {
  timestamp: string;
  type: string;
  payload: Item;
}

/** Most items of a request, less those that a turn adds. */
const MOST_ITEMS = 16_384 - 1_024;
/** A version from which on the lines are as written here. */
const VERSION = "0.100.0";
/** Codex knows a summary in its history by this opening. */
const SUMMARY_PREFIX =
  "Another language model started to solve this problem and produced a summary of its thinking process. You also have access to the state of the tools that were used by that language model. Use this to build on the work that has already been done and avoid duplicating work. Here is the summary produced by the other language model, use the information in this summary to assist with your own analysis:";

export function writeCodex({ cwd, items }: Portable, { id, now }: NativeIds): NativeSession {
  const times = new Times(now, items);
  const lines = withinLimit(
    items.flatMap((item) => {
      const timestamp = new Date(times.next(item)).toISOString();
      return linesOf(item).map(({ type, payload }): Line => ({ timestamp, type, payload }));
    }),
  );
  const timestamp = new Date(now).toISOString();
  const meta = {
    session_id: id,
    id,
    timestamp,
    cwd,
    originator: "pagurus",
    cli_version: VERSION,
    source: "cli",
  };
  const name = `rollout-${timestamp.slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`;
  const day = timestamp.slice(0, 10).replaceAll("-", "/");
  const all = [{ timestamp, type: "session_meta", payload: meta }, ...lines];
  return {
    id,
    place: `sessions/${day}/${name}`,
    name,
    content: all.map((line) => `${JSON.stringify(line)}\n`).join(""),
    thoughts: thoughtsOf(items),
  };
}

/** The newest lines that a request may have, from a message of the user on, after one that names what is left out. */
function withinLimit(lines: readonly Line[]): Line[] {
  const from = lines.findLastIndex(({ type }) => type === "compacted") + 1;
  const items = lines.flatMap(({ type }, at) => (type === "response_item" && at >= from ? [at] : []));
  if (items.length <= MOST_ITEMS) return [...lines];
  const least = items[items.length - MOST_ITEMS] ?? 0;
  const start = items.find((at) => at >= least && lines[at]?.payload["role"] === "user") ?? least;
  const left = items.filter((at) => at < start).length;
  const text = `[The ${left} oldest items of this conversation are left out here; the archive of the keeper has them.]`;
  const note: Line = {
    timestamp: lines[start]?.timestamp ?? "",
    type: "response_item",
    payload: userMessage([{ type: "input_text", text }]),
  };
  return [...lines.slice(0, from), note, ...lines.slice(start)];
}

function linesOf(item: PortableItem): Omit<Line, "timestamp">[] {
  if (item.role === "summary") {
    const text = `${SUMMARY_PREFIX}\n${item.text}`;
    const history = [userMessage([{ type: "input_text", text }])];
    return [{ type: "compacted", payload: { message: item.text, replacement_history: history } }];
  }
  if (item.role === "toolResult") {
    const output = { type: "function_call_output", call_id: callId(item.toolCallId), output: outputOf(item) };
    return [{ type: "response_item", payload: output }];
  }
  if (item.role === "user") {
    const parts = inputParts(item.content);
    if (parts.length === 0) return [];
    const message = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
    // For the screen and the list of sessions; the model has the item before it.
    const event = { type: "user_message", message, images: [] };
    return [
      { type: "response_item", payload: userMessage(parts.map(input)) },
      { type: "event_msg", payload: event },
    ];
  }
  return answerParts(item).flatMap((part): Omit<Line, "timestamp">[] => {
    if (part.type === "toolCall") {
      const { id, name, arguments: args } = part;
      const call = { type: "function_call", name: toolName(name), arguments: JSON.stringify(args) };
      return [{ type: "response_item", payload: { ...call, call_id: callId(id) } }];
    }
    const content = [{ type: "output_text", text: part.text }];
    return [
      { type: "response_item", payload: { type: "message", role: "assistant", content } },
      { type: "event_msg", payload: { type: "agent_message", message: part.text } },
    ];
  });
}

function userMessage(content: Item[]): Item {
  return { type: "message", role: "user", content };
}

function input(part: TextPart | ImagePart): Item {
  return part.type === "text"
    ? { type: "input_text", text: part.text }
    : { type: "input_image", image_url: dataUrl(part) };
}

function outputOf(result: ToolResultMessage): string | Item[] {
  return result.content.some(({ type }) => type === "image") ? result.content.map(input) : resultText(result);
}
