import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { SessionWriter } from "../../../packages/contract/src/session/writer.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import type { NewEntry, TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import {
  assistant,
  collect,
  entriesOf,
  openStore,
  orphanLock,
  temporaryFolder,
  textOf,
  toolResult,
  user,
} from "./fixtures.ts";
import { byLength } from "../../runner/short-form.ts";

/** The simplest model of a conversation: entries by id, a leaf, and walks by parent. */
class Model {
  entries = new Map<string, TranscriptEntry>();
  leaf: string | null = null;

  add(entry: TranscriptEntry): void {
    this.entries.set(entry.id, entry);
    this.leaf = entry.type === "rewind" ? entry.targetId : entry.id;
  }

  path(): TranscriptEntry[] {
    const path: TranscriptEntry[] = [];
    let id = this.leaf;
    while (id !== null) {
      const entry = this.entries.get(id);
      assert.ok(entry);
      path.unshift(entry);
      id = entry.parentId;
    }
    return path;
  }

  context(): string[] {
    const path = this.path();
    const at = path.findLastIndex((entry) => entry.type === "compaction");
    const compaction = path[at];
    let kept = path;
    const head: string[] = [];
    if (compaction?.type === "compaction") {
      kept = path.slice(path.findIndex((entry) => entry.id === compaction.firstKeptEntryId));
      const input = path.find((entry) => entry.id === compaction.splitTurnInputId);
      if (input && !kept.includes(input)) head.push(this.#texts(input, path));
      head.push(renderSummary(compaction.summary));
    }
    const onPath = new Set(path.map((entry) => entry.id));
    for (const entry of kept) {
      if (entry.type === "custom_message") head.push(entry.content);
      if (entry.type !== "message" || (entry.supersedes !== undefined && onPath.has(entry.supersedes)))
        continue;
      head.push(this.#texts(entry, path));
    }
    return head;
  }

  #texts(entry: TranscriptEntry, path: TranscriptEntry[]): string {
    const newer = path.findLast((other) => other.type === "message" && other.supersedes === entry.id);
    if (newer) return this.#texts(newer, path);
    assert.equal(entry.type, "message");
    return entry.type === "message" ? textOf(entry.message) : "";
  }

  /** Turns to be offered, with their messages. */
  due(): { turnId: string; texts: string[] }[] {
    const due = new Set<string>();
    const known = new Set<string>();
    const begun = new Set<string>();
    for (const entry of this.entries.values()) {
      if (entry.turnId !== undefined) begun.add(entry.turnId);
      if (entry.type === "turn_commit" && !known.has(entry.turnId)) {
        known.add(entry.turnId);
        if (entry.finalized === false) due.add(entry.turnId);
      }
      if (entry.type === "custom" && entry.customType === "pagurus.finalized")
        due.delete((entry.data as { turnId: string }).turnId);
    }
    const path = this.path();
    return [...begun].flatMap((turnId) => {
      const end = path.findLastIndex((entry) => entry.type === "turn_commit" && entry.turnId === turnId);
      if (!due.has(turnId) || end < 0) return [];
      const texts = path.slice(0, end).flatMap((entry) => {
        if (entry.turnId !== turnId) return [];
        if (entry.type === "custom_message") return [entry.content];
        return entry.type === "message" ? [textOf(entry.message)] : [];
      });
      return [{ turnId, texts }];
    });
  }

  committed(): Set<string> {
    return new Set(
      [...this.entries.values()].flatMap((entry) => (entry.type === "turn_commit" ? [entry.turnId] : [])),
    );
  }
}

type Step = { kind: string; pick: number };
const step = fc.record({
  kind: fc.constantFrom(
    "user",
    "assistant",
    "call",
    "result",
    "fragment",
    "commit",
    "commit",
    "again",
    "crash",
    "close",
    "rewind",
    "fork",
    "supersede",
    "compact",
    "compact-split",
    "lose-index",
    "warm",
    "note",
    "turn",
    "turn",
    "turn",
    "commit-due",
    "take",
    "rewrite",
    "rewrite",
    "rewrite",
  ),
  pick: fc.nat({ max: 10_000 }),
});

class Run {
  store: SessionStore;
  writer: SessionWriter;
  model = new Model();
  key = "main";
  turn = 0;
  made = 0;
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
    this.store = openStore(dir);
    this.writer = this.store.openWriter(this.key, { cwd: "/w" });
  }

  append(entry: NewEntry): void {
    this.model.add(this.writer.append(entry));
  }

  turnId(): string {
    return `${this.key}-${this.turn}`;
  }

  say(message: AgentMessage, supersedes?: string): void {
    this.append({ type: "message", turnId: this.turnId(), message, ...(supersedes ? { supersedes } : {}) });
  }

  pickOnPath(pick: number, type?: string): TranscriptEntry | undefined {
    const path = this.model.path().filter((entry) => type === undefined || entry.type === type);
    return path[pick % Math.max(1, path.length)];
  }

  /** Reopens the session and adds recovery's entries to the model. */
  reopen(file = this.writer.record.file): void {
    const open = new Set([...this.model.entries.values()].flatMap((entry) => entry.turnId ?? []));
    for (const turnId of this.model.committed()) open.delete(turnId);
    const before = this.model.entries.size;
    this.writer = this.store.openWriter(this.key, { cwd: "/w" });
    const entries = entriesOf(file);
    for (const entry of entries.slice(before)) this.model.add(entry);
    assert.deepEqual(new Set(this.writer.notices.flatMap((notice) => notice.turnId ?? [])), open);
    this.turn += 1;
  }

  crash(): void {
    const { file } = this.writer.record;
    orphanLock(file);
    this.store.close();
    this.store = openStore(this.dir);
    this.reopen(file);
  }

  async do({ kind, pick }: Step): Promise<void> {
    this.made += 1;
    const text = `${kind} ${this.made} ${"x".repeat(pick % 300)}`;
    if (kind === "user") this.say(user(text));
    else if (kind === "assistant") this.say(assistant(text));
    else if (kind === "call") this.say(assistant(text, [`call-${this.made}`, `other-${this.made}`]));
    else if (kind === "result") this.say(toolResult(`call-${this.made - 1}`, text));
    else if (kind === "fragment")
      this.append({ type: "custom_message", customType: "x", content: text, turnId: this.turnId() });
    else if (kind === "note") this.append({ type: "session_info", name: text });
    else if (kind === "commit" || kind === "again") this.commit(kind === "again");
    else if (kind === "turn") {
      this.say(user(text));
      this.say(assistant(text, [`turn-${this.made}`]));
      this.say(toolResult(`turn-${this.made}`, text));
      this.commit(false);
    } else if (kind === "commit-due") this.commit(false, false);
    else if (kind === "take") this.take(pick);
    else if (kind === "rewrite") this.rewrite(pick, text);
    else if (kind === "warm") this.store.openReader(this.key).close();
    else await this.doRare(kind, pick, text);
  }

  async doRare(kind: string, pick: number, text: string): Promise<void> {
    if (kind === "crash") this.crash();
    else if (kind === "close") {
      this.writer.close();
      this.reopen();
    } else if (kind === "lose-index") {
      this.writer.close();
      this.store.close();
      for (const suffix of ["", "-wal", "-shm"])
        rmSync(join(this.dir, `sessions.db${suffix}`), { force: true });
      this.store = openStore(this.dir);
      this.reopen();
    } else if (kind === "rewind") {
      const all = [...this.model.entries.values()].filter((entry) => entry.type !== "rewind");
      const target = all[pick % Math.max(1, all.length)]?.id ?? null;
      this.append({ type: "rewind", targetId: pick % 7 === 0 ? null : target });
    } else if (kind === "supersede") {
      const old = this.pickOnPath(pick, "message");
      if (old?.type === "message")
        this.say(old.message.role === "user" ? user(text) : assistant(text), old.id);
    } else if (kind.startsWith("compact")) {
      const kept = this.pickOnPath(pick);
      const input = kind === "compact-split" ? this.pickOnPath(pick >> 3, "message") : undefined;
      if (kept)
        this.append({
          type: "compaction",
          summary: text,
          firstKeptEntryId: kept.id,
          tokensBefore: 1,
          origin: "model",
          ...(input ? { splitTurnInputId: input.id } : {}),
        });
    } else if (kind === "fork") {
      this.writer.close();
      const entry = this.pickOnPath(pick);
      const path = this.model.path();
      const end = path.findIndex((candidate) => candidate.id === entry?.id);
      const newKey = `fork:${this.made}`;
      await this.store.fork(this.key, newKey, entry ? { entryId: entry.id } : {});
      this.key = newKey;
      this.model = new Model();
      for (const kept of path.slice(0, end + 1)) this.model.add(kept);
      this.writer = this.store.openWriter(this.key, { cwd: "/w" });
      for (const added of entriesOf(this.writer.record.file).slice(this.model.entries.size))
        this.model.add(added);
    }
  }

  take(pick: number): void {
    const due = this.model.due();
    const turnId = due[pick % Math.max(1, due.length)]?.turnId;
    if (turnId === undefined) return;
    this.writer.markFinalized(turnId);
    const last = entriesOf(this.writer.record.file).at(-1);
    assert.ok(last);
    this.model.add(last);
  }

  /** Replaces up to three messages of the path; messages that must not change are compared. */
  rewrite(pick: number, text: string): void {
    const { model, writer } = this;
    const path = model.path();
    const isRefused = (entry: TranscriptEntry | undefined): boolean =>
      path.some((other) => other.type === "message" && other.supersedes === entry?.id) ||
      !model.committed().has(entry?.turnId ?? "");
    const messages = path.filter(
      (entry) => entry.type === "message" && (pick % 5 === 0 || !isRefused(entry)),
    );
    if (messages.length === 0) return;
    const chosen = new Set([pick, pick >> 3, pick >> 6].map((at) => messages[at % messages.length]));
    const requests = [...chosen].flatMap((entry, at) =>
      entry?.type === "message"
        ? [{ entryId: entry.id, message: withText(entry.message, `${text} ${at}`) }]
        : [],
    );
    const before = entriesOf(writer.record.file).length;
    const context = writer.contextMessages().messages;
    const due = model.due();
    const result = writer.rewrite(requests);
    const added = entriesOf(writer.record.file).slice(before);
    const refused = [...chosen].some(isRefused);
    assert.equal(result.changed, !refused, result.reason);
    if (refused) return assert.deepEqual(added, []);
    assert.equal(result.rewrittenEntries, requests.length);
    const first = path.findIndex((entry) => requests.some(({ entryId }) => entryId === entry.id));
    const copied = path.slice(first);
    assert.deepEqual(
      added.map((entry) => entry.type),
      copied.map((entry) => entry.type),
    );
    for (const entry of added) model.add(entry);
    const replaced = new Map(requests.map(({ entryId, message }) => [entryId, textOf(message)]));
    assert.deepEqual(
      writer.contextMessages().messages.map(textOf),
      context.map((message) => replaced.get(message.entryId ?? "") ?? textOf(message)),
    );
    assert.deepEqual(
      model.due().map(({ turnId, texts }) => [turnId, texts.length]),
      due.map(({ turnId, texts }) => [turnId, texts.length]),
    );
  }

  commit(again: boolean, finalized?: boolean): void {
    const before = this.model.committed().has(this.turnId());
    const how = finalized === undefined ? {} : { finalized };
    assert.equal(this.writer.commitTurn({ turnId: this.turnId(), outcome: "completed", ...how }), !before);
    if (again) assert.equal(this.writer.commitTurn({ turnId: this.turnId(), outcome: "failed" }), false);
    const last = entriesOf(this.writer.record.file).at(-1);
    if (!before && last) this.model.add(last);
    this.turn += 1;
  }

  async check(): Promise<void> {
    const { model, writer } = this;
    assert.equal(writer.leafId, model.leaf);
    assert.deepEqual(entriesOf(writer.record.file), [...model.entries.values()]);
    const context = writer.contextMessages();
    assert.deepEqual(context.messages.map(textOf), model.context());
    assert.equal(context.complete, true);
    const again = writer.contextMessages().messages;
    context.messages.forEach((message, at) => assert.equal(again[at], message));
    const ids = model.path().map((entry) => entry.id);
    assert.deepEqual(
      (await collect(writer.cursor.forward())).map((entry) => entry.id),
      ids,
    );
    assert.deepEqual(
      (await collect(writer.cursor.backward())).map((entry) => entry.id),
      ids.toReversed(),
    );
    const middle = ids[ids.length >> 1];
    if (middle !== undefined) {
      const at = ids.indexOf(middle);
      assert.deepEqual(
        (await collect(writer.cursor.forward(middle))).map((entry) => entry.id),
        ids.slice(at + 1),
      );
      assert.deepEqual(
        (await collect(writer.cursor.backward(middle))).map((entry) => entry.id),
        ids.slice(0, at).toReversed(),
      );
    }
    for (const entry of model.entries.values()) assert.deepEqual(await writer.cursor.get(entry.id), entry);
    this.checkPlaces();
    assert.deepEqual(
      [...writer.unfinalizedTurns()].map(({ turnId, messages }) => ({ turnId, texts: messages.map(textOf) })),
      model.due(),
    );
    this.checkFresh(context.messages);
  }

  checkPlaces(): void {
    const positions = new Map<string, number>();
    let messages = 0;
    for (const entry of this.model.path()) {
      positions.set(entry.id, messages);
      if (entry.type === "message") messages += 1;
    }
    let rawSeq = 0;
    for (const { id } of this.model.entries.values()) {
      rawSeq += 1;
      assert.deepEqual(this.writer.place(id), { rawSeq, messagePosition: positions.get(id) });
    }
    assert.equal(this.writer.place("nobody"), undefined);
  }

  /** A fresh store reads the same, and slices by bytes are suffixes of the whole. */
  checkFresh(messages: AgentMessage[]): void {
    const store = openStore(this.dir);
    const reader = store.openReader(this.key);
    for (const maxBytes of [1, 500, 2_000]) {
      const cold = reader.contextMessages({ maxBytes });
      const warm = this.writer.contextMessages({ maxBytes });
      assert.deepEqual(cold, warm);
      if (cold.complete) assert.deepEqual(cold.messages, messages);
      else assert.ok(cold.messages.length <= messages.length);
    }
    assert.deepEqual(reader.contextMessages().messages, messages);
    assert.equal(reader.leafId, this.model.leaf);
    assert.equal(reader.record.entryCount, this.model.entries.size);
    reader.close();
    store.close();
  }
}

/** The message with another text: the tool calls stay. */
function withText(message: AgentMessage, text: string): AgentMessage {
  if (message.role === "user") return user(text);
  if (message.role === "toolResult") return toolResult(message.toolCallId, text);
  return assistant(
    text,
    message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : [])),
  );
}

test("any sequence of turns, crashes, rewinds, forks, rewrites and compactions reads as a plain tree would", async (t) => {
  const root = temporaryFolder(t);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      count += 1;
      const dir = join(root, String(count));
      const run = new Run(dir);
      try {
        for (const [at, next] of steps.entries()) {
          await run.do(next);
          if (at % 8 === 7) await run.check();
        }
        await run.check();
      } finally {
        run.writer.close();
        run.store.close();
        rmSync(dir, { recursive: true, force: true });
      }
    }),
    { numRuns: byLength(500, 60, 20) },
  );
});
