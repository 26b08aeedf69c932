/**
 * An agent's folder with the real transcripts and the engine, and a list of all its messages, which the engine has to
 * return byte for byte, whatever was done to the folder.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { contextFromPath } from "../../../../packages/core/src/compaction/compaction-context.ts";
import { checkCut } from "../../../../packages/core/src/compaction/cut-check.ts";
import { textOf } from "../../../../packages/core/src/compaction/message-text.ts";
import { isValidSequence, repairPairs } from "../../../../packages/core/src/compaction/tool-pairing.ts";
import { wellFormedJson } from "../../../../packages/core/src/data/well-formed.ts";
import type { CompactResult } from "../../../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../../../packages/contract/src/model.ts";
import type { RuntimeContext } from "../../../../packages/contract/src/engine/runtime-context.ts";
import type { SessionStore } from "../../../../packages/contract/src/session/store.ts";
import { readSummary } from "../../../../packages/contract/src/engine/summary.ts";
import { isRecallBlock } from "../../../../packages/contract/src/engine/recall-block.ts";
import type {
  TranscriptCursor,
  TranscriptEntry,
} from "../../../../packages/contract/src/session/transcript.ts";
import type { SessionWriter } from "../../../../packages/contract/src/session/writer.ts";
import { createLegacyEngine } from "../../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { rebuildStore } from "../../../../packages/lossless/src/command/rebuild.ts";
import { createLosslessEngine } from "../../../../packages/lossless/src/lossless-engine.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import { openSessionStore } from "../../../../packages/host/src/stores/files/session-store.ts";
import { estimateTokens } from "../../../../packages/core/src/tokens/estimate.ts";
import { messagesTokens } from "../../../../packages/core/src/tokens/message-tokens.ts";
import { joinLive } from "../../../../packages/host/src/turn/context/live-messages.ts";
import { assertPartition } from "./partition.ts";

const BUDGET = 6_000;
const DATABASE = "lossless.db";

/** A session with its messages: JSON of each message by the id of its entry. */
export interface WorldSession {
  key: string;
  sessionId: string;
  messages: Map<string, string>;
}

export class World {
  readonly root = mkdtempSync(join(tmpdir(), "lossless-world-"));
  readonly agentDir = join(this.root, "agent");
  readonly transcripts: SessionStore;
  /** Every session that was not deleted, earlier generations too. */
  readonly sessions: WorldSession[] = [];
  /** Entries that only the transcript has: branches that were abandoned before the database was rebuilt. */
  readonly leftBefore = new Set<string>();
  llm: LlmComplete = () => Promise.reject(new Error("no model"));
  #engine: ContextEngine;
  #store: LosslessStore | undefined;
  #turns = 0;
  #numbers = 0;
  #keys = 0;
  #copies = 0;

  constructor() {
    mkdirSync(this.agentDir, { mode: 0o700 });
    this.transcripts = openSessionStore({ agentDir: this.agentDir, agentId: "main" });
    this.#engine = this.#open();
  }

  get engine(): ContextEngine {
    return this.#engine;
  }

  get store(): LosslessStore {
    assert.ok(this.#store);
    return this.#store;
  }

  get config(): unknown {
    const config = { trigger: 3_000, headTokens: 700, tailTokens: 600 };
    return {
      agents: { defaults: { model: "test/model" } },
      plugins: { entries: { lossless: { config } } },
    };
  }

  #open(): ContextEngine {
    return createLosslessEngine(
      { agentDir: this.agentDir, config: this.config },
      { onStore: (store) => (this.#store = store) },
    );
  }

  async end(): Promise<void> {
    await this.#engine.dispose?.();
    this.transcripts.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  context(cursor: TranscriptCursor, extra: Partial<RuntimeContext> = {}): RuntimeContext {
    return {
      config: this.config,
      provider: "test",
      model: "test/model",
      modelId: "model",
      agentId: "main",
      agentHarnessId: "embedded",
      cwd: this.root,
      contextWindow: BUDGET + 2_000,
      tokenBudget: BUDGET,
      tokens: (value) =>
        typeof value === "string" ? estimateTokens(value) : messagesTokens([value].flat() as AgentMessage[]),
      llm: { complete: this.llm },
      allowDeferredCompactionExecution: true,
      transcript: cursor,
      ...extra,
    };
  }

  params(
    session: WorldSession,
    cursor: TranscriptCursor,
    extra: Partial<RuntimeContext> = {},
  ): { sessionId: string; sessionKey: string; sessionFile: string; runtimeContext: RuntimeContext } {
    const { sessionId, key: sessionKey } = session;
    const runtimeContext = this.context(cursor, extra);
    return { sessionId, sessionKey, sessionFile: join(this.root, "no-mirror.jsonl"), runtimeContext };
  }

  /** A number for texts that no other turn has. */
  nextNumber(): number {
    return this.#numbers++;
  }

  // Actions of a user or the host

  create(): WorldSession {
    const key = `s${this.#keys++}`;
    const { sessionId } = this.transcripts.create(key, { cwd: this.root });
    const session = { key, sessionId, messages: new Map<string, string>() };
    this.sessions.push(session);
    return session;
  }

  async #write<T>(session: WorldSession, work: (writer: SessionWriter) => Promise<T> | T): Promise<T> {
    const writer = this.transcripts.openWriter(session.key, { cwd: this.root, create: false });
    try {
      return await work(writer);
    } finally {
      writer.close();
    }
  }

  /** Runs a turn as the host does: assembles before the first answer and after each round, compacts, settles. */
  async turn(
    session: WorldSession,
    messages: readonly AgentMessage[],
    outcome: "completed" | "failed",
  ): Promise<void> {
    const turnId = `turn${this.#turns++}`;
    await this.#write(session, async (writer) => {
      for (const message of messages) {
        const entry = writer.append({ type: "message", turnId, message });
        session.messages.set(entry.id, wellFormedJson(message));
        if (message.role !== "assistant") await this.#call(session, writer, turnId);
      }
      writer.commitTurn({ turnId, outcome, finalized: false });
      const { sessionFile: _, ...params } = this.params(session, writer.cursor);
      const anchor = { agentId: "main", sessionId: session.sessionId, generation: "1", storePath: this.root };
      const place = { entryId: turnId, rawSeq: 0, effectiveParentId: null, activeMessagePosition: 0 };
      const at = { ...anchor, ...place, sessionKey: session.key };
      const admission = { ...at, logicalTurnId: turnId, role: "user" as const };
      await this.engine.commitTurn?.({
        ...params,
        advancementKey: turnId,
        admission,
        terminal: at,
        messages: [],
      });
      writer.markFinalized(turnId);
    });
  }

  async #call(session: WorldSession, writer: SessionWriter, turnId: string): Promise<void> {
    const ask = async (): Promise<boolean> => {
      const { messages, liveStart } = await contextFromPath(writer.cursor, turnId);
      const live = messages.slice(liveStart);
      const isFirst = live.length <= 1;
      const answer = await this.engine.assemble({
        ...this.params(session, writer.cursor, { turnId }),
        messages: isFirst ? [] : live,
        tokenBudget: BUDGET,
        ...(isFirst ? { prompt: "the input" } : {}),
      });
      const sent = repairPairs(joinLive(answer.messages, live, isFirst ? "the input" : undefined));
      assert.equal(isValidSequence(sent), undefined);
      return answer.wantsCompaction === true || (answer.estimatedTokens ?? 0) > BUDGET;
    };
    if ((await ask()) && (await this.#compact(session, writer, { turnId }))) await ask();
  }

  async compact(session: WorldSession, focus: string | undefined): Promise<void> {
    await this.#write(session, (writer) => this.#compact(session, writer, { manual: true, focus }));
  }

  async #compact(
    session: WorldSession,
    writer: SessionWriter,
    how: { turnId?: string; manual?: boolean; focus?: string | undefined },
  ): Promise<boolean> {
    const { turnId, manual = false, focus } = how;
    const extra = { manualCompaction: manual, ...(turnId === undefined ? {} : { turnId }) };
    const params = {
      ...this.params(session, writer.cursor, extra),
      tokenBudget: BUDGET,
      force: manual,
      ...(focus === undefined ? {} : { customInstructions: focus }),
    };
    return this.#take(writer, await this.engine.compact(params), turnId);
  }

  /** Compacts with another engine, whose summary is an entry that this one finds. */
  async compactElsewhere(session: WorldSession): Promise<void> {
    await this.#write(session, async (writer) => {
      const legacy = createLegacyEngine();
      await this.#take(writer, await legacy.compact({ ...this.params(session, writer.cursor), force: true }));
    });
    await this.follow(session);
  }

  async #take(writer: SessionWriter, made: CompactResult, turnId?: string): Promise<boolean> {
    assert.equal(made.ok, true, made.reason);
    const { summary, firstKeptEntryId, tokensBefore = 0, origin = "engine", details } = made.result ?? {};
    if (!made.compacted || summary === undefined || firstKeptEntryId === undefined) return false;
    const { messages, liveStart, fragments } = await contextFromPath(writer.cursor, turnId);
    const cut = checkCut({ messages, liveStart, firstKeptEntryId, fragments });
    if ("reason" in cut) return false;
    const split = cut.splitTurnInputId === undefined ? {} : { splitTurnInputId: cut.splitTurnInputId };
    writer.append({
      type: "compaction",
      summary,
      firstKeptEntryId,
      ...split,
      tokensBefore,
      origin,
      ...(details === undefined ? {} : { details }),
    });
    return true;
  }

  async rewrite(
    session: WorldSession,
    which: number,
    change: (message: AgentMessage) => AgentMessage,
  ): Promise<void> {
    await this.#write(session, async (writer) => {
      const messages = await pathMessages(writer.cursor);
      const entry = messages[which % Math.max(1, messages.length)];
      if (!entry) return;
      writer.rewrite([{ entryId: entry.id, message: change(entry.message) }]);
      for (const { id, message } of await pathMessages(writer.cursor))
        if (!session.messages.has(id)) session.messages.set(id, wellFormedJson(message));
    });
    await this.follow(session);
  }

  async rewind(session: WorldSession, which: number): Promise<void> {
    await this.#write(session, async (writer) => {
      const path: string[] = [];
      for await (const { id } of writer.cursor.forward()) path.push(id);
      writer.rewind(path[which % (path.length + 1)] ?? null);
    });
    await this.follow(session);
  }

  async fork(session: WorldSession, which: number): Promise<void> {
    const path: TranscriptEntry[] = [];
    await this.#write(session, async (writer) => {
      for await (const entry of writer.cursor.forward()) path.push(entry);
    });
    const at = path[which % Math.max(1, path.length)];
    if (!at) return;
    const key = `s${this.#keys++}`;
    const { sessionId } = await this.transcripts.fork(session.key, key, { entryId: at.id });
    const messages = new Map<string, string>();
    for (const { id } of path.slice(0, path.indexOf(at) + 1)) {
      const json = session.messages.get(id);
      if (json !== undefined) messages.set(id, json);
    }
    const child = { key, sessionId, messages };
    this.sessions.push(child);
    await this.engine.prepareSubagentSpawn?.({
      parentSessionKey: session.key,
      childSessionKey: key,
      contextMode: "fork",
      parentSessionId: session.sessionId,
      childSessionId: sessionId,
    });
    await this.follow(child);
  }

  /** `/new`: the previous generation stays readable. */
  renew(session: WorldSession): void {
    const { sessionId } = this.transcripts.renew(session.key, { cwd: this.root });
    this.sessions.push({ key: session.key, sessionId, messages: new Map() });
  }

  /** Deletes every generation of the key through a separate store, as the host does at the end of a session. */
  async delete(session: WorldSession): Promise<void> {
    const gone = this.sessions.filter(({ key }) => key === session.key);
    this.transcripts.delete(session.key);
    const store = openLosslessStore(this.agentDir);
    try {
      await store.deleteSession(gone.map(({ sessionId }) => sessionId));
    } finally {
      await store.close();
    }
    for (const one of gone) this.sessions.splice(this.sessions.indexOf(one), 1);
    this.#checkForgotten(gone);
  }

  /** Checks that the folder has no bytes of messages that only these sessions had. */
  #checkForgotten(gone: readonly WorldSession[]): void {
    const stays = this.sessions.flatMap(({ messages }) => [...messages.values()]).join("\n");
    const files = this.#databaseFiles().map((name) => readFileSync(join(this.agentDir, name)));
    for (const [, request = ""] of gone
      .flatMap(({ messages }) => [...messages.values()])
      .flatMap((json) => [...json.matchAll(/"(Request \d{4}: look after berth B\d+\.)/g)])) {
      if (stays.includes(request)) continue;
      assert.ok(!files.some((bytes) => bytes.includes(request)), `"${request}" is still in the folder`);
    }
  }

  /** True for the current generation of the key. */
  isCurrent({ key, sessionId }: WorldSession): boolean {
    return this.transcripts.find(key)?.sessionId === sessionId;
  }

  // Events of the engine and its database

  /** Bootstraps, as at the next start of the host. */
  async follow(session: WorldSession): Promise<void> {
    const reader = this.transcripts.openReader(session.key, session.sessionId);
    try {
      await this.engine.bootstrap?.(this.params(session, reader.cursor));
    } finally {
      reader.close();
    }
  }

  async maintain(session: WorldSession): Promise<void> {
    const reader = this.transcripts.openReader(session.key, session.sessionId);
    try {
      await this.engine.maintain?.(this.params(session, reader.cursor));
    } finally {
      reader.close();
    }
  }

  async restart(between?: () => Promise<void> | void): Promise<void> {
    await this.#engine.dispose?.();
    await between?.();
    this.#engine = this.#open();
  }

  #databaseFiles(): string[] {
    return readdirSync(this.agentDir).filter((name) => name.startsWith(DATABASE));
  }

  /** Simulates a kill: restarts with the files as they are, without closing anything. */
  async crash(): Promise<void> {
    const copy = join(this.root, `copy${this.#copies++}`);
    mkdirSync(copy);
    for (const name of this.#databaseFiles()) copyFileSync(join(this.agentDir, name), join(copy, name));
    await this.restart(() => this.#replace((name) => join(copy, name), readdirSync(copy)));
  }

  async backupAndRestore(): Promise<void> {
    const copy = join(this.root, `backup${this.#copies++}.db`);
    await this.store.backup(copy);
    await this.restart(() => this.#replace(() => copy, [DATABASE]));
  }

  #replace(source: (name: string) => string, names: readonly string[]): void {
    for (const name of this.#databaseFiles()) rmSync(join(this.agentDir, name));
    for (const name of names) copyFileSync(source(name), join(this.agentDir, name));
  }

  /** Deletes the database and rebuilds it from the transcripts: session by session, or by the user's command. */
  async rebuild(how: "lost" | "command"): Promise<void> {
    const { agentDir, config, transcripts } = this;
    if (how === "lost") await this.restart(() => this.#replace(() => "", []));
    else await this.restart(async () => void (await rebuildStore({ agentDir, config, transcripts })));
    for (const session of this.sessions) {
      if (how === "lost") await this.follow(session);
      // The transcript of an empty generation makes no session.
      if (!this.store.session(session.sessionId)) continue;
      for (const id of session.messages.keys())
        if (this.store.getJson(id, session.sessionId) === undefined)
          this.leftBefore.add(`${session.sessionId} ${id}`);
    }
  }

  vacuum(): void {
    const raw = new DatabaseSync(join(this.agentDir, DATABASE));
    raw.exec("PRAGMA busy_timeout = 5000");
    raw.function("pairs", { deterministic: true }, (text) => text);
    raw.exec("VACUUM");
    raw.close();
  }

  // Checks

  /** Checks every message by id, and that the summaries of each session are a partition of their range. */
  async check(): Promise<void> {
    for (const session of this.sessions) {
      const { sessionId, messages, key } = session;
      if (messages.size > 0) assert.ok(this.store.session(sessionId), `${sessionId} is not known`);
      for (const [id, json] of messages) {
        if (this.leftBefore.has(`${sessionId} ${id}`)) continue;
        assert.equal(this.store.getJson(id, sessionId), json, `${id} of ${key}`);
      }
      if (!this.store.session(sessionId)) continue;
      assertPartition(this.store, sessionId);
      if (this.isCurrent(session)) await this.#checkContext(session);
    }
    await this.#checkTranscripts();
  }

  /** Checks that the messages after the head are exactly the end of the path; before the first epoch, the path. */
  async #checkContext(session: WorldSession): Promise<void> {
    const reader = this.transcripts.openReader(session.key, session.sessionId);
    const path = await pathMessages(reader.cursor);
    const params = this.params(session, reader.cursor);
    const { messages } = await this.engine.assemble({ ...params, messages: [], prompt: "a look" });
    reader.close();
    const head = messages.findIndex((message) => readSummary(textOf(message)) !== undefined);
    const kept = messages.slice(head + 1).filter((message) => !isRecallBlock(textOf(message)));
    const first = kept.find(({ entryId }) => entryId !== undefined)?.entryId;
    const from = first === undefined ? path.length : path.findIndex(({ id }) => id === first);
    assert.ok(from >= 0, `the context of ${session.key} shows ${first}, which is not on the path`);
    // A preview reads no more than a few triggers of a path that was never compacted.
    const isWhole = head < 0 && messagesTokens(path.map(({ message }) => message)) <= BUDGET;
    const expected = path.slice(isWhole ? 0 : from).map(({ message }) => message);
    assert.deepEqual(wordsOf(kept), wordsOf(expected), `the context of ${session.key}`);
  }

  /** Problems found by `verify`. */
  async problems(): Promise<string[]> {
    const { problems } = await this.store.verify();
    // verify() counts a text twice that an entry has both as text and as a call's arguments.
    return problems.filter((problem) => !/^-\d+ counted references are of no entry/.test(problem));
  }

  /** Checks that entries that only the transcript has are still there, by id. */
  async #checkTranscripts(): Promise<void> {
    if (this.leftBefore.size === 0) return;
    for (const { key, sessionId, messages } of this.sessions) {
      const reader = this.transcripts.openReader(key, sessionId);
      for (const [id, json] of messages) {
        if (!this.leftBefore.has(`${sessionId} ${id}`)) continue;
        const entry = await reader.cursor.get(id);
        assert.ok(entry?.type === "message");
        assert.equal(JSON.stringify(entry.message), json);
        assert.equal(await isOnPath(reader.cursor, id), false, `${id} is on the path and was not taken in`);
      }
      reader.close();
    }
  }
}

async function isOnPath(cursor: TranscriptCursor, id: string): Promise<boolean> {
  for await (const entry of cursor.forward()) if (entry.id === id) return true;
  return false;
}

/** The text of each message for a model; a result may have been left out. */
function wordsOf(messages: readonly AgentMessage[]): string[] {
  return repairPairs(messages).map((message) =>
    message.role === "toolResult" ? message.toolCallId : JSON.stringify(message.content),
  );
}

async function pathMessages(cursor: TranscriptCursor): Promise<{ id: string; message: AgentMessage }[]> {
  const messages: { id: string; message: AgentMessage }[] = [];
  for await (const entry of cursor.forward())
    if (entry.type === "message") messages.push({ id: entry.id, message: entry.message });
  return messages;
}
