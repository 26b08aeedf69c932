/** The session store of an agent on a server. */
import { defined } from "@pagurus/core/data/defined";
import type { PagurusClient } from "@pagurus/client/client";
import type { Session, TranscriptState } from "@pagurus/api/types";
import { PagurusError } from "@pagurus/contract/errors";
import type { SearchHit, SessionStore } from "@pagurus/contract/session/store";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SessionReader, SessionRecord, SessionWriter } from "@pagurus/contract/session/writer";
import type { BlockingCalls } from "./blocking-calls.ts";

const PAGE = 500;

/** Throws: what a server does not do for its clients. */
export function notThere(what: string): never {
  throw new PagurusError(
    "usage_invalid",
    `A server does not ${what} for its clients; run the command on its machine with --no-server.`,
  );
}

function pathOf(key: string, rest = ""): string {
  return `/sessions/${encodeURIComponent(key)}${rest}`;
}

/** The entries of the path, a page at a time. */
class RemoteCursor implements TranscriptCursor {
  readonly #client: PagurusClient;
  readonly #key: string;
  readonly #agent: string;

  constructor(client: PagurusClient, key: string, agent: string) {
    this.#client = client;
    this.#key = key;
    this.#agent = agent;
  }

  async *backward(beforeId?: string): AsyncGenerator<TranscriptEntry> {
    for (let before = beforeId; ;) {
      const page = await this.#client.entries(this.#key, { agent: this.#agent, limit: PAGE, before });
      yield* page.toReversed();
      before = page[0]?.id;
      if (page.length < PAGE) return;
    }
  }

  async *forward(afterId?: string): AsyncGenerator<TranscriptEntry> {
    const entries: TranscriptEntry[] = [];
    for await (const entry of this.backward()) {
      if (entry.id === afterId) break;
      entries.push(entry);
    }
    yield* entries.toReversed();
  }

  async get(id: string): Promise<TranscriptEntry | undefined> {
    for await (const entry of this.backward()) if (entry.id === id) return entry;
    return undefined;
  }
}

export interface RemoteSessionsOptions {
  client: PagurusClient;
  calls: BlockingCalls;
  agent: string;
}

export class RemoteSessions implements SessionStore {
  readonly #client: PagurusClient;
  readonly #calls: BlockingCalls;
  readonly #agent: string;

  constructor({ client, calls, agent }: RemoteSessionsOptions) {
    this.#client = client;
    this.#calls = calls;
    this.#agent = agent;
  }

  #get<T>(path: string, query: Record<string, string | number | undefined> = {}): T {
    return this.#calls.json<T>({ method: "GET", path, query: { agent: this.#agent, ...query } });
  }

  #post<T>(path: string, body: unknown): T {
    return this.#calls.json<T>({ method: "POST", path, query: { agent: this.#agent }, body });
  }

  #records(query: { key?: string; folder?: string } = {}): SessionRecord[] {
    return this.#get<{ records: SessionRecord[] }>("/records", query).records;
  }

  list(): SessionRecord[] {
    return this.#records();
  }

  find(sessionKey: string): SessionRecord | undefined {
    return this.#records({ key: sessionKey })[0];
  }

  inFolder(folder: string): SessionRecord[] {
    return this.#records({ folder });
  }

  search(query: string, options: { limit?: number; sessionKey?: string } = {}): SearchHit[] {
    const { limit = 20, sessionKey: session } = options;
    return this.#get<{ hits: SearchHit[] }>("/search", { q: query, limit, session }).hits;
  }

  #known(sessionKey: string): SessionRecord {
    return this.find(sessionKey) ?? notThere(`show the session ${sessionKey}`);
  }

  fork(sessionKey: string, newKey: string, { entryId }: { entryId?: string } = {}): Promise<SessionRecord> {
    this.#post<Session>(pathOf(sessionKey, "/fork"), { key: newKey, entryId });
    return Promise.resolve(this.#known(newKey));
  }

  openReader(sessionKey: string, sessionId?: string): SessionReader {
    const state = this.#get<TranscriptState>(pathOf(sessionKey, "/state"), { id: sessionId });
    const { record, leafId, notices, interruptedTurns, runningIn } = state;
    return {
      record,
      leafId,
      notices,
      cursor: new RemoteCursor(this.#client, sessionKey, this.#agent),
      ...defined({ runningIn }),
      interruptedTurns: () => interruptedTurns,
      contextMessages: () => notThere("assemble the messages of a session"),
      close: () => undefined,
    };
  }

  /** For a rewind alone. */
  openWriter(sessionKey: string): SessionWriter {
    const reader = this.openReader(sessionKey);
    const { record, leafId, notices, cursor } = reader;
    const refused = (): never => notThere("write entries");
    return {
      record,
      leafId,
      notices,
      cursor,
      listen: () => undefined,
      rewind: (entryId) => void this.#post<Session>(pathOf(sessionKey, "/rewind"), { entryId }),
      close: () => undefined,
      contextMessages: refused,
      unfinalizedTurns: refused,
      append: refused,
      commitTurn: refused,
      recordedTurn: refused,
      markFinalized: refused,
      rewrite: refused,
      place: refused,
    };
  }

  create(sessionKey: string, { cwd }: { cwd: string }): SessionRecord {
    this.#calls.json<Session>({
      method: "POST",
      path: "/sessions",
      body: { key: sessionKey, agent: this.#agent, cwd },
    });
    return this.#known(sessionKey);
  }

  renew(sessionKey: string, { cwd }: { cwd: string }): SessionRecord {
    this.#post<Session>(pathOf(sessionKey, "/renew"), { cwd });
    return this.#known(sessionKey);
  }

  /** The server deletes its children too. */
  delete(sessionKey: string): { sessions: number; bytes: number } {
    return this.#calls.json({ method: "DELETE", path: pathOf(sessionKey), query: { agent: this.#agent } });
  }

  export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array> {
    return this.#client.export(sessionKey, { agent: this.#agent, format });
  }

  import(): Promise<SessionRecord> {
    return notThere("import files");
  }
  reserveId(): string {
    return notThere("reserve ids");
  }
  firstKey(): string {
    return notThere("choose keys");
  }
  hold(): never {
    return notThere("hold sessions");
  }
  begin(): never {
    return notThere("hold sessions");
  }
  rotate(): never {
    return notThere("rotate sessions");
  }
  close(): void {}
}
