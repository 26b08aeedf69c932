/** A conversation as a session of Claude Code: a chain of lines, in which a boundary and a summary take the place of what is before them. */
import { randomUUID } from "node:crypto";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import {
  answerParts,
  callId,
  inputParts,
  thoughtsOf,
  Times,
  type NativeIds,
  type NativeSession,
  type Portable,
  type PortableItem,
} from "./portable.ts";

type Line = Record<string, unknown>;

/** A version from which on the lines are as written here. */
const VERSION = "2.1.0";
/** Longest name of a folder of projects. */
const MOST_NAME = 200;

export function writeClaudeCode({ cwd, title, items }: Portable, { id, now }: NativeIds): NativeSession {
  const times = new Times(now, items);
  const lines: Line[] = [];
  let last: string | null = null;
  const add = (line: Line, time: number, parent: string | null): void => {
    const uuid = randomUUID();
    const about = { isSidechain: false, userType: "external", cwd, sessionId: id, version: VERSION };
    const timestamp = new Date(time).toISOString();
    lines.push({ parentUuid: parent, ...about, ...line, uuid, timestamp });
    last = uuid;
  };
  for (const item of items) {
    const time = times.next(item);
    if (item.role === "summary") {
      const boundary = {
        type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
        isMeta: false,
        level: "info",
        logicalParentUuid: last,
        compactMetadata: { trigger: "auto", preTokens: 0 },
      };
      add(boundary, time, null);
      const message = { role: "user", content: item.text };
      add({ type: "user", message, isCompactSummary: true, isVisibleInTranscriptOnly: true }, time, last);
    } else for (const line of messageLines(item)) add(line, time, last);
  }
  if (title !== undefined) lines.push({ type: "custom-title", customTitle: title, sessionId: id });
  return {
    id,
    place: `projects/${projectName(cwd)}/${id}.jsonl`,
    name: `${id}.jsonl`,
    content: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    thoughts: thoughtsOf(items),
  };
}

/** The name of the folder that Claude Code has for a working directory. */
function projectName(cwd: string): string {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, "-");
  if (name.length <= MOST_NAME) return name;
  let sum = 0;
  for (let at = 0; at < cwd.length; at += 1) sum = ((sum << 5) - sum + cwd.charCodeAt(at)) | 0;
  return `${name.slice(0, MOST_NAME)}-${Math.abs(sum).toString(36)}`;
}

function messageLines(item: Exclude<PortableItem, { role: "summary" }>): Line[] {
  if (item.role === "user") {
    const content = inputParts(item.content).map(block);
    return content.length === 0 ? [] : [{ type: "user", message: { role: "user", content } }];
  }
  if (item.role === "toolResult") {
    const result = {
      type: "tool_result",
      tool_use_id: callId(item.toolCallId),
      content: item.content.filter((part) => part.type === "image" || part.text !== "").map(block),
      ...(item.isError && { is_error: true }),
    };
    return [{ type: "user", message: { role: "user", content: [result] } }];
  }
  const content = answerParts(item).map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "tool_use", id: callId(part.id), name: toolName(part.name), input: part.arguments },
  );
  if (content.length === 0) return [];
  const message = {
    id: `msg_${randomUUID().replaceAll("-", "").slice(0, 24)}`,
    type: "message",
    role: "assistant",
    model: item.model ?? "unknown",
    content,
    stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: item.usage?.input ?? 0, output_tokens: item.usage?.output ?? 0 },
  };
  return [{ type: "assistant", message }];
}

function block(part: TextPart | ImagePart): Line {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } };
}
