/** Stores with one defect, for each check of the suite: the embedded store with some members replaced. */
import { isPagurusError } from "../../packages/contract/src/errors.ts";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type {
  CompactionEntry,
  CustomEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "../../packages/contract/src/session/transcript.ts";
import type { SessionReader, SessionWriter } from "../../packages/contract/src/session/writer.ts";
import { openStore } from "../stores/files/fixtures.ts";

export type OpenMutant = (context: { dir: string }) => SessionStore;
type View = Pick<SessionReader & SessionWriter, "contextMessages" | "cursor">;

const CWD = { cwd: "/project" };

/** What a part was made of: the store takes its own writers only. */
const originals = new WeakMap<object, object>();

/** The part with some members replaced; all others work on the original. */
export function replaced<T extends object>(part: T, members: Partial<T>): T {
  const proxy = new Proxy(part, {
    get: (target, name) => {
      if (name in members) return Reflect.get(members, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  originals.set(proxy, part);
  return proxy;
}

function original<T extends object>(part: T): T {
  return (originals.get(part) as T | undefined) ?? part;
}

function store(change: (base: SessionStore) => Partial<SessionStore>): OpenMutant {
  return ({ dir }) => {
    const base = openStore(dir);
    return replaced(base, change(base));
  };
}

/** Changes each writer, also those of a rotation. */
function writer(change: (base: SessionWriter) => Partial<SessionWriter>): OpenMutant {
  const changed = (base: SessionWriter): SessionWriter => replaced(base, change(base));
  return store((base) => ({
    openWriter: (key, options) => changed(base.openWriter(key, options)),
    rotate: (from, successor, carry) => changed(base.rotate(original(from), successor, carry)),
  }));
}

function reader(change: (base: SessionReader) => Partial<SessionReader>): OpenMutant {
  return store((base) => ({
    openReader: (key, sessionId) => {
      const made = base.openReader(key, sessionId);
      return replaced(made, change(made));
    },
  }));
}

/** Runs the work; an error with the code gives the other value. */
function unless<T>(code: string, work: () => T, other: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isPagurusError(error) && error.code === code) return other();
    throw error;
  }
}

async function* reversed(items: AsyncIterable<TranscriptEntry>): AsyncGenerator<TranscriptEntry> {
  const all: TranscriptEntry[] = [];
  for await (const item of items) all.unshift(item);
  yield* all;
}

/** Engines' entries of the path. */
async function* onPathOnly(cursor: TranscriptCursor): AsyncGenerator<CustomEntry | CompactionEntry> {
  for await (const entry of cursor.backward())
    if (entry.type === "compaction" || (entry.type === "custom" && entry.customType === "engine.one"))
      yield entry;
}

/** A context without its first messages. */
function without(first: number): (view: View) => Pick<View, "contextMessages"> {
  return (view) => ({
    contextMessages: (limit) => {
      const slice = view.contextMessages(limit);
      return { ...slice, messages: slice.messages.slice(first) };
    },
  });
}

const IGNORED = { release: () => undefined };

const WRITING: Record<string, OpenMutant> = {
  "append.order": reader(({ cursor }) => ({
    cursor: replaced(cursor, { forward: (after) => reversed(cursor.forward(after)) }),
  })),
  "append.fields": writer((base) => ({
    append: (entry) => base.append(entry.type === "custom" ? { ...entry, data: "another" } : entry),
  })),
  "append.cursor": reader(({ cursor }) => ({
    cursor: replaced(cursor, { backward: () => cursor.backward() }),
  })),
  "append.place": writer((base) => ({
    place: (id) => {
      const place = base.place(id);
      return place && { ...place, rawSeq: place.rawSeq + 1 };
    },
  })),
  "append.engine": reader(({ cursor }) => ({
    cursor: replaced(cursor, { ofEngine: () => onPathOnly(cursor) }),
  })),
  "append.closed": writer(() => ({ close: () => undefined })),
  "commit.once": writer((base) => ({
    commitTurn: (turn) => {
      base.commitTurn(turn);
      return true;
    },
  })),
  "commit.recorded": writer((base) => ({
    recordedTurn: (turnId) => {
      const turn = base.recordedTurn(turnId);
      return turn && { ...turn, isOver: true };
    },
  })),
  "commit.finalized": writer(() => ({ markFinalized: () => undefined })),
  "commit.outcome": writer((base) => ({
    commitTurn: ({ turnId, outcome }) => base.commitTurn({ turnId, outcome }),
  })),
  "crash.fence": writer((base) => ({
    append: (entry) =>
      unless(
        "lock_lost",
        () => base.append(entry),
        () => ({ ...entry, id: "lost", parentId: null, timestamp: "" }) as TranscriptEntry,
      ),
    commitTurn: (turn) =>
      unless(
        "lock_lost",
        () => base.commitTurn(turn),
        () => true,
      ),
  })),
  "rewind.moves": writer((base) => ({
    rewind: (target) => {
      if (target !== null) base.rewind(target);
    },
  })),
  "rewind.unknown": writer((base) => ({
    rewind: (target) =>
      unless(
        "entry_not_found",
        () => base.rewind(target),
        () => base.rewind(null),
      ),
  })),
  "rewrite.replaces": writer(() => ({
    rewrite: (all) => ({ changed: true, bytesFreed: 0, rewrittenEntries: all.length }),
  })),
  "rewrite.refuses": writer((base) => ({ rewrite: (all) => ({ ...base.rewrite(all), changed: true }) })),
};

const OPENING: Record<string, OpenMutant> = {
  "open.missing": store((base) => ({
    find: (key) => base.find(key) ?? base.create(key, CWD),
  })),
  "open.key": store((base) => ({
    find: (key) =>
      unless(
        "session_key_invalid",
        () => base.find(key),
        () => undefined,
      ),
  })),
  "open.again": reader(without(1)),
  "open.slice": writer((base) => ({
    contextMessages: (limit) => ({ ...base.contextMessages(limit), complete: true }),
  })),
  "open.compaction": reader(without(1)),
  "open.record": store((base) => ({
    find: (key) => {
      const record = base.find(key);
      return record && { ...record, title: "another" };
    },
  })),
  "crash.reader": reader(() => ({ interruptedTurns: () => [] })),
  "crash.closes": store((base) => ({
    openWriter: (key, options) => base.openWriter(key, { ...options, continues: "t2" }),
  })),
  "crash.continues": store((base) => ({
    openWriter: (key, { cwd }) => base.openWriter(key, { cwd }),
  })),
  "crash.late": store((base) => ({
    openWriter: (key, { cwd, continues }) =>
      base.openWriter(key, { cwd, ...(continues === "t2" ? { continues } : {}) }),
  })),
  "lock.writer": store((base) => ({
    openWriter: (key, options) =>
      unless(
        "session_locked",
        () => base.openWriter(key, options),
        () => base.openWriter("another", options),
      ),
  })),
  "lock.running": reader(() => ({ runningIn: { pid: 1, since: "always" } })),
  "lock.hold": store((base) => ({
    hold: (key, folder) =>
      unless(
        "session_locked",
        () => base.hold(key, folder),
        () => ({ sessionKey: key, ...IGNORED }),
      ),
  })),
  "lock.folder": store((base) => ({ hold: (key) => base.hold(key) })),
  "lock.begin": store((base) => ({
    begin: (folder) => ({ sessionKey: base.firstKey(folder), ...IGNORED }),
  })),
};

const FINDING: Record<string, OpenMutant> = {
  "fork.path": store((base) => ({ fork: (key, other) => base.fork(key, other) })),
  "fork.refuses": store((base) => ({
    fork: async (key, other, options) =>
      await base.fork(key, base.find(other) ? `${other}-2` : other, options),
  })),
  "renew.empty": store((base) => ({ renew: (key) => base.find(key) ?? base.create(key, CWD) })),
  "rotate.file": store((base) => ({ rotate: (from, successor) => base.rotate(from, successor, []) })),
  "rotate.back": store((base) => ({
    rotate: (from, successor, carry) =>
      base.rotate(from, successor, successor.file === undefined ? [] : carry),
  })),
  "rotate.refuses": store((base) => ({
    rotate: (from, successor, carry) =>
      unless(
        "import_invalid",
        () => base.rotate(from, successor, carry),
        () => from,
      ),
  })),
  "rotate.superseded": store((base) => ({
    rotate: (from, successor, carry) =>
      unless(
        "lock_lost",
        () => base.rotate(from, successor, carry),
        () => from,
      ),
  })),
  "list.order": store((base) => ({ list: () => base.list().toReversed() })),
  "list.create": store((base) => ({ create: (key, { cwd }) => base.create(key, { cwd }) })),
  "list.reserved": store(() => ({ reserveId: () => "0000000000000000" })),
  "list.first-key": store(() => ({ firstKey: (folder) => folder.split("/").at(-1) ?? "" })),
  "search.words": store((base) => ({
    search: (query, options) => base.search(query, { ...options, limit: 20 }),
  })),
  "search.off-path": store((base) => ({
    search: (query, options) => base.search(query, options).filter(({ onPath }) => onPath),
  })),
  "exchange.round-trip": store((base) => ({
    export: async function* (key, format) {
      yield* base.export(key, format);
      yield Buffer.from("\n");
    },
  })),
  "exchange.key": store((base) => ({ import: async (source) => await base.import(source) })),
  "exchange.corrupt": store((base) => ({
    import: async (source, options) => {
      try {
        return await base.import(source, options);
      } catch (error) {
        base.create("half", CWD);
        throw error;
      }
    },
  })),
  "exchange.native": store((base) => ({
    import: async (source, options) =>
      await base.import(
        typeof source === "string" ? source : { ...source, messages: source.messages.slice(0, 1) },
        options,
      ),
  })),
  "exchange.markdown": store((base) => ({ export: (key) => base.export(key, "jsonl") })),
  "delete.all": store(() => ({ delete: () => ({ sessions: 2, bytes: 1 }) })),
  "delete.refuses": store((base) => ({
    delete: (key) =>
      unless(
        "session_locked",
        () => base.delete(key),
        () => ({ sessions: 0, bytes: 0 }),
      ),
  })),
  "close.refuses": store(() => ({ close: () => undefined })),
};

export const STORE_MUTANTS: Record<string, OpenMutant> = { ...WRITING, ...OPENING, ...FINDING };
