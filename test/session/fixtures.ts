import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AgentMessage } from "../../src/contract/message.ts";
import type { SessionStore } from "../../src/contract/store.ts";
import type { TranscriptEntry } from "../../src/contract/transcript.ts";
import { openSessionStore } from "../../src/session/store.ts";

/** A folder of its own that goes away with the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-session-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function openStore(agentDir: string, now?: () => number): SessionStore {
  return openSessionStore({ agentDir, agentId: "main", ...(now ? { now } : {}) });
}

export function user(text: string): AgentMessage {
  return { role: "user", content: text };
}

export function assistant(text: string, calls: string[] = []): AgentMessage {
  return {
    role: "assistant",
    content: [
      { type: "text", text },
      ...calls.map((id) => ({ type: "toolCall" as const, id, name: "shell", arguments: { id } })),
    ],
  };
}

export function toolResult(id: string, text: string): AgentMessage {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: "shell",
    content: [{ type: "text", text }],
    isError: false,
  };
}

/** The text of a message, its parts joined. */
export function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`)).join("");
}

/** One committed turn of a user's message and an answer. */
export function sayTurn(
  writer: ReturnType<SessionStore["openWriter"]>,
  turnId: string,
  text: string,
): string[] {
  const first = writer.append({ type: "message", turnId, message: user(text) });
  const second = writer.append({ type: "message", turnId, message: assistant(`answer to ${text}`) });
  writer.commitTurn({ turnId, outcome: "completed" });
  return [first.id, second.id];
}

/** Makes the lock of a writer look like that of a process that has died. */
export function orphanLock(file: string): void {
  const lock = file.replace(/\.jsonl$/, ".lock");
  writeFileSync(
    lock,
    JSON.stringify({
      pid: 2 ** 22 + 1,
      startTicks: "1",
      host: hostname(),
      epoch: 1,
      acquiredAt: "2020-01-01T00:00:00.000Z",
    }),
  );
}

export function entriesOf(file: string): TranscriptEntry[] {
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as TranscriptEntry);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Files below a folder whose bytes hold a word. */
export function filesWith(folder: string, word: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(word));
}
