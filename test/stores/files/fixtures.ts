import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { openSessionStore } from "../../../packages/host/src/stores/files/session-store.ts";

/** A temporary folder that is removed with the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-session-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function openStore(agentDir: string, now?: () => number): SessionStore {
  const loadImporter = () => import("../../../packages/importers/src/sessions/import-file.ts");
  return openSessionStore({ agentDir, agentId: "main", loadImporter, ...(now ? { now } : {}) });
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
  return lines.map((line) => JSON.parse(withoutSums(line)) as TranscriptEntry);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Files below a folder whose bytes contain a word. */
export function filesWith(folder: string, word: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(word));
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Runs work while writes fail as on a full disk: the first write takes half of its bytes and the next none. With `at` another operation
 * fails instead. Nothing else may run meanwhile, so the work is synchronous.
 */
export function withFullDisk(
  work: () => void,
  at: "writeSync" | "fsyncSync" | "linkSync" = "writeSync",
): void {
  const original = fs[at];
  let calls = 0;
  const fail = (...args: unknown[]): unknown => {
    calls += 1;
    const [fd, data, offset, length] = args;
    if (at === "writeSync" && calls === 1 && typeof length === "number" && length > 1)
      return Reflect.apply(original, fs, [fd, data, offset, length >> 1, null]);
    throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  };
  Object.assign(fs, { [at]: fail });
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    Object.assign(fs, { [at]: original });
    syncBuiltinESMExports();
  }
}

/** Transcript text as a program without checksums writes it. */
export function withoutSums(text: string): string {
  return text.replaceAll(/,"crc32":"[0-9a-f]{8}"\}$/gm, "}");
}
