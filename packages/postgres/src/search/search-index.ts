/**
 * The words of all sessions of an agent, in the database. An append does not wait for them: they are added in statements of their own, by the
 * host that wrote the session and by the next search, each text once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseEntry } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { messageText } from "@pagurus/host/stores/files/index/indexed-words";
import type { Database } from "../connections.ts";
import { COLUMNS, LIVE, sessionOf, type SessionColumns } from "../session-rows.ts";
import type { SharedSession } from "../shared-rows.ts";
import { queryParts, textWords } from "./search-words.ts";

/** Bytes of a transcript whose words are added in one transaction, between which the thread serves writers; a longer line is taken whole. */
const TRANSACTION_BYTES = 1024 * 1024;
/**
 * What is missing of a long session is added with pauses so many times as long as the work: turns of the
 * host go first. A search does not wait for pauses.
 */
const PATIENCE = 9;
/** The newest messages that are considered. */
const MOST_PASSAGE_ROWS = 400;
/** A word in more messages does not distinguish sessions. */
const COMMON_ROWS = 500;

const OWN_ROWS = "tenant = current_user AND agent = $1";
const AMONG = "($4::text[] IS NULL OR session_id = ANY($4))";
const OF_SESSION = `${OWN_ROWS} AND session_id = $2`;

const LAGGING = `SELECT s.session_id FROM {s}.sessions AS s LEFT JOIN {s}.indexed AS i
   ON i.tenant = s.tenant AND i.agent = s.agent AND i.session_id = s.session_id
 WHERE s.tenant = current_user AND s.agent = $1 AND s.bytes > 0
   AND (i.bytes IS NULL OR i.bytes < s.bytes OR i.revision <> s.revision) ORDER BY s.session_id`;

const CHUNKS = `SELECT at, bytes FROM {s}.chunks WHERE ${OF_SESSION} AND at < $3::bigint + ${TRANSACTION_BYTES}
   AND at >= coalesce((SELECT max(at) FROM {s}.chunks WHERE ${OF_SESSION} AND at <= $3), 0) ORDER BY at`;

const ADD = `INSERT INTO {s}.passages (agent, session_id, at, written, words)
 SELECT $1, $2, at, written, array_to_tsvector(words) FROM json_to_recordset($3) AS r(at bigint, written bigint, words text[])
 ON CONFLICT DO NOTHING`;

const found = (hits: string): string => `SELECT ${COLUMNS}, ${LIVE} FROM (${hits}) AS h
 JOIN {s}.sessions AS s ON s.tenant = current_user AND s.agent = $1 AND s.session_id = h.session_id
 ORDER BY h.matched DESC, h.written DESC, s.session_id LIMIT $3`;

/** Sessions of the newest messages that fit one query. */
const NEWEST_FIRST =
  found(`SELECT session_id, max(written) AS written, 1 AS matched FROM (SELECT session_id, written FROM {s}.passages
   WHERE ${OWN_ROWS} AND ${AMONG} AND words @@ $2::tsquery ORDER BY written DESC LIMIT ${MOST_PASSAGE_ROWS}) AS n GROUP BY session_id`);

/** Sessions with messages that fit some of several queries; those with more of them first. */
const SESSIONS_WITH_SOME =
  found(`SELECT session_id, max(written) AS written, count(DISTINCT q) AS matched FROM unnest($2::text[]) AS q
   JOIN {s}.passages ON ${OWN_ROWS} AND ${AMONG} AND words @@ q::tsquery GROUP BY session_id`);

const PART_COUNTS = `SELECT q AS part, (SELECT count(*)::int FROM (SELECT FROM {s}.passages
     WHERE ${OWN_ROWS} AND ($3::text[] IS NULL OR session_id = ANY($3)) AND words @@ q::tsquery LIMIT ${COMMON_ROWS + 1}) AS c) AS hits FROM unnest($2::text[]) AS q`;

export interface SearchRequest {
  agent: string;
  query: string;
  /** Sessions at most. */
  limit: number;
  /** Ids of the only sessions that are searched; undefined: all. */
  sessions?: readonly string[] | undefined;
}

type Run = <R extends object>(text: string, values: readonly unknown[]) => Promise<R[]>;

interface Mark {
  bytes: string;
  revision: string;
}

export class SearchIndex {
  readonly #database: Database;
  /** Sessions whose words are being added, by agent and id. */
  readonly #adding = new Map<string, Promise<void>>();
  #isOver = false;
  /** Searches that wait for words. */
  #searching = 0;
  /** Resolves when pauses are to end. */
  #hurry = Promise.withResolvers<void>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Sessions with messages that have all words of a query, else some; the newest first. Throws `store_read_failed`, `store_write_failed`. */
  async search({ agent, query, limit, sessions }: SearchRequest): Promise<SharedSession[]> {
    const parts = queryParts(query);
    if (parts.length === 0) return [];
    const among = sessions ?? null;
    await this.#catchUp(agent);
    const all = await this.#sessions(NEWEST_FIRST, [agent, parts.join(" & "), limit, among]);
    if (all.length > 0 || parts.length === 1) return all;
    const counts = await this.#database.rows<{ part: string; hits: number }>(
      "store_read_failed",
      PART_COUNTS,
      [agent, parts, among],
    );
    const known = counts.filter(({ hits }) => hits > 0);
    const rare = known.filter(({ hits }) => hits <= COMMON_ROWS).map(({ part }) => part);
    if (rare.length > 0) return await this.#sessions(SESSIONS_WITH_SOME, [agent, rare, limit, among]);
    if (known.length === 0) return [];
    return await this.#sessions(NEWEST_FIRST, [
      agent,
      known.map(({ part }) => part).join(" | "),
      limit,
      among,
    ]);
  }

  /** Adds what a writer appended, without a caller that waits; what fails is added by the next search. */
  later(agent: string, sessionId: string): void {
    void this.#add(agent, sessionId).catch(() => undefined);
  }

  /** Nothing more is added. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#hurry.resolve();
    await Promise.allSettled(this.#adding.values());
  }

  async #sessions(text: string, values: readonly unknown[]): Promise<SharedSession[]> {
    return (await this.#database.rows<SessionColumns>("store_read_failed", text, values)).map(sessionOf);
  }

  async #catchUp(agent: string): Promise<void> {
    const rows = await this.#database.rows<{ session_id: string }>("store_read_failed", LAGGING, [agent]);
    this.#searching += 1;
    this.#hurry.resolve();
    try {
      for (const { session_id } of rows) await this.#add(agent, session_id);
    } finally {
      this.#searching -= 1;
      if (this.#searching === 0 && !this.#isOver) this.#hurry = Promise.withResolvers();
    }
  }

  async #add(agent: string, sessionId: string): Promise<void> {
    const name = JSON.stringify([agent, sessionId]);
    const before = this.#adding.get(name);
    const adding = (async () => {
      await before?.catch(() => undefined);
      for (let from = performance.now(); !this.#isOver; from = performance.now()) {
        if (!(await this.#slice(agent, sessionId))) return;
        const pauseMs = (performance.now() - from) * PATIENCE;
        if (this.#searching === 0)
          await Promise.race([sleep(pauseMs, undefined, { ref: false }), this.#hurry.promise]);
      }
    })();
    this.#adding.set(name, adding);
    try {
      await adding;
    } finally {
      if (this.#adding.get(name) === adding) this.#adding.delete(name);
    }
  }

  /** Adds a part of a session; false where nothing was missing. */
  async #slice(agent: string, sessionId: string): Promise<boolean> {
    const session = [agent, sessionId];
    return await this.#database.transaction("store_write_failed", async (run) => {
      // A deletion waits for this transaction, an append does not.
      const [row] = await run<Mark>(
        `SELECT bytes, revision FROM {s}.sessions WHERE ${OF_SESSION} FOR KEY SHARE`,
        session,
      );
      if (!row) return false;
      await run(
        "INSERT INTO {s}.indexed (agent, session_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        session,
      );
      const [mark] = await run<Mark>(
        `SELECT bytes, revision FROM {s}.indexed WHERE ${OF_SESSION} FOR UPDATE`,
        session,
      );
      const isSame = mark?.revision === row.revision;
      if (!isSame) await run(`DELETE FROM {s}.passages WHERE ${OF_SESSION}`, session);
      const from = isSame ? Number(mark.bytes) : 0;
      const { passages, end } = await readPassages(run, session, { from, to: Number(row.bytes) });
      if (isSame && end === from) return false;
      if (passages.length > 0) await run(ADD, [...session, JSON.stringify(passages)]);
      await run(`UPDATE {s}.indexed SET bytes = $3, revision = $4 WHERE ${OF_SESSION}`, [
        ...session,
        end,
        row.revision,
      ]);
      return end < Number(row.bytes);
    });
  }
}

interface Passage {
  at: number;
  written: number;
  words: string[];
}

/** The messages of a slice, up to the end of its last whole line. */
async function readPassages(
  run: Run,
  session: readonly string[],
  { from, to }: { from: number; to: number },
): Promise<{ passages: Passage[]; end: number }> {
  let bytes: Buffer = Buffer.alloc(0);
  while (from + bytes.length < to && !bytes.includes(0x0a)) {
    const next = from + bytes.length;
    const rows = await run<{ at: string; bytes: Buffer }>(CHUNKS, [...session, next]);
    const parts = rows.map((row) => row.bytes.subarray(Math.max(0, next - Number(row.at))));
    if (parts.every(({ length }) => length === 0)) break;
    bytes = Buffer.concat([bytes, ...parts]);
  }
  const passages: Passage[] = [];
  let start = 0;
  for (let stop = bytes.indexOf(0x0a); stop >= 0; stop = bytes.indexOf(0x0a, start)) {
    const parsed = parseEntry(bytes.subarray(start, stop));
    if ("entry" in parsed && parsed.entry.type === "message") {
      const words = textWords(messageText(parsed.entry.message));
      const written = Date.parse(parsed.entry.timestamp);
      if (words.length > 0)
        passages.push({ at: from + start, written: Number.isNaN(written) ? 0 : written, words });
    }
    start = stop + 1;
  }
  return { passages, end: from + start };
}
