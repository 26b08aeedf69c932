/** An empty place for sessions, the stores that a check opens in it, and short names for what checks do with them. */
import { setTimeout as pause } from "node:timers/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError, type ErrorCode } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SessionReader, SessionWriter } from "@pagurus/contract/session/writer";
import { must, onlyIf, shown, Violation } from "../conformance-check.ts";

/** Folder of the sessions that checks create; it does not have to exist. */
export const CWD = { cwd: "/project" };

export interface StoreUnderTest {
  /**
   * Opens the store of a place: the same `dir` is the same place, and two openings of it may be in use at a time. `opening` is 0 for the first
   * one of the place, then 1 and so on. The folder `dir` exists and belongs to the place. Called at least once per check.
   */
  open(context: { dir: string; opening: number }): SessionStore | Promise<SessionStore>;
  /**
   * Makes the rest of the world take a writer's host for dead, without closing the writer: its lock can be taken over. A store without it
   * skips the checks of crashes.
   */
  abandon?(writer: SessionWriter): void | Promise<void>;
  /** Called after each place, when its stores are closed; removes what is outside of `dir`. */
  end?(context: { dir: string }): void | Promise<void>;
}

export class StorePlace {
  readonly dir: string;
  readonly #under: StoreUnderTest;
  readonly #stores: SessionStore[] = [];
  readonly #open: { close(): void }[] = [];

  constructor(under: StoreUnderTest, dir: string) {
    this.#under = under;
    this.dir = dir;
  }

  /** A further opening of the place. */
  async store(): Promise<SessionStore> {
    const store = await this.#under.open({ dir: this.dir, opening: this.#stores.length });
    this.#stores.push(store);
    return store;
  }

  /** A writer that is closed with the check. */
  writer(store: SessionStore, key = "main", options: Partial<WriterOptions> = {}): SessionWriter {
    return this.keep(store.openWriter(key, { ...CWD, ...options }));
  }

  /** A reader that is closed with the check. */
  reader(store: SessionStore, key = "main", sessionId?: string): SessionReader {
    return this.keep(store.openReader(key, sessionId));
  }

  keep<T extends { close(): void }>(part: T): T {
    this.#open.push(part);
    return part;
  }

  async abandon(writer: SessionWriter): Promise<void> {
    onlyIf(this.#under.abandon, "The store cannot be abandoned.");
    await this.#under.abandon(writer);
  }

  /** Writes a file beside the store and returns its path. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.dir, name);
    writeFileSync(path, content);
    return path;
  }

  /** Closes everything, whatever a check left open. */
  async end(): Promise<void> {
    // A failed check may have left a part in any state; it is the check that reports the failure.
    const parts = [...this.#open.toReversed(), ...this.#stores];
    await Promise.allSettled(parts.map(async (part) => part.close()));
    await this.#under.end?.({ dir: this.dir });
  }
}

type WriterOptions = Parameters<SessionStore["openWriter"]>[1];

export function user(text: string): AgentMessage {
  return { role: "user", content: text };
}

export function assistant(text: string, calls: readonly string[] = []): AgentMessage {
  const toolCalls = calls.map((id) => ({ type: "toolCall" as const, id, name: "shell", arguments: { id } }));
  return { role: "assistant", content: [{ type: "text", text }, ...toolCalls] };
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

export function answerTo(text: string): string {
  return `answer to ${text}`;
}

/** Writes one committed turn: the user's text and an answer. Returns the ids of the two entries. */
export function say(writer: SessionWriter, turnId: string, text: string): [input: string, answer: string] {
  const input = writer.append({ type: "message", turnId, message: user(text) });
  const answer = writer.append({ type: "message", turnId, message: assistant(answerTo(text)) });
  writer.commitTurn({ turnId, outcome: "completed" });
  return [input.id, answer.id];
}

/** Text of a message, its parts joined. */
export function textOf({ content }: AgentMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Texts of the active path. */
export function textsOf(view: SessionWriter | SessionReader): string[] {
  return view.contextMessages().messages.map(textOf);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Entries of the active path, oldest first. */
export async function pathOf(view: SessionWriter | SessionReader): Promise<TranscriptEntry[]> {
  return await collect(view.cursor.forward());
}

export async function exported(
  store: SessionStore,
  key: string,
  format: "jsonl" | "markdown" = "jsonl",
): Promise<Buffer> {
  return Buffer.concat(await collect(store.export(key, format)));
}

/** An entry in the form in which it is carried to a successor. */
export function again(entry: TranscriptEntry): NewEntry {
  const { id: _id, parentId: _parent, timestamp: _time, epoch: _epoch, ...rest } = entry;
  return rest as NewEntry;
}

/** Throws `Violation` with the sentence and both values unless they are equal as JSON. */
export function mustEqual(actual: unknown, expected: unknown, sentence: string): void {
  must(
    JSON.stringify(actual) === JSON.stringify(expected),
    `${sentence}: ${shown(actual)} instead of ${shown(expected)}.`,
  );
}

/** How long what is sent without waiting may take, ms. */
const ARRIVES_MS = 10_000;

/** As `mustEqual`, for what another opening may see a moment later. */
export async function mustSoonEqual(
  read: () => Promise<unknown>,
  expected: unknown,
  sentence: string,
): Promise<void> {
  const until = performance.now() + ARRIVES_MS;
  for (;;) {
    const actual = await read();
    if (JSON.stringify(actual) === JSON.stringify(expected)) return;
    if (performance.now() > until) mustEqual(actual, expected, sentence);
    await pause(10);
  }
}

/** Throws `Violation` unless the work throws, or rejects with, an error of this code. */
export async function mustRefuse(code: ErrorCode, sentence: string, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isPagurusError(error) && error.code === code) return;
    const got = isPagurusError(error) ? error.code : shown(error);
    throw new Violation(`${sentence} is refused with ${got} instead of ${code}.`);
  }
  throw new Violation(`${sentence} is not refused with ${code}.`);
}
