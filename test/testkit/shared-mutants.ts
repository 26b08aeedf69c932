/** Stores that share what is beside the transcripts, within one process: one that does it right, and one with a defect for each check. */
import type { BoundThread, SharedRecords } from "../../packages/contract/src/session/shared-records.ts";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { SessionReader } from "../../packages/contract/src/session/writer.ts";
import { openStore } from "../stores/files/fixtures.ts";
import { replaced, type OpenMutant } from "./store-mutants.ts";

interface Thread {
  nativeId: string;
  opening: number;
  isCurrent: boolean;
}

/** What the openings of a folder share. Their files of receipts are the same ones. */
class Place {
  openings = 0;
  /** The opening that had a session last, by session. */
  readonly last = new Map<string, number>();
  readonly threads = new Map<string, Thread>();
  readonly sums = new Map<string, Map<string, number>>();

  takes(sessionId: string, opening: number): void {
    if (this.last.get(sessionId) !== opening)
      for (const [name, thread] of this.threads)
        if (name.startsWith(`${sessionId} `)) this.threads.set(name, { ...thread, isCurrent: false });
    this.last.set(sessionId, opening);
  }
}

const places = new Map<string, Place>();

function placeOf(dir: string): Place {
  const place = places.get(dir) ?? new Place();
  places.set(dir, place);
  return place;
}

type Change = (parts: { base: SessionStore; shared: SharedRecords; opening: number; place: Place }) => {
  shared?: Partial<SharedRecords>;
  store?: Partial<SessionStore>;
};

/** Opens the store with some members replaced. */
function sharing(change: Change): OpenMutant {
  return ({ dir }) => {
    const place = placeOf(dir);
    const opening = place.openings;
    place.openings += 1;
    const base = openStore(dir);
    const shared = sharedBy(place, opening);
    const changed = change({ base, shared, opening, place });
    return replaced(base, {
      shared: { ...shared, ...changed.shared },
      openWriter: (key, options) => {
        const writer = base.openWriter(key, options);
        place.takes(writer.record.sessionId, opening);
        return writer;
      },
      delete: (key) => {
        const id = base.find(key)?.sessionId ?? "";
        const done = base.delete(key);
        place.sums.delete(`session ${id}`);
        for (const name of place.threads.keys()) if (name.startsWith(`${id} `)) place.threads.delete(name);
        return done;
      },
      ...changed.store,
    });
  };
}

function sharedBy(place: Place, opening: number): SharedRecords {
  return {
    search: { withWords: () => [], deleted: () => [] },
    receipts: () => undefined,
    bind: (sessionId, runtime, nativeId) => {
      const name = `${sessionId} ${runtime}`;
      if (nativeId === undefined) place.threads.delete(name);
      else place.threads.set(name, { nativeId, opening, isCurrent: true });
    },
    boundThread: (sessionId, runtime): BoundThread | undefined => {
      const thread = place.threads.get(`${sessionId} ${runtime}`);
      if (!thread) return undefined;
      const { nativeId, isCurrent } = thread;
      return { nativeId, host: `${thread.opening}`, isUsable: isCurrent && thread.opening === opening };
    },
    spend: {
      sums: (scope) => place.sums.get(scope) ?? new Map(),
      report: (scope, sums) => {
        const present = place.sums.get(scope) ?? new Map<string, number>();
        place.sums.set(scope, present);
        for (const [source, cost] of sums) present.set(source, Math.max(cost, present.get(source) ?? 0));
      },
    },
  };
}

/** A store that meets the checks, but for the fence of receipts: its openings have one file. */
export const SHARING = sharing(() => ({}));

export const SHARED_MUTANTS: Record<string, OpenMutant> = {
  "shared.receipts": sharing(({ base, opening }) => ({
    store: { openReader: (key, id) => elsewhere(base.openReader(key, id), opening) },
  })),
  "shared.receipts-fence": SHARING,
  "shared.thread": sharing(({ place, opening }) => ({
    shared: {
      // It continues a thread of its own after another opening had the session.
      boundThread: (sessionId, runtime) => {
        const thread = place.threads.get(`${sessionId} ${runtime}`);
        return thread && { nativeId: thread.nativeId, host: "", isUsable: thread.opening === opening };
      },
    },
  })),
  "shared.spend": sharing(({ place, shared }) => ({
    shared: {
      // Reports are added up, so that a repeated one counts twice.
      spend: {
        ...shared.spend,
        report: (scope, sums) => {
          const present = place.sums.get(scope) ?? new Map<string, number>();
          place.sums.set(scope, present);
          for (const [source, cost] of sums) present.set(source, cost + (present.get(source) ?? 0));
        },
      },
    },
  })),
  "shared.delete": sharing(({ base }) => ({ store: { delete: (key) => base.delete(key) } })),
};

/** A reader whose files are not mirrored. */
function elsewhere(reader: SessionReader, opening: number): SessionReader {
  const { record } = reader;
  const file = record.file.replace(/\.jsonl$/, `-${opening}.jsonl`);
  return replaced(reader, { record: { ...record, file } });
}
