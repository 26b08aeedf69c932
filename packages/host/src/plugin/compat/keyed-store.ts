/**
 * `runtime.state` of OpenClaw: a plugin's values by key, in a database in its own folder. Values are JSON; a namespace has at
 * most `maxEntries`, and drops the oldest first.
 */
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";

export interface KeyedStoreOptions {
  namespace: string;
  maxEntries?: number;
  overflowPolicy?: "evict-oldest" | "reject-new";
  defaultTtlMs?: number;
}

export interface StoredEntry {
  key: string;
  value: unknown;
  createdAt: number;
  expiresAt?: number;
}

type Ttl = { ttlMs?: number };

export interface SyncKeyedStore {
  register(key: string, value: unknown, options?: Ttl): void;
  registerIfAbsent(key: string, value: unknown, options?: Ttl): boolean;
  update(key: string, change: (current: unknown) => unknown, options?: Ttl): boolean;
  lookup(key: string): unknown;
  consume(key: string): unknown;
  delete(key: string): boolean;
  entries(): StoredEntry[];
  count(): number;
  clear(): void;
}

const MAX_ENTRIES = 10_000;
const MAX_VALUE_BYTES = 1_000_000;

interface Row {
  key: string;
  value: string;
  created: number;
  expires: number | null;
}

/** Opens databases at their first use: most plugins never store anything. */
export class PluginState {
  readonly #folder: string;
  #db: Database | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The plugin's own folder, created at this call. */
  readonly resolveStateDir = (): string => {
    ensurePrivateDir(this.#folder);
    return this.#folder;
  };

  readonly openSyncKeyedStore = (options: KeyedStoreOptions): SyncKeyedStore =>
    keyedStore(() => this.#open(), options);

  /** The same with promises. */
  readonly openKeyedStore = (
    options: KeyedStoreOptions,
  ): Record<keyof SyncKeyedStore, (...given: unknown[]) => Promise<unknown>> => {
    const store = this.openSyncKeyedStore(options);
    const members = Object.entries(store) as [keyof SyncKeyedStore, (...given: unknown[]) => unknown][];
    const later = members.map(([name, member]) => [
      name,
      async (...given: unknown[]): Promise<unknown> => member(...given),
    ]);
    return Object.fromEntries(later) as ReturnType<PluginState["openKeyedStore"]>;
  };

  close(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  #open(): Database {
    if (this.#db) return this.#db;
    const db = openSqlite(join(this.resolveStateDir(), "state.db"));
    db.raw.exec(
      "CREATE TABLE IF NOT EXISTS entries (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER, PRIMARY KEY (namespace, key))",
    );
    this.#db = db;
    return db;
  }
}

function keyedStore(open: () => Database, options: KeyedStoreOptions): SyncKeyedStore {
  const { namespace } = options;
  if (typeof namespace !== "string" || !/^[\w.:-]{1,128}$/.test(namespace))
    throw new PagurusError(
      "usage_invalid",
      `The namespace ${JSON.stringify(namespace)} of a keyed store cannot be used; use 1 to 128 letters, digits, "_", ".", ":" and "-".`,
    );
  const rows = new Rows(open, options);
  return {
    register: (key, value, ttl) => rows.put(key, value, ttl),
    registerIfAbsent: (key, value, ttl) => {
      if (rows.get(key)) return false;
      rows.put(key, value, ttl);
      return true;
    },
    update: (key, change, ttl) => {
      const row = rows.get(key);
      const next = change(row && valueOf(row));
      if (next === undefined) return false;
      rows.put(key, next, ttl);
      return true;
    },
    lookup: (key) => {
      const row = rows.get(key);
      return row && valueOf(row);
    },
    consume: (key) => {
      const row = rows.get(key);
      if (row) rows.remove(key);
      return row && valueOf(row);
    },
    delete: (key) => rows.remove(key),
    entries: () => rows.all().map(entryOf),
    count: () => rows.all().length,
    clear: () => rows.clear(),
  };
}

function valueOf({ value }: Row): unknown {
  return JSON.parse(value);
}

function entryOf(row: Row): StoredEntry {
  const { key, created, expires } = row;
  return { key, value: valueOf(row), createdAt: created, ...(expires !== null && { expiresAt: expires }) };
}

class Rows {
  readonly #open: () => Database;
  readonly #options: KeyedStoreOptions;

  constructor(open: () => Database, options: KeyedStoreOptions) {
    this.#open = open;
    this.#options = options;
  }

  /** Unexpired entries, oldest first. */
  all(): Row[] {
    const { namespace } = this.#options;
    const db = this.#open();
    db.run("DELETE FROM entries WHERE namespace = ? AND expires <= ?", namespace, Date.now());
    return db.all<Row>(
      "SELECT key, value, created, expires FROM entries WHERE namespace = ? ORDER BY created, rowid",
      namespace,
    );
  }

  get(key: string): Row | undefined {
    return this.#open().get<Row>(
      "SELECT key, value, created, expires FROM entries WHERE namespace = ? AND key = ? AND (expires IS NULL OR expires > ?)",
      this.#options.namespace,
      key,
      Date.now(),
    );
  }

  put(key: string, value: unknown, { ttlMs = this.#options.defaultTtlMs }: Ttl = {}): void {
    const { namespace } = this.#options;
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined || Buffer.byteLength(text) > MAX_VALUE_BYTES)
      throw new PagurusError(
        "usage_invalid",
        `The value of ${JSON.stringify(key)} in ${namespace} is not JSON of at most ${MAX_VALUE_BYTES} bytes; keep it in a file.`,
      );
    const known = this.get(key) !== undefined;
    if (!known) this.#dropOldest();
    const now = Date.now();
    this.#open().run(
      "INSERT OR REPLACE INTO entries (namespace, key, value, created, expires) VALUES (?, ?, ?, ?, ?)",
      namespace,
      key,
      text,
      now,
      ttlMs === undefined ? null : now + ttlMs,
    );
  }

  remove(key: string): boolean {
    const { namespace } = this.#options;
    return this.#open().run("DELETE FROM entries WHERE namespace = ? AND key = ?", namespace, key) > 0;
  }

  clear(): void {
    this.#open().run("DELETE FROM entries WHERE namespace = ?", this.#options.namespace);
  }

  #dropOldest(): void {
    const { namespace, maxEntries = MAX_ENTRIES, overflowPolicy } = this.#options;
    const rows = this.all();
    if (rows.length < maxEntries) return;
    if (overflowPolicy === "reject-new")
      throw new PagurusError(
        "usage_invalid",
        `The keyed store ${namespace} holds its ${maxEntries} entries already; delete some first.`,
      );
    for (const { key } of rows.slice(0, rows.length - maxEntries + 1)) this.remove(key);
  }
}
