/** A configuration of OpenClaw during its conversion: the text is edited, so that comments are kept, and each step is recorded. */
import { parseJson5 } from "@pagurus/core/config/json5";
import { formatKeyPath, valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { Revision } from "@pagurus/core/config/revision";
import { setInText } from "@pagurus/core/config/text-splice";
import { isRecord } from "@pagurus/core/data/record-fields";

/** A key taken under another name, or with another value. */
export interface Renamed {
  path: string;
  /** Its new form; never a value that can be secret. */
  as: string;
}

export interface NotTaken {
  path: string;
  why: string;
}

export class ConfigDraft {
  readonly renamed: Renamed[] = [];
  readonly notTaken: NotTaken[] = [];
  readonly #moved: { from: KeyPath; to: KeyPath }[] = [];
  readonly #file: string;
  #text: string;
  #value: unknown;
  /** Changes since the text was parsed; the value has them already. */
  #open: { revision: Revision; hasTwins: boolean } | undefined;

  /** `file`: for messages. Throws `config_invalid` for a text that is not JSON5. */
  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#value = parseJson5(text, file);
  }

  get text(): string {
    return this.#open?.revision.text ?? this.#text;
  }

  get value(): unknown {
    return this.#value;
  }

  at(path: KeyPath): unknown {
    return valueAt(this.#value, path);
  }

  /** Keys of the object at a path. */
  keys(path: KeyPath): string[] {
    const value = this.at(path);
    return isRecord(value) ? Object.keys(value) : [];
  }

  /** Whether a value can be put at a path: its parents are objects, or missing. */
  takes(path: KeyPath): boolean {
    return path.every((_, depth) => {
      const outer = this.at(path.slice(0, depth));
      return outer === undefined || isRecord(outer);
    });
  }

  /** Drops a value and empty parents, unless an empty list has a meaning. False where it could not be dropped. */
  drop(path: KeyPath, why: string, how: { keepEmpty?: boolean } = {}): boolean {
    const done = this.#without(path, how.keepEmpty);
    if (done) this.notTaken.push({ path: formatKeyPath(this.#theirs(path)), why });
    return done;
  }

  /** Removes a value that was taken elsewhere. */
  forget(path: KeyPath): void {
    this.#without(path);
  }

  set(path: KeyPath, value: unknown, renamed: Renamed): void {
    this.#put(path, value);
    this.renamed.push(renamed);
  }

  /** Renames the key of a value, keeping its comments; `value`: a new value too. */
  rename(path: KeyPath, key: string, value?: unknown): void {
    const to = [...path.slice(0, -1), key];
    const as = value === undefined ? formatKeyPath(to) : `${formatKeyPath(to)} = ${JSON.stringify(value)}`;
    const outer = this.at(path.slice(0, -1));
    const hasTwin = isRecord(outer) && Object.hasOwn(outer, key);
    const isDone = this.#change(
      (revision) => revision.rename(path, key),
      () => renameAt(outer, path, key),
    );
    if (!isDone) return;
    if (hasTwin) this.#become(this.text);
    if (value !== undefined) this.#put(to, value);
    this.renamed.push({ path: formatKeyPath(this.#theirs(path)), as });
    this.#moved.push({ from: path, to });
  }

  /** Moves a value to another place. */
  moved(path: KeyPath, to: KeyPath, value: unknown): void {
    this.set(to, value, { path: formatKeyPath(this.#theirs(path)), as: formatKeyPath(to) });
    this.forget(path);
  }

  /** Reports a part under its path in OpenClaw's file, after it was moved to another one. */
  cameFrom(from: KeyPath, to: KeyPath): void {
    this.#moved.push({ from, to });
  }

  /** Its path in OpenClaw's file. */
  #theirs(path: KeyPath): KeyPath {
    const move = this.#moved.find(({ to }) => to.every((key, index) => path[index] === key));
    return move ? [...move.from, ...path.slice(move.to.length)] : path;
  }

  #without(path: KeyPath, keepEmpty = false): boolean {
    if (this.at(path) === undefined) return false;
    const parent = path.slice(0, -1);
    const outer = this.at(parent);
    const isDone = this.#change(
      (revision) => revision.remove(path),
      () => deleteAt(outer, path),
    );
    if (!isDone) return false;
    // A parent left empty has no meaning any more.
    const left = this.at(parent);
    const empty = typeof left === "object" && left !== null && Object.keys(left).length === 0;
    if (empty && !keepEmpty && parent.length > 0) this.#without(parent);
    return true;
  }

  #put(path: KeyPath, value: unknown): void {
    const outer = this.at(path.slice(0, -1));
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    const isDone =
      isPlain &&
      this.at(path) !== undefined &&
      this.#change(
        (revision) => revision.replace(path, value),
        () => setAt(outer, path, value),
      );
    if (!isDone) this.#become(setInText(this.text, this.#file, path, value));
  }

  /** Applies a change to the text and to the value. */
  #change(change: (revision: Revision) => boolean, mirror: () => void): boolean {
    if (!this.#open) {
      const revision = new Revision(this.#text, this.#file);
      this.#open = { revision, hasTwins: revision.hasTwins };
    }
    const { revision, hasTwins } = this.#open;
    if (!change(revision)) return false;
    // The second value of a duplicate key is not in the parsed value.
    if (hasTwins) this.#become(revision.text);
    else mirror();
    return true;
  }

  #become(text: string): void {
    this.#text = text;
    this.#open = undefined;
    this.#value = parseJson5(text, this.#file);
  }
}

function deleteAt(outer: unknown, path: KeyPath): void {
  const key = path.at(-1) ?? "";
  if (Array.isArray(outer)) outer.splice(Number(key), 1);
  else if (isRecord(outer)) Reflect.deleteProperty(outer, key);
}

function setAt(outer: unknown, path: KeyPath, value: unknown): void {
  const key = path.at(-1) ?? "";
  if (Array.isArray(outer)) outer[Number(key)] = value;
  else if (isRecord(outer)) outer[key] = value;
}

/** Renames a key without changing the order. */
function renameAt(outer: unknown, path: KeyPath, fresh: string): void {
  if (!isRecord(outer)) return;
  for (const [key, value] of Object.entries(outer)) {
    Reflect.deleteProperty(outer, key);
    const name = key === String(path.at(-1)) ? fresh : key;
    Object.defineProperty(outer, name, { value, configurable: true, enumerable: true, writable: true });
  }
}
