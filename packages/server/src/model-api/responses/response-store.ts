/** Responses that clients can name later, and the items that each continues. A deleted one that others continue is only hidden. */
import type { Database } from "@pagurus/core/data/sqlite";
import { shownItem, type Item, type StoredItem } from "./items.ts";
import { defined } from "@pagurus/core/data/defined";

/** How long a response is kept after it was made, as OpenAI keeps them, ms. */
export const KEPT_MS = 30 * 86_400_000;

export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** What a background response needs to run again after a crash. */
export interface BackgroundRequest {
  /** Body of the request, without the fields that only the store reads. */
  asked: Record<string, unknown>;
  folder: string;
  /** Its events can be followed. */
  streams: boolean;
}

/** An event as it is sent, and its number. */
export interface NumberedEvent {
  sequence: number;
  text: string;
}

export interface StoredResponse {
  token: string;
  id: string;
  /** Unix time, s. */
  created: number;
  status: ResponseStatus;
  /** Ref of the model. */
  model: string;
  /** Key of its session; undefined until the session is known. */
  session?: string;
  previous?: string;
  conversation?: { id: string; /** Position of its own first item there. */ from: number };
  /** Its own input, without what it continues. */
  input: readonly Item[];
  /** The response object. */
  response: Record<string, unknown>;
  background?: BackgroundRequest;
  /** Number of its run; above 0 after a restart. */
  attempt: number;
}

interface Row {
  id: string;
  created: number;
  status: ResponseStatus;
  model: string;
  session: string | null;
  previous: string | null;
  conversation: string | null;
  position: number;
  input: string;
  response: string;
  background: string | null;
  attempt: number;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS responses (
    token TEXT NOT NULL, id TEXT NOT NULL, created INTEGER NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
    session TEXT, previous TEXT, conversation TEXT, position INTEGER NOT NULL, input TEXT NOT NULL,
    response TEXT NOT NULL, background TEXT, attempt INTEGER NOT NULL, hidden INTEGER NOT NULL DEFAULT 0, events TEXT,
    PRIMARY KEY (token, id)
  );
  CREATE INDEX IF NOT EXISTS responses_previous ON responses (token, previous);
  CREATE INDEX IF NOT EXISTS responses_session ON responses (session);
  CREATE TABLE IF NOT EXISTS response_items (
    token TEXT NOT NULL, id TEXT NOT NULL, response TEXT NOT NULL, PRIMARY KEY (token, id)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS response_items_response ON response_items (token, response);
  CREATE TRIGGER IF NOT EXISTS response_items_deleted AFTER DELETE ON responses
    BEGIN DELETE FROM response_items WHERE token = OLD.token AND response = OLD.id; END;
`;

const PUT = `
  INSERT INTO responses
    (token, id, created, status, model, session, previous, conversation, position, input, response, background, attempt)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (token, id) DO UPDATE SET status = excluded.status, session = excluded.session,
    position = excluded.position, response = excluded.response, background = excluded.background, attempt = excluded.attempt`;
const COLUMNS =
  "id, created, status, model, session, previous, conversation, position, input, response, background, attempt";
/** Deletes hidden rows that nothing continues. */
const SWEEP = `
  DELETE FROM responses WHERE token = ? AND hidden = 1 AND id NOT IN
    (SELECT previous FROM responses WHERE token = ? AND previous IS NOT NULL)`;

export class ResponseStore {
  readonly #db: Database;

  /** Throws SQLite's errors. */
  constructor(db: Database) {
    this.#db = db;
    db.raw.exec(SCHEMA);
  }

  /** Stores a response, or its new state. Throws SQLite's errors. */
  put(stored: StoredResponse): void {
    const { conversation, background } = stored;
    this.#db.run(
      PUT,
      stored.token,
      stored.id,
      stored.created,
      stored.status,
      stored.model,
      stored.session ?? null,
      stored.previous ?? null,
      conversation?.id ?? null,
      conversation?.from ?? 0,
      JSON.stringify(stored.input),
      JSON.stringify(stored.response),
      background ? JSON.stringify(background) : null,
      stored.attempt,
    );
  }

  /** Makes the items of a response that has ended known by their ids. Throws SQLite's errors. */
  index(stored: StoredResponse): void {
    for (const { item, source = "" } of itemsAdded(stored))
      this.#db.run(
        "INSERT OR REPLACE INTO response_items VALUES (?, ?, ?)",
        stored.token,
        String(shownItem(item, source)["id"]),
        stored.id,
      );
  }

  /** The item of a token's responses with an id. */
  item(token: string, id: string): StoredItem | undefined {
    const row = this.#db.get<{ response: string }>(
      "SELECT response FROM response_items WHERE token = ? AND id = ?",
      token,
      id,
    );
    const stored = row && this.find(token, row.response);
    return stored && itemsAdded(stored).find(({ item, source = "" }) => shownItem(item, source)["id"] === id);
  }

  find(token: string, id: string): StoredResponse | undefined {
    return this.#found(token, id, "AND hidden = 0");
  }

  #found(token: string, id: string, and: string): StoredResponse | undefined {
    const row = this.#db.get<Row>(
      `SELECT ${COLUMNS} FROM responses WHERE token = ? AND id = ? ${and}`,
      token,
      id,
    );
    return row && read(token, row);
  }

  /** A response and those that it continues, the oldest first. */
  chain(last: StoredResponse): StoredResponse[] {
    const found = [last];
    for (let at: StoredResponse | undefined = last; at?.previous !== undefined;) {
      at = this.#found(last.token, at.previous, "");
      if (at) found.unshift(at);
    }
    return found;
  }

  /** False if there is no such response. */
  remove(token: string, id: string): boolean {
    return this.#db.transaction(() => {
      const changed = this.#db.run(
        "UPDATE responses SET hidden = 1 WHERE token = ? AND id = ? AND hidden = 0",
        token,
        id,
      );
      this.#sweep(token);
      return changed > 0;
    });
  }

  /** Deletes the responses of a conversation. */
  removeConversation(token: string, id: string): void {
    this.#db.run("DELETE FROM responses WHERE token = ? AND conversation = ?", token, id);
  }

  #sweep(token: string): void {
    while (this.#db.run(SWEEP, token, token) > 0);
  }

  /** Events of a response that ended, as they were sent; none if its process was killed right at the end. */
  events(token: string, id: string): NumberedEvent[] {
    const row = this.#db.get<{ events: string | null }>(
      "SELECT events FROM responses WHERE token = ? AND id = ?",
      token,
      id,
    );
    return row?.events == null ? [] : (JSON.parse(row.events) as NumberedEvent[]);
  }

  keepEvents(token: string, id: string, events: readonly NumberedEvent[]): void {
    this.#db.run(
      "UPDATE responses SET events = ? WHERE token = ? AND id = ?",
      JSON.stringify(events),
      token,
      id,
    );
  }

  /** Background responses that a process left without an end, the oldest first. */
  unfinished(): StoredResponse[] {
    const rows = this.#db.all<Row & { token: string }>(
      `SELECT token, ${COLUMNS} FROM responses
       WHERE background IS NOT NULL AND status IN ('queued', 'in_progress') ORDER BY created, id`,
    );
    return rows.map((row) => read(row.token, row));
  }

  /** Deletes the responses of a session. */
  removeSession(key: string): void {
    this.#db.run("DELETE FROM responses WHERE session = ?", key);
  }

  /** Deletes responses made before `created` (Unix time, s). */
  prune(created: number): void {
    this.#db.transaction(() => {
      this.#db.run("UPDATE responses SET hidden = 1 WHERE created < ?", created);
      for (const { token } of this.#db.all<{ token: string }>(
        "SELECT DISTINCT token FROM responses WHERE hidden = 1",
      ))
        this.#sweep(token);
    });
  }
}

function read(token: string, row: Row): StoredResponse {
  const { id, created, status, model, attempt } = row;
  return {
    token,
    id,
    created,
    status,
    model,
    attempt,
    ...defined({ session: row.session ?? undefined, previous: row.previous ?? undefined }),
    ...(row.conversation === null ? {} : { conversation: { id: row.conversation, from: row.position } }),
    input: JSON.parse(row.input) as Item[],
    response: JSON.parse(row.response) as Record<string, unknown>,
    ...(row.background === null ? {} : { background: JSON.parse(row.background) as BackgroundRequest }),
  };
}

/** What a response adds to its conversation: its input and its output. */
export function itemsAdded({ id, input, response, model }: StoredResponse): StoredItem[] {
  const output = Array.isArray(response["output"]) ? (response["output"] as Item[]) : [];
  const added: StoredItem[] = [
    ...input.map((item) => ({ item })),
    ...output.map((item) => ({ item, model })),
  ];
  return added.map((each, at) => ({ ...each, source: `${id} ${at}` }));
}
