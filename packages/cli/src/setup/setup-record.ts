/**
 * Record of what one run of `pagurus setup` changed: `<home>/setup/<time>/record.json`, with a copy of each changed file beside it. The
 * record is written before the change, so that also a killed setup can be undone.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import { configFile } from "@pagurus/core/config/config-paths";
import { setConfigValue, unsetConfigValue } from "@pagurus/core/config/edit";
import { parseJson5 } from "@pagurus/core/config/json5";
import { formatKeyPath, valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { attempt } from "@pagurus/core/data/attempt";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import type { Setting } from "./survey.ts";

interface ChangedFile {
  path: string;
  /** Name of the copy of what it held before; null: it did not exist. */
  copy: string | null;
  /** SHA-256 of what setup left in it; absent: setup did not finish. */
  after?: string;
}

interface ChangedKey {
  path: KeyPath;
  value: unknown;
  /** Absent: the key did not exist. */
  before?: { value: unknown };
}

export interface ImportedRecord {
  sessionKey: string;
  sessionId: string;
  bytes: number;
}

interface Stored {
  version: 1;
  files: ChangedFile[];
  keys: ChangedKey[];
  imported: ImportedRecord[];
}

const NAME = "record.json";

function fileBytes(path: string): Buffer | undefined {
  return attempt(() => readFileSync(path));
}

function sumOf(data: Buffer): string {
  return hash("sha256", data);
}

export class SetupRecord {
  readonly #folder: string;
  readonly #stored: Stored;

  private constructor(folder: string, stored: Stored) {
    this.#folder = folder;
    this.#stored = stored;
  }

  /** Begins the record of a run. Throws the file system's errors. */
  static begin(home: string, now: Date): SetupRecord {
    const at = join(home, "setup");
    ensurePrivateDir(at);
    const stamp = now.toISOString().replace(/[-:.]/g, "");
    let folder = join(at, stamp);
    for (let copy = 2; existsSync(folder); copy += 1) folder = join(at, `${stamp}-${copy}`);
    mkdirSync(folder, { mode: 0o700 });
    return new SetupRecord(folder, { version: 1, files: [], keys: [], imported: [] });
  }

  /** The newest record of a home; undefined where setup changed nothing. Throws `store_read_failed`. */
  static newest(home: string): SetupRecord | undefined {
    const at = join(home, "setup");
    const names = (attempt(() => readdirSync(at)) ?? []).toSorted();
    const folder = names.map((name) => join(at, name)).findLast((each) => existsSync(join(each, NAME)));
    if (folder === undefined) return undefined;
    const stored = attempt(() => JSON.parse(readFileSync(join(folder, NAME), "utf8")) as Stored);
    if (stored?.version === 1) return new SetupRecord(folder, stored);
    throw new PagurusError(
      "store_read_failed",
      `The record of setup in ${folder} cannot be read; the copies of the changed files are beside it.`,
    );
  }

  get imported(): readonly ImportedRecord[] {
    return this.#stored.imported;
  }

  #save(): void {
    writeFileAtomic(join(this.#folder, NAME), JSON.stringify(this.#stored, null, 2));
  }

  /** Keeps a copy of the file, runs `change` and notes the result. */
  #change(path: string, change: () => void): void {
    const before = fileBytes(path);
    const copy = before === undefined ? null : `${this.#stored.files.length + 1}.copy`;
    if (before !== undefined && copy !== null) writeFileAtomic(join(this.#folder, copy), before);
    const file: ChangedFile = { path, copy };
    this.#stored.files.push(file);
    this.#save();
    change();
    const after = fileBytes(path);
    if (after !== undefined) file.after = sumOf(after);
    this.#save();
  }

  /** Writes a file for this user alone. Throws the file system's errors. */
  write(path: string, content: string): void {
    ensurePrivateDir(dirname(path));
    this.#change(path, () => writeFileAtomic(path, content));
  }

  /** Sets configuration keys. Throws as `setConfigValue`. */
  configure(home: string, settings: readonly Setting[]): void {
    const file = configFile(home);
    this.#change(file, () => {
      for (const { path, value } of settings) {
        const before = keyIn(file, path);
        setConfigValue(file, path, value);
        this.#stored.keys.push({
          path,
          value,
          ...(before === undefined ? {} : { before: { value: before } }),
        });
      }
    });
  }

  addImported(record: ImportedRecord): void {
    this.#stored.imported.push(record);
    this.#save();
  }

  /** Puts the files back; returns one sentence for each. The record is removed. */
  undo(): string[] {
    const sentences = this.#stored.files.toReversed().map((file) => this.#restore(file));
    rmSync(this.#folder, { recursive: true, force: true });
    // Folders that hold nothing else any more.
    attempt(() => rmdirSync(dirname(this.#folder)));
    return sentences;
  }

  #restore({ path, copy, after }: ChangedFile): string {
    const now = fileBytes(path);
    const before = copy === null ? undefined : fileBytes(join(this.#folder, copy));
    if (now === undefined && before === undefined) return `${path} does not exist, as before.`;
    if (now !== undefined && before?.equals(now) === true) return `${path} is as before.`;
    // A removed file was the person's own change.
    if (now === undefined) return `${path} was removed since, and stays so.`;
    if (after !== undefined && sumOf(now) !== after) return this.#keepChanges(path);
    if (before === undefined) {
      rmSync(path);
      attempt(() => rmdirSync(dirname(path)));
      return `${path} is removed; it did not exist before.`;
    }
    // A symbolic link is kept; its target is written.
    writeFileAtomic(realpathSync(path), before);
    return `${path} is as before, byte for byte.`;
  }

  /** A file that was edited since: only the keys that still have setup's value go back. */
  #keepChanges(path: string): string {
    const mine = this.#stored.keys.filter(({ path: key, value }) =>
      isDeepStrictEqual(keyIn(path, key), value),
    );
    if (mine.length === 0) return `${path} was changed since, and stays as it is.`;
    for (const { path: key, before } of mine.toReversed()) {
      if (before === undefined) unsetConfigValue(path, key);
      else setConfigValue(path, key, before.value);
    }
    const names = mine.map(({ path: key }) => formatKeyPath(key)).join(", ");
    return `${path} was changed since: your changes stay, and only ${names} ${mine.length === 1 ? "is" : "are"} as before.`;
  }
}

function keyIn(file: string, path: KeyPath): unknown {
  const text = fileBytes(file)?.toString("utf8");
  return text === undefined ? undefined : attempt(() => valueAt(parseJson5(text, file), path));
}
