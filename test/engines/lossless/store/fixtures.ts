/** Stores in temporary folders, and transcripts for them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { PagurusError } from "../../../../packages/contract/src/errors.ts";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import type {
  MessageEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "../../../../packages/contract/src/session/transcript.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import { unicodeText } from "../../../runner/unicode-text.ts";

/** Runs a function with a new store and removes the store with its folder. */
export async function withStore<T>(
  work: (store: LosslessStore, folder: string) => Promise<T> | T,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "lossless-store-"));
  const store = openLosslessStore(folder);
  try {
    return await work(store, folder);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function messageEntry(
  id: string,
  parentId: string | null,
  message: AgentMessage | string,
  extra: Partial<MessageEntry> = {},
): MessageEntry {
  return {
    type: "message",
    id,
    parentId,
    timestamp: "2026-05-01T10:00:00.000Z",
    ...extra,
    message: typeof message === "string" ? { role: "user", content: message } : message,
  };
}

/** A branch of user messages; ids are `prefix` and a number. */
export function chain(
  texts: readonly string[],
  prefix = "e",
  parentId: string | null = null,
): MessageEntry[] {
  let parent = parentId;
  return texts.map((text, index) => {
    const entry = messageEntry(`${prefix}${index}`, parent, text);
    parent = entry.id;
    return entry;
  });
}

/** A cursor over one path, oldest first. */
export function cursorOver(path: readonly TranscriptEntry[]): TranscriptCursor {
  const from = (id: string): number => {
    const at = path.findIndex((entry) => entry.id === id);
    if (at < 0) throw new PagurusError("entry_not_found", `There is no entry ${id}.`);
    return at;
  };
  return {
    async *forward(afterId) {
      yield* path.slice(afterId === undefined ? 0 : from(afterId) + 1);
    },
    async *backward(beforeId) {
      yield* path.slice(0, beforeId === undefined ? undefined : from(beforeId)).toReversed();
    },
    get: async (id) => path.find((entry) => entry.id === id),
  };
}

/** Strings that are hard to store: escapes, marks, lone surrogates, punctuation that looks like JSON, long ones. */
const text = fc.oneof(
  unicodeText({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.constantFrom(
    "",
    "a:",
    ",",
    "]",
    '}"',
    ":1,",
    "\u0001",
    "\u0001t1\u0001",
    '"\u0001',
    "\ud800",
    "x\udc00",
    "a\0b",
    "line\nline\ttab\r\n",
    String.raw`\n \u0001`,
    "数据库的迁移",
    "text",
    "user",
    "toolCall",
  ),
  fc.string({ maxLength: 8 }).map((part) => `${part}\n`.repeat(9_000)),
  fc.constantFrom("😀", "漢").map((part) => part.repeat(50_000)),
);

const base64 = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const textPart = text.map((value) => ({ type: "text" as const, text: value }));
const imagePart = fc.record({
  type: fc.constant("image" as const),
  data: fc.oneof(base64, fc.string({ minLength: 600, maxLength: 700 })),
  mimeType: fc.constantFrom("image/png", "image/jpeg"),
});
const thinkingPart = fc.record(
  {
    type: fc.constant("thinking" as const),
    thinking: text,
    signature: fc.oneof(base64, text),
    redacted: fc.boolean(),
  },
  { requiredKeys: ["type", "thinking"] },
);
const toolCallPart = fc.record(
  {
    type: fc.constant("toolCall" as const),
    id: fc.string(),
    name: fc.oneof(fc.constant("read"), text),
    arguments: fc.dictionary(fc.oneof(fc.string(), text), fc.oneof(fc.jsonValue(), text), { maxKeys: 4 }),
    signature: text,
  },
  { requiredKeys: ["type", "id", "name", "arguments"] },
);
const usage = fc.record(
  {
    input: fc.nat(),
    output: fc.nat(),
    cacheRead: fc.nat(),
    totalTokens: fc.nat(),
    cost: fc.double({ noNaN: true }),
  },
  { requiredKeys: ["input", "output", "totalTokens"] },
);

/** Messages as in a transcript: any JSON values, in any order of keys. */
export const anyMessage: fc.Arbitrary<AgentMessage> = fc
  .oneof(
    fc.record(
      {
        role: fc.constant("user" as const),
        content: fc.oneof(text, fc.array(fc.oneof(textPart, imagePart), { maxLength: 3 })),
        timestamp: fc.nat(),
      },
      { requiredKeys: ["role", "content"] },
    ),
    fc.record(
      {
        role: fc.constant("assistant" as const),
        content: fc.array(fc.oneof(textPart, thinkingPart, toolCallPart), { maxLength: 4 }),
        provider: text,
        usage,
        stopReason: fc.constantFrom("stop" as const, "toolUse" as const),
        errorMessage: text,
      },
      { requiredKeys: ["role", "content"] },
    ),
    fc.record({
      role: fc.constant("toolResult" as const),
      toolCallId: text,
      toolName: text,
      content: fc.array(fc.oneof(textPart, imagePart), { maxLength: 3 }),
      isError: fc.boolean(),
    }),
  )
  .chain((message) =>
    fc.shuffledSubarray(Object.keys(message), { minLength: Object.keys(message).length }).map((keys) => {
      const fields = message as unknown as Record<string, unknown>;
      const shuffled = Object.fromEntries(keys.map((key) => [key, fields[key]]));
      return JSON.parse(JSON.stringify(shuffled)) as AgentMessage;
    }),
  );
