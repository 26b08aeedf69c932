import type { AgentMessage, ToolCallPart } from "@pagurus/contract/message";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { readAt } from "./transcript/transcript-lines.ts";
import type { SessionView } from "./transcript/session-view.ts";

const CHUNK = 256 * 1024;

/** The transcript's bytes as they are, without a torn end. Opens and closes the view. */
export async function* exportLines(view: SessionView): AsyncGenerator<Uint8Array> {
  view.open("r");
  try {
    for (let at = 0; at < view.size; at += CHUNK) yield readAt(view.fd, at, Math.min(CHUNK, view.size - at));
  } finally {
    view.close();
  }
}

/** The active path as Markdown for people. Opens and closes the view. */
export async function* exportMarkdown(view: SessionView, record: SessionRecord): AsyncGenerator<Uint8Array> {
  view.open("r");
  try {
    const title = record.name ?? record.sessionKey;
    yield Buffer.from(
      `# ${title}\n\nSession \`${record.sessionKey}\` (\`${record.sessionId}\`), ${record.createdAt} to ${record.updatedAt}, in \`${record.cwd}\`\n`,
    );
    for (const { entry } of view.forward(view.tree.path())) {
      const text = entryMarkdown(entry);
      if (text !== "") yield Buffer.from(`\n${text}\n`);
    }
  } finally {
    view.close();
  }
}

function entryMarkdown(entry: TranscriptEntry): string {
  switch (entry.type) {
    case "message":
      return messageMarkdown(entry.message, entry.timestamp);
    case "compaction":
      return `## Summary of the conversation before (${entry.origin})\n\n${entry.summary}`;
    case "custom_message":
      return entry.display === false ? "" : `## Note (${entry.customType})\n\n${entry.content}`;
    case "model_change":
      return `_Model: ${entry.provider}/${entry.modelId}_`;
    case "turn_commit":
      return entry.outcome === "completed"
        ? ""
        : `_The turn ended: ${entry.outcome}${entry.code ? ` (${entry.code})` : ""}_`;
    default:
      return "";
  }
}

function messageMarkdown(message: AgentMessage, timestamp: string): string {
  if (message.role === "toolResult") {
    const label = message.isError ? "Result (error)" : "Result";
    return `**${label} of ${message.toolName}**\n\n${fenced(contentText(message.content))}`;
  }
  const heading =
    message.role === "user" ? "User" : `Assistant${message.model === undefined ? "" : ` (${message.model})`}`;
  const calls =
    message.role === "assistant" ? message.content.filter((part) => part.type === "toolCall") : [];
  const parts = [contentText(message.content), ...calls.map(callMarkdown)].filter((part) => part !== "");
  if (message.role === "assistant" && message.errorMessage !== undefined)
    parts.push(`_${message.errorMessage}_`);
  return `## ${heading}, ${timestamp}\n\n${parts.join("\n\n")}`;
}

function contentText(content: AgentMessage["content"]): string {
  if (typeof content === "string") return content;
  const texts = content.map((part) => {
    if (part.type === "text") return part.text;
    return part.type === "image" ? `[image ${part.mimeType}]` : "";
  });
  return texts.filter((text) => text !== "").join("\n\n");
}

function callMarkdown(call: ToolCallPart): string {
  return `**Tool call ${call.name}**\n\n${fenced(JSON.stringify(call.arguments, null, 2), "json")}`;
}

/** A code block whose fence is longer than any in the text. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
