/** The folders of captures on the disk: numbers that no two requests share, and room for new ones. */
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { capturesDir } from "../../../config/captures.ts";
import { LAST_FILE, numberOfFile, recordFile } from "./record.ts";

export interface ShelfLimits {
  maxBytes: number;
  /** Newest records of a session that stay. */
  keep?: number;
}

/** A record as the bound sees it. */
interface Shelved {
  folder: string;
  number: number;
  files: string[];
  bytes: number;
  /** When its first file was written last, ms. */
  writtenAt: number;
}

/**
 * Room is made ahead by this share of the bound, so that not each request looks through the folders; and they are looked
 * through after so much was written, since other processes write too.
 */
const ROOM_AHEAD = 1 / 8;
/** Tries to make the folder of a session, for one record. */
const MOST_FOLDERS = 5;

export class Shelf {
  readonly #home: string;
  readonly #limits: ShelfLimits;
  /** Newest number that this process knows of, by folder; and the claim that is under way. */
  readonly #newest = new Map<string, number>();
  readonly #claims = new Map<string, Promise<number>>();
  /** Records that this process writes; they are not taken away. */
  readonly #open = new Set<string>();
  /** Bytes on the disk as far as known, and how many there may be before the next look. */
  #total = 0;
  #lookAt = 0;
  #looking: Promise<void> | undefined;

  constructor(home: string, limits: ShelfLimits) {
    this.#home = home;
    this.#limits = limits;
  }

  /** Makes the record's JSON file under the next free number; records of a session get theirs in the order of calls. */
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
      const file = recordFile(folder, number);
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
        // Another process writes into the same session.
        if (code === "EEXIST") this.#newest.set(folder, Math.max(number, await newestNumber(folder)));
        // It may be there by now: another process makes it too. Somebody who deletes it again and again has it so.
        else if (code === "ENOENT" && made < MOST_FOLDERS) {
          made += 1;
          await this.#makeFolder(folder);
        } else throw error;
      }
    }
  }

  async #makeFolder(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Also where the folder was there with other rights.
    await chmod(capturesDir(this.#home), 0o700);
  }

  /** Nothing more is written to the record. */
  async release(folder: string, number: number): Promise<void> {
    this.#open.delete(recordFile(folder, number));
    const { keep, maxBytes } = this.#limits;
    // What could not go while it was written may go now.
    if (this.#total > maxBytes) await this.#look();
    if (keep === undefined) return;
    const records = await recordsOf(folder);
    await this.#remove(records.slice(0, Math.max(0, records.length - keep)).filter(this.#isShut));
  }

  /** Bytes were written. Takes the oldest records away where the bound is exceeded. */
  async added(bytes: number): Promise<void> {
    this.#total += bytes;
    if (this.#total > this.#lookAt) await this.#look();
  }

  async #look(): Promise<void> {
    this.#looking ??= this.#makeRoom().finally(() => (this.#looking = undefined));
    await this.#looking;
  }

  readonly #isShut = ({ folder, number }: Shelved): boolean => !this.#open.has(recordFile(folder, number));

  async #makeRoom(): Promise<void> {
    const root = capturesDir(this.#home);
    const folders = (await names(root)).map((name) => join(root, name));
    const all = (await Promise.all(folders.map(recordsOf))).flat();
    const { maxBytes } = this.#limits;
    let total = all.reduce((sum, { bytes }) => sum + bytes, 0);
    const gone: Shelved[] = [];
    if (total > maxBytes) {
      // The newest stays, also where it is larger than the bound by itself.
      const oldest = all.toSorted(byAge).slice(0, -1).filter(this.#isShut);
      for (const record of oldest) {
        if (total <= maxBytes * (1 - ROOM_AHEAD)) break;
        gone.push(record);
        total -= record.bytes;
      }
      await this.#remove(gone);
    }
    this.#total = total;
    const later = total + maxBytes * ROOM_AHEAD;
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

/** The session was deleted meanwhile, with its folder. */
function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/** Empty where there is no such folder. */
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
    // Gone in the meantime: another process makes room too.
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
