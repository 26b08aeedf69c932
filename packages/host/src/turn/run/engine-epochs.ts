/** Detects compactions that an engine makes in the background, by a new epoch. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { Assembly } from "../context/assemble-context.ts";
import {
  ENGINE_COMPACTION_ENTRY,
  engineCompactionFact,
  type EngineCompaction,
} from "../record/engine-compaction-entry.ts";
import { Announcement } from "../compaction/announce.ts";
import { nativeCompactionFact } from "../record/native-compactions.ts";
import type { TurnState } from "../state/turn-state.ts";

interface Seen {
  sessionId: string;
  engine: string;
  epoch: string | undefined;
  tokens: number | undefined;
  /** ISO 8601. */
  at: string;
}

/** Reports a new epoch that no lane caused as a compaction of the engine. */
export class EngineEpochs {
  readonly #turn: TurnState;
  #last: Seen | undefined;

  constructor(turn: TurnState) {
    this.#turn = turn;
    const last = turn.host.receipts(turn.writer.record).lastOwn();
    if (!last) return;
    const { engine, epoch, contextTokens: tokens, timestamp: at } = last;
    this.#last = { sessionId: turn.sessionId, engine, epoch, tokens, at };
  }

  async assembled({ projection, contextTokens }: Assembly): Promise<void> {
    const { engine, sessionId } = this.#turn;
    const last = this.#last;
    const epoch = projection?.epoch;
    const at = new Date().toISOString();
    this.#last = { sessionId, engine: engine.info.id, epoch, tokens: contextTokens, at };
    if (!last || !isNewEpoch(last, this.#last) || (await compactedSince(this.#turn, last.at))) return;
    await this.#report(engine, last.tokens ?? contextTokens, contextTokens);
  }

  async #report({ info }: ContextEngine, tokensBefore: number, tokensAfter: number): Promise<void> {
    const lane = "engine" as const;
    const trigger = "threshold" as const;
    const done = { tokensBefore, tokensAfter, handledBy: info.id };
    const data: EngineCompaction = { lane, trigger, ...done };
    this.#turn.recorder.note(ENGINE_COMPACTION_ENTRY, { ...data });
    await Announcement.afterwards(this.#turn, { lane, trigger, backend: "engine" }, done);
  }
}

/** An epoch that appears or disappears is no compaction: the engine may name it for the first time. */
function isNewEpoch(last: Seen, now: Seen): boolean {
  if (last.sessionId !== now.sessionId || last.engine !== now.engine) return false;
  return last.epoch !== undefined && now.epoch !== undefined && last.epoch !== now.epoch;
}

/** True when a lane's compaction caused the epoch: it was already announced. */
async function compactedSince({ session }: TurnState, at: string): Promise<boolean> {
  for await (const entry of session.writer.cursor.backward()) {
    if (entry.timestamp < at) return false;
    if (entry.type === "compaction" || engineCompactionFact(entry) || nativeCompactionFact(entry))
      return true;
  }
  return false;
}
