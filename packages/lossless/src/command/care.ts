/** The operations of `pagurus lossless` on the store of one agent. */
import { backupStore } from "./backup.ts";
import { takeCensus, type StoreReport } from "./census.ts";
import { checkStore, type CheckOptions, type CheckReport } from "./check-store.ts";
import { exportStore } from "./export-store.ts";
import { describeId, expandId, readId, readWords, searchStore, type Expansion, type LookAt } from "./look.ts";
import type { CarePlace } from "./store-files.ts";
import { rebuildSession, rebuildStore, type RebuildOptions, type RebuildReport } from "./rebuild.ts";
import { workStore, type WorkOptions, type WorkReport } from "./due-work.ts";

export type { CarePlace, CheckReport, Expansion, LookAt, RebuildReport, StoreReport, WorkReport };

/** The functions of this folder for one store. Nothing is opened before one of them is called. */
export class LosslessCare {
  readonly #place: CarePlace;

  constructor(place: CarePlace) {
    this.#place = place;
  }

  status(sessionKey: string): StoreReport {
    return takeCensus(this.#place, this.#place.transcripts.find(sessionKey)?.sessionId, Date.now());
  }

  search(request: Parameters<typeof searchStore>[1]): ReturnType<typeof searchStore> {
    return searchStore(this.#place, request);
  }

  describe(at: LookAt): Promise<string> {
    return describeId(this.#place, at);
  }

  expand(expansion: Expansion): Promise<string> {
    return expandId(this.#place, expansion);
  }

  /** The subject of `describe`, as data. */
  read(at: LookAt): ReturnType<typeof readId> {
    return readId(this.#place, at);
  }

  /** The result of `expand`, as data. */
  words(expansion: Expansion): ReturnType<typeof readWords> {
    return readWords(this.#place, expansion);
  }

  verify(options: CheckOptions): Promise<CheckReport> {
    return checkStore(this.#place, options);
  }

  rebuild(sessionKey: string | undefined, options: RebuildOptions): Promise<RebuildReport> {
    return sessionKey === undefined
      ? rebuildStore(this.#place, options)
      : rebuildSession(this.#place, sessionKey, options);
  }

  backup(target: string): Promise<number> {
    return backupStore(this.#place, target);
  }

  export(sessionKey: string | undefined): AsyncIterable<string> {
    return exportStore(this.#place, sessionKey);
  }

  work(options: WorkOptions): Promise<WorkReport> {
    return workStore(this.#place, options);
  }
}
