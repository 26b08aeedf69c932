import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { NativeHistory } from "@pagurus/contract/harness/native";
import type { SearchHit, SessionHold, SessionStore, Successor } from "@pagurus/contract/session/store";
import type { SessionReader, SessionRecord, SessionWriter } from "@pagurus/contract/session/writer";
import type { NewEntry } from "@pagurus/contract/session/transcript";
import type { DeletedSession } from "@pagurus/core/platform/deletions";
import { silentLogger, type Logger } from "@pagurus/core/platform/log";
import { Catalog } from "./index/session-catalog.ts";
import { createSession, forkSession } from "./create.ts";
import { deleteSessions, forgetSessions, resumeDeletions } from "./delete-sessions.ts";
import { beginInFolder, conversationsOf, firstKey, holdSession } from "./hold.ts";
import { openReader, openWriter, WarmSessions, type WriterOptions } from "./open-session.ts";
import { rotateSession } from "./rotate.ts";
import type { SharedLog } from "./session-lease.ts";
import { nextSlice } from "@pagurus/core/platform/pace";
import { searchSessions, type SearchOptions } from "./index/session-search.ts";
import { SessionIndex } from "./index/session-index.ts";
import type { SessionRow } from "./index/index-rows.ts";
import { SessionView } from "./transcript/session-view.ts";

export interface SessionStoreOptions {
  /** `<home>/agents/<agentId>`. */
  agentDir: string;
  agentId: string;
  logger?: Logger;
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** Owns the bytes of the sessions; without it the files of the folder are the sessions. */
  shared?: SharedLog;
  /** Called by `import`; a store without it refuses to import. */
  loadImporter?: () => Promise<SessionImporter>;
}

export type ImportOptions = NonNullable<Parameters<SessionStore["import"]>[1]>;

/** Imports sessions into a catalog; `packages/importers/src/sessions/import-file.ts`. */
export interface SessionImporter {
  importFile(catalog: Catalog, path: string, options: ImportOptions): Promise<SessionRow>;
  importNative(catalog: Catalog, history: NativeHistory, options: ImportOptions): Promise<SessionRow>;
}

/** The sessions of one agent in its folder. Opens and creates nothing before the first call that needs it. */
export function openSessionStore(options: SessionStoreOptions): SessionStore {
  return new EmbeddedSessionStore(options);
}

/** The store of one host. A store of several hosts works through it on the mirrors of this one. */
export class EmbeddedSessionStore implements SessionStore {
  readonly catalog: Catalog;
  readonly #warm = new WarmSessions();
  readonly #loadImporter: SessionStoreOptions["loadImporter"];

  constructor(options: SessionStoreOptions) {
    const folder = join(options.agentDir, "sessions");
    const logger = (options.logger ?? silentLogger).child({ agentId: options.agentId });
    const index = new SessionIndex(options.agentDir, folder, logger);
    this.catalog = new Catalog(folder, index, logger, {
      now: options.now ?? Date.now,
      shared: options.shared,
    });
    this.#loadImporter = options.loadImporter;
  }

  /** The catalog, after what a crash left of deletions was removed. */
  get #current(): Catalog {
    resumeDeletions(this.catalog);
    return this.catalog;
  }

  openWriter(sessionKey: string, options: WriterOptions): SessionWriter {
    return openWriter(this.#current, this.#warm, sessionKey, options);
  }

  openReader(sessionKey: string, sessionId?: string): SessionReader {
    return openReader(this.#current, this.#warm, sessionKey, sessionId);
  }

  list(): SessionRecord[] {
    return this.#current.list();
  }

  find(sessionKey: string): SessionRecord | undefined {
    const row = this.#current.current(sessionKey);
    return row && this.catalog.record(row);
  }

  search(query: string, options?: SearchOptions & { among?: readonly string[] }): SearchHit[] {
    return searchSessions(this.#current, query, options);
  }

  renew(sessionKey: string, options: { cwd: string }): SessionRecord {
    return this.catalog.record(
      createSession(this.#current, sessionKey, { cwd: options.cwd, present: "renew" }),
    );
  }

  reserveId(): string {
    return this.catalog.nextId();
  }

  inFolder(folder: string): SessionRecord[] {
    return conversationsOf(this.#current, folder).map((row) => this.catalog.counted(row));
  }

  firstKey(folder: string): string {
    return firstKey(this.#current, folder);
  }

  hold(sessionKey: string, folder?: string): SessionHold {
    return holdSession(this.#current, sessionKey, folder);
  }

  begin(folder: string): SessionHold {
    return beginInFolder(this.#current, folder);
  }

  create(sessionKey: string, options: { cwd: string; sessionId?: string; folder?: string }): SessionRecord {
    return this.catalog.record(createSession(this.#current, sessionKey, { ...options, present: "refuse" }));
  }

  async fork(
    sessionKey: string,
    newKey: string,
    options: { entryId?: string; sessionId?: string } = {},
  ): Promise<SessionRecord> {
    const source = this.#current.require(sessionKey);
    return this.catalog.record(await forkSession(this.#current, source, newKey, options));
  }

  rotate(writer: SessionWriter, successor: Successor, carry: readonly NewEntry[]): SessionWriter {
    return rotateSession(this.#current, this.#warm, writer, successor, carry);
  }

  delete(sessionKey: string, also: readonly string[] = []): { sessions: number; bytes: number } {
    const catalog = this.#current;
    for (const key of [sessionKey, ...also])
      for (const row of catalog.generations(key)) this.#warm.forget(row.id);
    return deleteSessions(catalog, [sessionKey, ...also]);
  }

  /** Removes what this host has of sessions that another host deleted. */
  forget(sessions: readonly DeletedSession[]): void {
    for (const { id } of sessions) this.#warm.forget(id);
    forgetSessions(this.catalog, sessions);
  }

  export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array> {
    const state = this.catalog.index.ensure(this.#current.require(sessionKey).id);
    if (!state) throw new PagurusError("session_not_found", `The transcript of ${sessionKey} is gone.`);
    const { row } = state;
    const file = this.catalog.paths(row.id).transcript;
    const view = new SessionView(this.catalog.index, row, file, (session) =>
      this.catalog.keyPosition(session),
    );
    return exported(view, format === "jsonl" ? undefined : this.catalog.record(row));
  }

  async import(source: string | NativeHistory, options: ImportOptions = {}): Promise<SessionRecord> {
    const importer = await this.#loadImporter?.();
    if (!importer) throw new PagurusError("internal", "The session store was opened without an importer.");
    // What was loaded for it may have filled this slice of the event loop.
    await nextSlice();
    const row =
      typeof source === "string"
        ? await importer.importFile(this.#current, source, options)
        : await importer.importNative(this.#current, source, options);
    return this.catalog.record(row);
  }

  close(): void {
    this.catalog.index.close();
  }
}

/** The transcript as lines, or with its record as Markdown. */
async function* exported(
  view: SessionView,
  record: SessionRecord | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  const { exportLines, exportMarkdown } = await import("./export-session.ts");
  yield* record ? exportMarkdown(view, record) : exportLines(view);
}
