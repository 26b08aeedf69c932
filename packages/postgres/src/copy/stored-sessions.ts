/** The statements of a copy: rows of sessions, and the bytes of their transcripts. All are limited to the tenant's own rows. */
import { hash } from "node:crypto";
import { quoted, type Queries } from "../connections.ts";
import type { StreamName } from "../shared-rows.ts";
import { Refused } from "./copy-report.ts";

/** Bytes of a chunk that a copy writes. */
const CHUNK = 256 * 1024;
/** Chunks that one query reads: a host's chunks may be of several megabytes. */
const CHUNKS_AT_ONCE = 8;
const HASHES_AT_ONCE = 1_000;

export interface StoredSession {
  id: string;
  key: string;
  generation: number;
  /** The generation with the greatest one is current. */
  precedence: number;
  isCurrent: boolean;
  folder: string | undefined;
  createdAt: string;
  bytes: number;
  /** A host has it now. */
  isLeased: boolean;
}

interface SessionColumns {
  session_id: string;
  key: string;
  generation: string;
  precedence: string;
  is_current: boolean;
  folder: string | null;
  created_at: Date;
  bytes: string;
  leased: boolean;
}

/** Reads part of a transcript on this machine; shorter than asked for at its end. */
export type ReadAt = (offset: number, length: number) => Uint8Array;

/** Bytes of a local file from an offset to another. */
interface Part {
  read: ReadAt;
  from: number;
  to: number;
}

export interface Comparison {
  /** One is the beginning of the other. */
  agrees: boolean;
  /** Bytes that are stored in the database. */
  stored: number;
}

/** The sessions of one agent in the database. */
export class StoredSessions {
  readonly #db: Queries;
  readonly #agent: string;
  readonly #sessions: string;
  /** The tables with the bytes of each stream. */
  readonly #chunks: Readonly<Record<StreamName, string>>;
  readonly #removed: string;

  constructor(db: Queries, schema: string, agent: string) {
    this.#db = db;
    this.#agent = agent;
    this.#sessions = `${quoted(schema)}.sessions`;
    this.#chunks = { transcript: `${quoted(schema)}.chunks`, receipts: `${quoted(schema)}.receipts` };
    this.#removed = `${quoted(schema)}.removed`;
  }

  async keys(): Promise<string[]> {
    const { rows } = await this.#db.query<{ key: string }>(
      `select distinct key from ${this.#sessions} where tenant = current_user and agent = $1 order by key`,
      [this.#agent],
    );
    return rows.map(({ key }) => key);
  }

  /** Every generation of a key, the first one first. With `lock` no other transaction changes them until the end of this one. */
  async ofKey(key: string, lock: "lock" | "read"): Promise<StoredSession[]> {
    return await this.#where("key = $2", key, lock);
  }

  /** The session with an id, under any key. */
  async byId(id: string): Promise<StoredSession | undefined> {
    return (await this.#where("session_id = $2", id, "read"))[0];
  }

  async #where(condition: string, value: string, lock: "lock" | "read"): Promise<StoredSession[]> {
    const { rows } = await this.#db.query<SessionColumns>(
      `select session_id, key, generation, coalesce(precedence, generation) as precedence, is_current, folder, created_at, bytes,
              coalesce(lease_until > now(), false) as leased
         from ${this.#sessions} where tenant = current_user and agent = $1 and ${condition}
        order by generation, session_id ${lock === "lock" ? "for update" : ""}`,
      [this.#agent, value],
    );
    return rows.map((row) => ({
      id: row.session_id,
      key: row.key,
      generation: Number(row.generation),
      precedence: Number(row.precedence),
      isCurrent: row.is_current,
      folder: row.folder ?? undefined,
      createdAt: row.created_at.toISOString(),
      bytes: Number(row.bytes),
      isLeased: row.leased,
    }));
  }

  /** An empty session, which is not the current one of its key. */
  async insert(session: Omit<StoredSession, "bytes" | "isCurrent" | "isLeased">): Promise<void> {
    const { id, key, generation, precedence, folder, createdAt } = session;
    await this.#db.query(
      `delete from ${this.#removed} where tenant = current_user and agent = $1 and session_id = $2`,
      [this.#agent, id],
    );
    await this.#db.query(
      `insert into ${this.#sessions} (agent, session_id, key, generation, precedence, is_current, folder, created_at)
       values ($1, $2, $3, $4, $5, false, $6, $7)`,
      [this.#agent, id, key, generation, precedence, folder ?? null, createdAt],
    );
  }

  /** Makes one generation of a key the current one. */
  async makeCurrent(key: string, id: string): Promise<void> {
    const set = `update ${this.#sessions} set changed = default, is_current =`;
    const where = "where tenant = current_user and agent = $1 and key = $2";
    // Two statements: at no moment may a key have two current ones.
    await this.#db.query(`${set} false ${where} and is_current and session_id <> $3`, [this.#agent, key, id]);
    await this.#db.query(`${set} true ${where} and not is_current and session_id = $3`, [
      this.#agent,
      key,
      id,
    ]);
  }

  /**
   * Appends the bytes of a transcript from an offset on, under an epoch that is greater than each one before. The transaction has locked the
   * session's row.
   */
  async append(id: string, part: Part & { epoch: number }): Promise<void> {
    const { from, to } = part;
    // A native thread of a host lacks what is copied, as if another host had written it.
    const { rows } = await this.#db.query<{ epoch: string }>(
      `update ${this.#sessions} set epoch = greatest(epoch + 1, $3), bytes = $4, changed = default, mirror = null,
              holder = null, holder_facts = null, lease_until = null
        where tenant = current_user and agent = $1 and session_id = $2 and bytes = $5 returning epoch`,
      [this.#agent, id, part.epoch, to, from],
    );
    const epoch = rows[0]?.epoch;
    if (epoch === undefined)
      throw new Refused("in_use", `The session ${id} has changed in the database meanwhile.`);
    await this.#insert("transcript", id, epoch, part);
  }

  /** The same for receipts; false where a host has the session now, or receipts were added meanwhile. */
  async appendReceipts(id: string, part: Part): Promise<boolean> {
    const { rows } = await this.#db.query<{ epoch: string }>(
      `update ${this.#sessions} set receipt_bytes = $3, changed = default
        where tenant = current_user and agent = $1 and session_id = $2 and receipt_bytes = $4
          and coalesce(lease_until <= now(), true) returning epoch`,
      [this.#agent, id, part.to, part.from],
    );
    const epoch = rows[0]?.epoch;
    if (epoch === undefined) return false;
    await this.#insert("receipts", id, epoch, part);
    return true;
  }

  async #insert(stream: StreamName, id: string, epoch: string, { read, from, to }: Part): Promise<void> {
    for (let at = from; at < to; at += CHUNK)
      await this.#db.query(
        `insert into ${this.#chunks[stream]} (agent, session_id, at, epoch, bytes) values ($1, $2, $3, $4, $5)`,
        [this.#agent, id, at, epoch, Buffer.from(read(at, Math.min(CHUNK, to - at)))],
      );
  }

  /** Compares a file of this machine with the stored stream by the hashes of its chunks, which the database computes. */
  async compare(
    id: string,
    read: ReadAt,
    size: number,
    stream: StreamName = "transcript",
  ): Promise<Comparison> {
    let stored = 0;
    let agrees = true;
    for (;;) {
      const { rows } = await this.#db.query<{ at: string; length: number; common: string }>(
        `select at, octet_length(bytes) as length,
                encode(sha256(case when at >= $4 then ''
                                   when at + octet_length(bytes) <= $4 then bytes
                                   else substring(bytes from 1 for ($4 - at)::integer) end), 'hex') as common
           from ${this.#chunks[stream]} where tenant = current_user and agent = $1 and session_id = $2 and at >= $3
          order by at limit ${HASHES_AT_ONCE}`,
        [this.#agent, id, stored, size],
      );
      for (const { at, length, common } of rows) {
        const local = read(stored, Math.max(0, Math.min(length, size - stored)));
        agrees &&= Number(at) === stored && hash("sha256", local, "hex") === common;
        stored = Number(at) + length;
      }
      if (rows.length < HASHES_AT_ONCE) return { agrees, stored };
    }
  }

  /** The bytes of a stream in order. */
  async *bytes(id: string, stream: StreamName = "transcript"): AsyncGenerator<Uint8Array, void, void> {
    let at = 0;
    for (;;) {
      const { rows } = await this.#db.query<{ bytes: Buffer }>(
        `select bytes from ${this.#chunks[stream]} where tenant = current_user and agent = $1 and session_id = $2 and at >= $3
          order by at limit ${CHUNKS_AT_ONCE}`,
        [this.#agent, id, at],
      );
      if (rows.length === 0) return;
      for (const { bytes } of rows) {
        yield bytes;
        at += bytes.length;
      }
    }
  }
}

/** Agents with sessions in the database. */
export async function storedAgents(db: Queries, schema: string): Promise<string[]> {
  const { rows } = await db.query<{ agent: string }>(
    `select distinct agent from ${quoted(schema)}.sessions where tenant = current_user order by agent`,
  );
  return rows.map(({ agent }) => agent);
}
