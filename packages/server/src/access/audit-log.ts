/** Who did what, without contents: one row for each request that changes something. */
import type { Database } from "@pagurus/core/data/sqlite";

export interface AuditEntry {
  /** Milliseconds since the epoch. */
  at: number;
  tokenId: string;
  /** Method and route, such as `POST /api/v1/sessions/{key}/turns`. */
  action: string;
  agentId?: string | undefined;
  sessionKey?: string | undefined;
  workId?: string | undefined;
}

interface AuditRow {
  at: number;
  token: string;
  action: string;
  agent: string | null;
  session: string | null;
  work: string | null;
}

export class AuditLog {
  readonly #db: Database;
  #pending: AuditEntry[] = [];

  constructor(db: Database) {
    this.#db = db;
  }

  add(entry: AuditEntry): void {
    if (this.#pending.length === 0) setImmediate(() => this.flush());
    this.#pending.push(entry);
  }

  flush(): void {
    const entries = this.#pending;
    this.#pending = [];
    if (entries.length === 0) return;
    this.#db.transaction(() => {
      for (const { at, tokenId, action, agentId, sessionKey, workId } of entries)
        this.#db.run(
          "INSERT INTO audit (at, token, action, agent, session, work) VALUES (?, ?, ?, ?, ?, ?)",
          at,
          tokenId,
          action,
          agentId ?? null,
          sessionKey ?? null,
          workId ?? null,
        );
    });
  }

  /** The newest first. */
  newest(limit: number): AuditEntry[] {
    const rows = this.#db.all<AuditRow>("SELECT * FROM audit ORDER BY seq DESC LIMIT ?", limit);
    return rows.map(({ at, token, action, agent, session, work }) => ({
      at,
      tokenId: token,
      action,
      ...(agent === null ? {} : { agentId: agent }),
      ...(session === null ? {} : { sessionKey: session }),
      ...(work === null ? {} : { workId: work }),
    }));
  }
}
