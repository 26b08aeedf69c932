/**
 * Cooldowns of models: `<home>/cooldowns/models.json`, shared by all processes of the home. A provider, or one model of it, that failed is
 * not called for a time that grows with each failure in a row, and ends with the first success.
 */
import { MINUTE_MS } from "@pagurus/core/data/interval";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { FailureReason, ModelCooldown } from "@pagurus/contract/fallback";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import type { Logger } from "@pagurus/core/platform/log";
import { withMutex } from "./mutex.ts";

/** Cooldown after the first, second, … failure in a row. */
const STEPS_MS = [MINUTE_MS, 5 * MINUTE_MS, 25 * MINUTE_MS, 60 * MINUTE_MS];
/** An older failure does not make the next cooldown longer. */
const FORGOTTEN_AFTER_MS = 24 * 60 * MINUTE_MS;
const VERSION = 1;
/** Dates end there. */
const LATEST_MS = 8.64e15;

/** Times are ms since the epoch. */
export interface KeptCooldown {
  reason: string;
  failures: number;
  failedAt: number;
  until: number;
}

type Table = Record<string, KeptCooldown>;

export interface CooldownOptions {
  home: string;
  logger: Logger;
  now?: () => number;
}

export class ModelCooldowns {
  readonly #folder: string;
  readonly #file: string;
  readonly #logger: Logger;
  readonly #now: () => number;

  constructor({ home, logger, now = Date.now }: CooldownOptions) {
    this.#folder = join(home, "cooldowns");
    this.#file = join(this.#folder, "models.json");
    this.#logger = logger;
    this.#now = now;
  }

  /** The cooldowns that have not ended, the longest first. */
  list(): ModelCooldown[] {
    const now = this.#now();
    return Object.entries(this.#read())
      .filter(([, { until }]) => until > now)
      .toSorted(([, one], [, other]) => other.until - one.until)
      .map(([target, { reason, failures, until }]) => ({
        target,
        reason: reason as FailureReason,
        failures,
        until: new Date(until).toISOString(),
      }));
  }

  /** The longest of the cooldowns that concern a model: its own and its provider's. */
  of({ ref, provider }: { ref: string; provider: string }): ModelCooldown | undefined {
    return this.list().find(({ target }) => target === ref || target === provider);
  }

  /**
   * Begins or extends a cooldown. `askedMs`: the pause that the provider asked for, which replaces the growing one. A failure within a
   * cooldown, as of several turns at once, does not make it grow.
   */
  failed(target: string, reason: FailureReason, askedMs: number | undefined): void {
    this.#change((table) => {
      const now = this.#now();
      const before = table[target];
      const cools = before !== undefined && before.until > now;
      const counts = before !== undefined && now - before.failedAt < FORGOTTEN_AFTER_MS;
      const failures = counts ? before.failures + (cools ? 0 : 1) : 1;
      const own = STEPS_MS[Math.min(failures, STEPS_MS.length) - 1] ?? MINUTE_MS;
      const until = askedMs !== undefined ? now + askedMs : cools ? before.until : now + own;
      return { ...table, [target]: { reason, failures, failedAt: now, until } };
    });
  }

  /** Ends the cooldowns of a model that answered. Writes nothing where there are none. */
  succeeded({ ref, provider }: { ref: string; provider: string }): void {
    const table = this.#read();
    if (table[ref] === undefined && table[provider] === undefined) return;
    this.#change(({ [ref]: _model, [provider]: _provider, ...rest }) => rest);
  }

  /** What is remembered of each target, cooldowns that have ended included. */
  kept(): ReadonlyMap<string, KeptCooldown> {
    return new Map(Object.entries(this.#read()));
  }

  /** Takes over what other hosts know: later failures, and targets that answered since this failure of theirs. Writes nothing for nothing. */
  take(failed: ReadonlyMap<string, KeptCooldown>, answered: ReadonlyMap<string, number>): void {
    if (failed.size === 0 && answered.size === 0) return;
    this.#change((table) => {
      const later = [...failed].filter(([target, { failedAt }]) => failedAt > (table[target]?.failedAt ?? 0));
      const left = Object.entries(table).filter(
        ([target, { failedAt }]) => answered.get(target) !== failedAt,
      );
      return Object.fromEntries([...left, ...later]);
    });
  }

  #change(change: (table: Table) => Table): void {
    try {
      ensurePrivateDir(this.#folder);
      withMutex(this.#folder, () => {
        const table = this.#remembered(change(this.#read()));
        writeFileAtomic(this.#file, `${JSON.stringify({ version: VERSION, cooldowns: table })}\n`, {
          synced: false,
        });
      });
    } catch {
      // The next turn calls the model again, as without cooldowns.
      this.#logger.warn("model cooldowns not written", { file: this.#file });
    }
  }

  #remembered(table: Table): Table {
    const now = this.#now();
    const kept = Object.entries(table).filter(
      ([, { until, failedAt }]) => until > now || now - failedAt < FORGOTTEN_AFTER_MS,
    );
    return Object.fromEntries(kept);
  }

  #read(): Table {
    if (statSync(this.#file, { throwIfNoEntry: false }) === undefined) return {};
    try {
      const { cooldowns } = recordOf(JSON.parse(readFileSync(this.#file, "utf8")));
      const entries = Object.entries(recordOf(cooldowns));
      return Object.fromEntries(entries.filter((entry): entry is [string, KeptCooldown] => isKept(entry[1])));
    } catch {
      // A damaged file means that no model is known to fail; the next failure replaces it.
      return {};
    }
  }
}

function isKept(value: unknown): value is KeptCooldown {
  if (!isRecord(value)) return false;
  const { reason, failures, failedAt, until } = value;
  return (
    typeof reason === "string" &&
    [failures, failedAt, until].every((number) => typeof number === "number" && Math.abs(number) < LATEST_MS)
  );
}
