/** Recorded requests of Codex 0.169.0, and ones that a test creates. */
import { readdirSync, readFileSync } from "node:fs";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type {
  WireHeaders,
  WireItem,
  WireRequest,
} from "../../../packages/gateway/src/dialect/wire-dialect.ts";

const FOLDER = new URL("../recorded/codex-0.169.0/", import.meta.url);

export interface Recorded {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

export const RECORDED: readonly string[] = readdirSync(FOLDER).map((file) => file.replace(/\.http$/, ""));

export function recorded(name: string): Recorded {
  const file = readFileSync(new URL(`${name}.http`, FOLDER));
  const end = file.indexOf("\n\n");
  const [first = "", ...lines] = file.toString("utf8", 0, end).split("\n");
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
  );
  // The base URL of the gateway includes the version path.
  return { path: first.replace(/^POST \/v1/, ""), headers, body: file.subarray(end + 2) };
}

export function readRecorded(name: string): WireRequest {
  const { path, headers, body } = recorded(name);
  return responsesDialect.read(path, headers, body);
}

/** A request of another client than Codex. */
export function readInput(
  input: unknown,
  more: object = {},
  headers: WireHeaders = {},
  path = "/responses",
): WireRequest {
  const body = Buffer.from(JSON.stringify({ model: "m", stream: true, input, ...more }));
  return responsesDialect.read(path, headers, body);
}

export function bytesOf({ body }: WireRequest, { start, end }: { start: number; end: number }): string {
  return body.toString("utf8", start, end);
}

/** An element in short: its kind, role and text. */
export function line({ kind, isPassing, messages }: WireItem): string {
  if (kind === "setting") return isPassing ? "passing" : "setting";
  const parts = messages.map((message) => {
    const parts = typeof message.content === "string" ? [] : message.content;
    const words = parts.map((part) => {
      if (part.type === "text") return part.text.trim().split("\n").at(-1);
      if (part.type === "toolCall") return `${part.name}(${part.id})`;
      return part.type === "thinking" ? `(${part.thinking})` : part.type;
    });
    const of = message.role === "toolResult" ? `${message.toolName}(${message.toolCallId}) = ` : "";
    return `${message.role}: ${of}${words.join(" ")}`;
  });
  return parts.join(" & ") || "mute";
}

/** The elements after the fixed prefix, with a line where the live turn begins. */
export function lines({ items, prefixCount, liveFrom }: WireRequest): string[] {
  const all = items.map(line);
  return [...all.slice(prefixCount, liveFrom), "---", ...all.slice(liveFrom)];
}
