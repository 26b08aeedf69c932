/** A configuration of OpenClaw on its way to one of ours: the text is edited, so that comments stay, and each step told. */
import { parseJson5 } from "../../config/json5.ts";
import { formatKeyPath, valueAt, type KeyPath } from "../../config/key-path.ts";
import { renameInText, setInText, unsetInText } from "../../config/splice.ts";

/** A key that was taken under another name, or with another value. */
export interface Renamed {
  path: string;
  /** What it is here; never a value that can be a secret. */
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

  /** `file`: for messages. Throws `config_invalid` for a text that is not JSON5. */
  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#value = parseJson5(text, file);
  }

  get text(): string {
    return this.#text;
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
    return isObject(value) ? Object.keys(value) : [];
  }

  /** False where it could not be left out. */
  drop(path: KeyPath, why: string): boolean {
    const done = this.#without(path);
    if (done) this.notTaken.push({ path: formatKeyPath(this.#theirs(path)), why });
    return done;
  }

  /** Leaves out what was taken elsewhere. */
  forget(path: KeyPath): void {
    this.#without(path);
  }

  set(path: KeyPath, value: unknown, told: Renamed): void {
    this.#become(setInText(this.#text, this.#file, path, value));
    this.renamed.push(told);
  }

  /** Another key for the value, its comments included; `value`: another value too. */
  rename(path: KeyPath, key: string, value?: unknown): void {
    const to = [...path.slice(0, -1), key];
    const as = value === undefined ? formatKeyPath(to) : `${formatKeyPath(to)} = ${JSON.stringify(value)}`;
    const text = renameInText(this.#text, this.#file, path, key);
    if (text === undefined) return;
    this.#become(value === undefined ? text : setInText(text, this.#file, to, value));
    this.renamed.push({ path: formatKeyPath(this.#theirs(path)), as });
    this.#moved.push({ from: path, to });
  }

  /** Takes a value to another place. */
  moved(path: KeyPath, to: KeyPath, value: unknown): void {
    this.set(to, value, { path: formatKeyPath(this.#theirs(path)), as: formatKeyPath(to) });
    this.forget(path);
  }

  /** The path that it has in OpenClaw's file. */
  #theirs(path: KeyPath): KeyPath {
    const move = this.#moved.find(({ to }) => to.every((key, index) => path[index] === key));
    return move ? [...move.from, ...path.slice(move.to.length)] : path;
  }

  #without(path: KeyPath): boolean {
    const text = unsetInText(this.#text, this.#file, path);
    if (text === undefined) return false;
    this.#become(text);
    // What held nothing else says nothing any more.
    const parent = path.slice(0, -1);
    const left = this.at(parent);
    const empty = typeof left === "object" && left !== null && Object.keys(left).length === 0;
    if (empty && parent.length > 0) this.#without(parent);
    return true;
  }

  #become(text: string): void {
    this.#text = text;
    this.#value = parseJson5(text, this.#file);
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
