/**
 * What the host keeps of its channels, in the server's database: places in the archives, who may speak, which work answers which
 * person, and what is to be sent. The command line writes here too.
 */
import { randomInt } from "node:crypto";
import type { OutgoingMessage } from "../contract/channel/channel.ts";
import type { Database } from "../data/sqlite.ts";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channels (id TEXT PRIMARY KEY, cursor TEXT, state TEXT, since INTEGER, missed TEXT);
CREATE TABLE IF NOT EXISTS channel_peers (
  channel TEXT NOT NULL, address TEXT NOT NULL, name TEXT, state TEXT NOT NULL, code TEXT, asked INTEGER NOT NULL,
  PRIMARY KEY (channel, address));
CREATE TABLE IF NOT EXISTS channel_work (
  work TEXT PRIMARY KEY, channel TEXT NOT NULL, address TEXT NOT NULL, is_group INTEGER NOT NULL, answered INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS channel_work_open ON channel_work (work) WHERE answered = 0;
CREATE TABLE IF NOT EXISTS channel_outgoing (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, address TEXT NOT NULL,
  is_group INTEGER NOT NULL, text TEXT NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS channel_outgoing_to ON channel_outgoing (channel, address, seq);
CREATE INDEX IF NOT EXISTS channel_outgoing_open ON channel_outgoing (channel, seq) WHERE state IN ('waiting', 'sending');`;

/** A code can be used for this long, ms. */
const CODE_MS = 60 * 60_000;
/** Strangers of one channel that wait at once. */
const MOST_STRANGERS = 50;
/** Without letters and digits that look alike. */
const CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH = 8;

/** Where an answer goes. */
export interface Place {
  channel: string;
  address: string;
  isGroup: boolean;
}

export interface Peer {
  channel: string;
  address: string;
  name?: string;
  state: "waiting" | "approved" | "blocked";
  code?: string;
  /** Milliseconds since the epoch. */
  askedAt: number;
}

interface PeerRow {
  channel: string;
  address: string;
  name: string | null;
  state: Peer["state"];
  code: string | null;
  asked: number;
}

interface OutgoingRow {
  seq: number;
  id: string;
  address: string;
  is_group: number;
  text: string;
  state: "waiting" | "sending";
  created: number;
}

export interface ChannelState {
  /** A sentence about the connection. */
  state: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** What may have been missed, in a sentence. */
  missed?: string;
}

export class ChannelStore {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(SCHEMA);
  }

  /** Undefined before the first connection. */
  cursor(channel: string): string | undefined {
    const row = this.#db.get<{ cursor: string | null }>("SELECT cursor FROM channels WHERE id = ?", channel);
    return row?.cursor ?? undefined;
  }

  /** Runs writes in one transaction. */
  transaction<T>(work: () => T): T {
    return this.#db.transaction(work);
  }

  /** Called in a transaction with what was received up to there. */
  setCursor(channel: string, cursor: string | undefined): void {
    if (cursor === undefined) return;
    this.#db.run(
      "INSERT INTO channels (id, cursor) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET cursor = excluded.cursor",
      channel,
      cursor,
    );
  }

  setState(channel: string, state: string): void {
    this.#db.run(
      `INSERT INTO channels (id, state, since) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, since = excluded.since`,
      channel,
      state,
      this.#now(),
    );
  }

  setMissed(channel: string, missed: string): void {
    this.#db.run(
      "INSERT INTO channels (id, missed) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET missed = excluded.missed",
      channel,
      missed,
    );
  }

  state(channel: string): ChannelState | undefined {
    const row = this.#db.get<{ state: string | null; since: number | null; missed: string | null }>(
      "SELECT state, since, missed FROM channels WHERE id = ?",
      channel,
    );
    if (!row || row.state === null) return undefined;
    return {
      state: row.state,
      since: row.since ?? 0,
      ...(row.missed === null ? {} : { missed: row.missed }),
    };
  }

  /** The work that answers a person; in the transaction that accepts it. */
  addWork(workId: string, { channel, address, isGroup }: Place): void {
    this.#db.run(
      "INSERT OR IGNORE INTO channel_work (work, channel, address, is_group, answered) VALUES (?, ?, ?, ?, 0)",
      workId,
      channel,
      address,
      isGroup ? 1 : 0,
    );
  }

  /** Work of channels without an answer so far, oldest first. */
  unanswered(): { workId: string; place: Place }[] {
    return this.#db
      .all<{ work: string; channel: string; address: string; is_group: number }>(
        "SELECT * FROM channel_work WHERE answered = 0 ORDER BY work",
      )
      .map(({ work, channel, address, is_group }) => ({
        workId: work,
        place: { channel, address, isGroup: is_group === 1 },
      }));
  }

  placeOf(workId: string): Place | undefined {
    const row = this.#db.get<{ channel: string; address: string; is_group: number }>(
      "SELECT * FROM channel_work WHERE work = ?",
      workId,
    );
    return row && { channel: row.channel, address: row.address, isGroup: row.is_group === 1 };
  }

  /** Queues the parts of an answer, once for each work. */
  answer(workId: string, place: Place, texts: readonly string[]): void {
    this.#db.transaction(() => {
      for (const [part, text] of texts.entries()) this.queue(`${workId}-${part}`, place, text);
      this.#db.run("UPDATE channel_work SET answered = 1 WHERE work = ?", workId);
    });
  }

  /** Queues a message; one with a known id is queued already. */
  queue(id: string, { channel, address, isGroup }: Place, text: string): void {
    this.#db.run(
      `INSERT OR IGNORE INTO channel_outgoing (id, channel, address, is_group, text, state, created)
       VALUES (?, ?, ?, ?, ?, 'waiting', ?)`,
      id,
      channel,
      address,
      isGroup ? 1 : 0,
      text,
      this.#now(),
    );
  }

  isQueued(id: string): boolean {
    return this.#db.get("SELECT 1 FROM channel_outgoing WHERE id = ?", id) !== undefined;
  }

  /** The next message to send; `isRepeat`: an attempt has begun before. */
  nextOutgoing(channel: string): { message: OutgoingMessage; isRepeat: boolean } | undefined {
    const row = this.#db.get<OutgoingRow>(
      `SELECT * FROM channel_outgoing WHERE channel = ? AND state IN ('waiting', 'sending') ORDER BY seq LIMIT 1`,
      channel,
    );
    if (!row) return undefined;
    const { seq, id, address: to, is_group, text, created: createdAt } = row;
    const previous = this.#db.get<{ id: string }>(
      `SELECT id FROM channel_outgoing WHERE channel = ? AND address = ? AND seq < ? AND state = 'sent'
       ORDER BY seq DESC LIMIT 1`,
      channel,
      to,
      seq,
    );
    const message: OutgoingMessage = { id, to, isGroup: is_group === 1, text, createdAt };
    if (previous) message.previousId = previous.id;
    return { message, isRepeat: row.state === "sending" };
  }

  /** `lost`: it may not have arrived, and cannot be sent again without the risk of a second one. */
  setOutgoing(id: string, state: "sending" | "sent" | "lost"): void {
    this.#db.run("UPDATE channel_outgoing SET state = ? WHERE id = ?", state, id);
  }

  outgoingCount(channel: string): number {
    const row = this.#db.get<{ n: number }>(
      "SELECT count(*) AS n FROM channel_outgoing WHERE channel = ? AND state IN ('waiting', 'sending')",
      channel,
    );
    return row?.n ?? 0;
  }

  /** Removes what was sent before a time, ms since the epoch. */
  prune(before: number): void {
    this.#db.transaction(() => {
      this.#db.run("DELETE FROM channel_outgoing WHERE state IN ('sent', 'lost') AND created < ?", before);
      this.#db.run("DELETE FROM channel_work WHERE answered = 1 AND work NOT IN (SELECT id FROM work)");
    });
  }

  peer(channel: string, address: string): Peer | undefined {
    const row = this.#db.get<PeerRow>(
      "SELECT * FROM channel_peers WHERE channel = ? AND address = ?",
      channel,
      address,
    );
    return row && peerOf(row);
  }

  peers(channel?: string): Peer[] {
    return this.#db
      .all<PeerRow>("SELECT * FROM channel_peers ORDER BY channel, asked, address")
      .filter((row) => channel === undefined || row.channel === channel)
      .map(peerOf);
  }

  /** A code for a stranger; undefined where one is waiting for approval already, or too many are. */
  codeFor(channel: string, address: string, name: string | undefined): string | undefined {
    const now = this.#now();
    this.#db.run(
      "DELETE FROM channel_peers WHERE channel = ? AND state = 'waiting' AND asked < ?",
      channel,
      now - CODE_MS,
    );
    const waiting = this.peers(channel).filter(({ state }) => state === "waiting");
    if (waiting.length >= MOST_STRANGERS || this.peer(channel, address)) return undefined;
    const code = Array.from({ length: CODE_LENGTH }, () => CODE_LETTERS[randomInt(CODE_LETTERS.length)]).join(
      "",
    );
    this.#db.run(
      "INSERT INTO channel_peers (channel, address, name, state, code, asked) VALUES (?, ?, ?, 'waiting', ?, ?)",
      channel,
      address,
      name ?? null,
      code,
      now,
    );
    return code;
  }

  /** The stranger with the code may speak from now on; undefined for a code that is unknown or too old. */
  approve(code: string): Peer | undefined {
    const wanted = code.trim().toUpperCase();
    const found = this.peers().find((peer) => peer.state === "waiting" && peer.code === wanted);
    if (!found || found.askedAt < this.#now() - CODE_MS) return undefined;
    this.#db.run(
      "UPDATE channel_peers SET state = 'approved', code = NULL WHERE channel = ? AND address = ?",
      found.channel,
      found.address,
    );
    return this.peer(found.channel, found.address);
  }

  /** False where the channel does not know the address. */
  remove(channel: string, address: string): boolean {
    return this.#db.run("DELETE FROM channel_peers WHERE channel = ? AND address = ?", channel, address) > 0;
  }
}

function peerOf({ channel, address, name, state, code, asked }: PeerRow): Peer {
  return {
    channel,
    address,
    ...(name === null ? {} : { name }),
    state,
    ...(code === null ? {} : { code }),
    askedAt: asked,
  };
}
