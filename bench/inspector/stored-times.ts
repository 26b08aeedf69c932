/** When a running server stored its events: noted by a trigger in its database, so that the server itself is as it is. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface StoredTime {
  type: string;
  data: Readonly<Record<string, unknown>>;
  /** ms since the epoch. */
  at: number;
}

const NOTE = `
CREATE TABLE bench_stored (seq INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TRIGGER bench_store AFTER INSERT ON events
BEGIN INSERT INTO bench_stored VALUES (new.seq, unixepoch('subsec') * 1000); END;
`;

export class StoredTimes {
  readonly #db: DatabaseSync;

  /** Of the server of a home, which runs; from now on. */
  constructor(home: string) {
    this.#db = new DatabaseSync(join(home, "server", "server.db"), { timeout: 10_000 });
    this.#db.exec(NOTE);
  }

  /** Events of a piece of work, in order. */
  of(work: string): StoredTime[] {
    return this.#db
      .prepare("SELECT type, data, at FROM events JOIN bench_stored USING (seq) WHERE work = ? ORDER BY seq")
      .all(work)
      .map(({ type, data, at }) => ({
        type: String(type),
        data: JSON.parse(String(data)) as StoredTime["data"],
        at: Number(at),
      }));
  }

  close(): void {
    this.#db.close();
  }
}
