/** Capture folders on the disk: unique record numbers, and deletion of old records. */
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { capturesDir } from "@pagurus/core/config/captures";
import { LAST_FILE, numberOfFile, captureRecordFile } from "./capture-record.ts";

export interface ShelfLimits {
  maxBytes: number;
  /** Maximum number of records of a session. */
  keep?: number;
}

/** A record as the size limit counts it. */
interface Shelved {
  folder: string;
  number: number;
  files: string[];
  bytes: number;
  /** When its first file was last written, ms. */
  writtenAt: number;
}

/**
 * Old records are deleted down to this share below the limit, so that not every request scans the folders. The folders are scanned
 * again after as many bytes were written, since other processes write too.
 */
const FREED_SHARE = 1 / 8;
/** Maximum attempts to create the folder of a session, per record. */
const MOST_CAPTURES = 5;

export class Shelf {
  readonly #home: string;
  readonly #limits: ShelfLimits;
  /** Newest number known to this process, by folder; and the claim in progress. */
  readonly #newest = new Map<string, number>();
  readonly #claims = new Map<string, Promise<number>>();
  /** Records that this process is writing; they are not deleted. */
  readonly #open = new Set<string>();
  /** Known bytes on the disk, and the total at which the folders are scanned next. */
  #total = 0;
  #lookAt = 0;
  #looking: Promise<void> | undefined;

  constructor(home: string, limits: ShelfLimits) {
    this.#home = home;
    this.#limits = limits;
  }

  /** Creates the record's JSON file under the next free number; records of a session get theirs in the order of calls. */
  claim(folder: string, text: (number: number) => string): Promise<number> {
    const before = this.#claims.get(folder) ?? Promise.resolve(0);
    const claim = before.catch(() => 0).then(() => this.#claim(folder, text));
    this.#claims.set(folder, claim);
    return claim;
  }

  async #claim(folder: string, text: (number: number) => string): Promise<number> {
    if (!this.#newest.has(folder)) this.#newest.set(folder, await newestNumber(folder));
    for (let made = 0; ;) {
      const number = (this.#newest.get(folder) ?? 0) + 1;
      const file = captureRecordFile(folder, number);
      this.#open.add(file);
      try {
        const handle = await open(file, "wx", 0o600);
        try {
          await handle.writeFile(text(number));
        } finally {
          await handle.close();
        }
        this.#newest.set(folder, number);
        return number;
      } catch (error) {
        this.#open.delete(file);
        const { code } = error as NodeJS.ErrnoException;
        // Another process writes to the same session.
        if (code === "EEXIST") this.#newest.set(folder, Math.max(number, await newestNumber(folder)));
        // It may exist by now, if another process creates it too. If a process keeps deleting it, the attempts run out.
        else if (code === "ENOENT" && made < MOST_CAPTURES) {
          made += 1;
          await this.#makeFolder(folder);
        } else throw error;
      }
    }
  }

  async #makeFolder(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Also for a folder that existed with other permissions.
    await chmod(capturesDir(this.#home), 0o700);
  }

  /** Ends the writing of a record. */
  async release(folder: string, number: number): Promise<void> {
    this.#open.delete(captureRecordFile(folder, number));
    const { keep, maxBytes } = this.#limits;
    // Records that were protected while being written can be deleted now.
    if (this.#total > maxBytes) await this.#look();
    if (keep === undefined) return;
    const records = await recordsOf(folder);
    await this.#remove(records.slice(0, Math.max(0, records.length - keep)).filter(this.#isShut));
  }

  /** Counts written bytes. Deletes the oldest records when the limit is exceeded. */
  async added(bytes: number): Promise<void> {
    this.#total += bytes;
    if (this.#total > this.#lookAt) await this.#look();
  }

  async #look(): Promise<void> {
    this.#looking ??= this.#deleteOldest().finally(() => (this.#looking = undefined));
    await this.#looking;
  }

  readonly #isShut = ({ folder, number }: Shelved): boolean =>
    !this.#open.has(captureRecordFile(folder, number));

  async #deleteOldest(): Promise<void> {
    const root = capturesDir(this.#home);
    const folders = (await names(root)).map((name) => join(root, name));
    const all = (await Promise.all(folders.map(recordsOf))).flat();
    const { maxBytes } = this.#limits;
    let total = all.reduce((sum, { bytes }) => sum + bytes, 0);
    const gone: Shelved[] = [];
    if (total > maxBytes) {
      // The newest record stays, even if it alone exceeds the limit.
      const oldest = all.toSorted(byAge).slice(0, -1).filter(this.#isShut);
      for (const record of oldest) {
        if (total <= maxBytes * (1 - FREED_SHARE)) break;
        gone.push(record);
        total -= record.bytes;
      }
      await this.#remove(gone);
    }
    this.#total = total;
    const later = total + maxBytes * FREED_SHARE;
    this.#lookAt = total > maxBytes ? later : Math.min(maxBytes, later);
  }

  async #remove(records: readonly Shelved[]): Promise<void> {
    for (const folder of new Set(records.map((record) => record.folder))) {
      const numbers = records.filter((record) => record.folder === folder).map(({ number }) => number);
      const newest = Math.max(await newestNumber(folder), ...numbers);
      await writeFile(join(folder, LAST_FILE), `${newest}\n`, { mode: 0o600 }).catch(unlessMissing);
    }
    for (const { files } of records) {
      await Promise.all(files.map((file) => rm(file, { force: true })));
    }
  }
}

function byAge(a: Shelved, b: Shelved): number {
  return a.writtenAt - b.writtenAt || a.number - b.number;
}

/** Ignores a missing file: the session was deleted meanwhile, with its folder. */
function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/** File names; empty if there is no such folder. */
async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

async function newestNumber(folder: string): Promise<number> {
  const numbers = (await names(folder)).map((name) => numberOfFile(name) ?? 0);
  const last = await readFile(join(folder, LAST_FILE), "utf8").catch(() => "0");
  return numbers.reduce((most, number) => Math.max(most, number), Number.parseInt(last, 10) || 0);
}

/** The records of a folder, oldest first. */
async function recordsOf(folder: string): Promise<Shelved[]> {
  const found = new Map<number, Shelved>();
  for (const name of await names(folder)) {
    const number = numberOfFile(name);
    // Deleted in the meantime by another process.
    const stats = number === undefined ? undefined : await stat(join(folder, name)).catch(() => undefined);
    if (number === undefined || !stats) continue;
    const record = found.get(number) ?? { folder, number, files: [], bytes: 0, writtenAt: Infinity };
    record.files.push(join(folder, name));
    record.bytes += stats.size;
    record.writtenAt = Math.min(record.writtenAt, stats.mtimeMs);
    found.set(number, record);
  }
  return [...found.values()].toSorted((a, b) => a.number - b.number);
}
