/** Recorded requests of Claude Code 2.1.330; its own prompts are shortened, paths and ids are made up. */
import { readdirSync, readFileSync } from "node:fs";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { WireHeaders, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";

const FOLDER = new URL("../recorded/claude-code-2.1.330/", import.meta.url);

export interface Recorded {
  path: string;
  headers: WireHeaders;
  body: Buffer;
}

export const NAMES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".http"))
  .map((name) => name.slice(0, -".http".length));

/** As the gateway passes it: the path without the base. */
export function recorded(name: string): Recorded {
  const bytes = readFileSync(new URL(`${name}.http`, FOLDER));
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.toString("utf8", 0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(": ");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 2)];
    }),
  );
  const path = (first.split(" ")[1] ?? "").replace(/^\/v1/, "");
  return { path, headers, body: bytes.subarray(end + 4) };
}

export function readRecorded(name: string): WireRequest {
  const { path, headers, body } = recorded(name);
  return messagesDialect.read(path, headers, body);
}

export type Json = Record<string, unknown>;

/** The request with its body changed by `change`. */
export function readChanged(name: string, change: (body: Json) => void, headers: Json = {}): WireRequest {
  const made = recorded(name);
  const body = JSON.parse(made.body.toString("utf8")) as Json;
  change(body);
  const all = { ...made.headers, ...headers } as WireHeaders;
  return messagesDialect.read(made.path, all, Buffer.from(JSON.stringify(body)));
}

export function elementsOf(body: Json): { role: string; content: string | Json[] }[] {
  return body["messages"] as { role: string; content: string | Json[] }[];
}

/** One line for each part of an element's content. */
export function linesOf({ messages }: Pick<WireRequest["items"][number], "messages">): string[] {
  return messages.flatMap((message) => {
    if (typeof message.content === "string") return [`${message.role}: ${message.content}`];
    return message.content.map((part) => {
      const who =
        message.role === "toolResult" ? `result ${message.toolName} ${message.toolCallId}` : message.role;
      if (part.type === "text") return `${who}: ${part.text}`;
      return part.type === "toolCall" ? `call ${part.name} ${part.id}` : `${who} ${part.type}`;
    });
  });
}
