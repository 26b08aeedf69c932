import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import type { SessionRecord } from "../../../packages/contract/src/session/writer.ts";
import { collect, entriesOf, openStore, temporaryFolder } from "../../stores/files/fixtures.ts";

export type Row = Record<string, unknown>;

export interface Taken {
  store: SessionStore;
  record: SessionRecord;
  sentences: string[];
  /** Every entry of the file. */
  entries: TranscriptEntry[];
  /** Entries of the conversation. */
  path: TranscriptEntry[];
  /** Messages that a model would see. */
  context: AgentMessage[];
}

export function jsonLines(folder: string, name: string, rows: readonly (Row | string)[]): string {
  const file = join(folder, name);
  writeFileSync(file, rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`).join(""));
  return file;
}

/** Imports a file into a store of its own. */
export async function take(
  t: TestContext,
  file: string,
  options: { sessionKey?: string; format?: string } = {},
): Promise<Taken> {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  return takeInto(store, file, options);
}

export async function takeInto(
  store: SessionStore,
  file: string,
  options: { sessionKey?: string; format?: string } = {},
): Promise<Taken> {
  const sentences: string[] = [];
  const request = { ...options, tell: (sentence: string) => sentences.push(sentence) };
  const record = await store.import(file, request);
  return { ...(await read(store, record)), sentences };
}

export async function read(store: SessionStore, record: SessionRecord): Promise<Omit<Taken, "sentences">> {
  const reader = store.openReader(record.sessionKey);
  const path = await collect(reader.cursor.forward());
  const { messages: context, complete } = reader.contextMessages();
  if (!complete || reader.notices.length > 0) throw new Error("The imported transcript is not whole.");
  reader.close();
  return { store, record, entries: entriesOf(record.file), path, context };
}

/** The problem of a context's tool calls; undefined when each is directly followed by its result. */
export function pairProblem(messages: readonly AgentMessage[]): string | undefined {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!open.delete(message.toolCallId)) return `the result of ${message.toolCallId} has no call`;
      continue;
    }
    if (open.size > 0) return `${[...open].join(", ")} has no result`;
    if (message.role === "assistant")
      open = new Set(message.content.flatMap((part) => (part.type === "toolCall" ? part.id : [])));
  }
  return open.size > 0 ? `${[...open].join(", ")} has no result` : undefined;
}

export function messagesOf(entries: readonly TranscriptEntry[]): AgentMessage[] {
  return entries.flatMap((entry) => (entry.type === "message" ? entry.message : []));
}

/** A message as short text: its role, texts, calls. */
export function outlineOf(message: AgentMessage): string {
  const parts = typeof message.content === "string" ? [message.content] : message.content;
  const texts = parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.type === "text") return part.text;
    if (part.type === "thinking") return `(${part.thinking})`;
    return part.type === "toolCall" ? `${part.name}#${part.id}` : `<${part.mimeType}>`;
  });
  const of = message.role === "toolResult" ? `${message.toolName}#${message.toolCallId}: ` : "";
  return `${message.role} ${of}${texts.join(" | ")}`;
}

export function header(record: SessionRecord): Row {
  return JSON.parse(readFileSync(record.file, "utf8").split("\n")[0] ?? "") as Row;
}
