/** Receipts on their way to the database, by session and lease. They need no live lease: the epoch shows that no other host had the session. */
import { ByteLane, type LaneSession } from "./byte-lane.ts";
import type { Database } from "./connections.ts";
import type { ReceiptsRequest } from "./shared-rows.ts";

const APPEND = `WITH held AS (
   UPDATE {s}.sessions SET receipt_bytes = receipt_bytes + length($5::bytea), changed = pg_current_xact_id()::text::bigint
   WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3 AND receipt_bytes = $4
   RETURNING session_id)
 INSERT INTO {s}.receipts (agent, session_id, at, epoch, bytes) SELECT $1, session_id, $4, $3, $5 FROM held
 RETURNING at`;

const STATE = `SELECT epoch::int8 = $3 AS mine, receipt_bytes = $4 AS next, EXISTS (SELECT FROM {s}.receipts AS c
     WHERE c.tenant = s.tenant AND c.agent = s.agent AND c.session_id = s.session_id AND c.at = $4 AND c.bytes = $5) AS stored
 FROM {s}.sessions AS s WHERE tenant = current_user AND agent = $1 AND session_id = $2`;

/** Names a lane for reports of its failure. */
export function receiptsLane({ sessionId, epoch }: Omit<LaneSession, "agent">): string {
  return `receipts ${epoch} ${sessionId}`;
}

export class ReceiptsLanes {
  readonly #database: Database;
  readonly #lost: (lane: string, error: unknown) => void;
  readonly #lanes = new Map<string, ByteLane>();

  constructor(database: Database, lost: (lane: string, error: unknown) => void) {
    this.#database = database;
    this.#lost = lost;
  }

  /** Rejects with `lock_lost`, `store_write_failed`. */
  async append({ agent, sessionId, epoch, at, bytes }: ReceiptsRequest): Promise<void> {
    const session = { agent, sessionId, epoch };
    const name = JSON.stringify(session);
    const lane = this.#lanes.get(name) ?? this.#open(session);
    this.#lanes.set(name, lane);
    await lane.append(at, bytes, false);
  }

  /** Resolves when no receipt of a session is on its way. */
  async settle({ agent, sessionId }: Pick<LaneSession, "agent" | "sessionId">): Promise<void> {
    for (const [name, lane] of this.#lanes) {
      if (lane.session.agent !== agent || lane.session.sessionId !== sessionId) continue;
      await lane.settled();
      // A later receipt of the same lease opens it again.
      this.#lanes.delete(name);
    }
  }

  async end(): Promise<void> {
    await Promise.allSettled([...this.#lanes.values()].map(async (lane) => lane.settled()));
  }

  #open(session: LaneSession): ByteLane {
    return new ByteLane(this.#database, session, {
      // The same conditions as those of the statement: what it refused although they hold can be sent again.
      stream: { append: APPEND, state: STATE, more: [], revive: () => Promise.resolve(true) },
      lost: (error) => this.#lost(receiptsLane(session), error),
    });
  }
}
