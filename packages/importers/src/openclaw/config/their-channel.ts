/** A channel of OpenClaw while it is converted: which of its keys were read, and why others are not taken. */
import { formatKeyPath, type KeyPath } from "@pagurus/core/config/key-path";
import { isRecord } from "@pagurus/core/data/record-fields";
import type { ConfigDraft } from "./config-draft.ts";

export class TheirChannel {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: KeyPath;
  readonly #draft: ConfigDraft;
  readonly #read = new Set<string>();

  constructor(value: Readonly<Record<string, unknown>>, path: KeyPath, draft: ConfigDraft) {
    this.#value = value;
    this.#path = path;
    this.#draft = draft;
  }

  /** The value of a key, which is not reported as unknown from now on. */
  take(key: string): unknown {
    this.#read.add(key);
    return this.#value[key];
  }

  text(key: string): string | undefined {
    const value = this.take(key);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** A channel or group inside of this one; undefined where there is none. */
  inner(key: string): TheirChannel | undefined {
    const value = this.take(key);
    return isRecord(value) ? new TheirChannel(value, [...this.#path, key], this.#draft) : undefined;
  }

  keys(): string[] {
    return Object.keys(this.#value);
  }

  /** Reports a key, where there is one. */
  leave(key: string, why: string): void {
    if (this.take(key) === undefined) return;
    this.#draft.notTaken.push({ path: formatKeyPath([...this.#path, key]), why });
  }

  /** Reports the channel or group as a whole. */
  leaveAll(why: string): void {
    this.#draft.notTaken.push({ path: formatKeyPath(this.#path), why });
  }

  /** Reports each key that was not read. */
  leaveRest(why: string): void {
    for (const key of this.keys()) if (!this.#read.has(key)) this.leave(key, why);
  }

  /** Reports what a key becomes; `as` is never a secret. */
  becomes(key: string, as: string): void {
    this.#draft.renamed.push({ path: formatKeyPath([...this.#path, key]), as });
  }

  /** A credential as a text, or as a reference to the environment; `variable` is where it has to be otherwise. */
  secret(key: string, variable: string): string {
    const value = this.take(key);
    if (typeof value === "string" && value !== "") return value;
    const reference = isRecord(value) ? value : {};
    const { source, id } = reference;
    const isEnv = source === "env" && typeof id === "string" && /^[A-Za-z_]\w*$/.test(id);
    const as = `\${${isEnv ? id : variable}}`;
    if (isEnv || value === undefined) this.becomes(key, as);
    else this.leave(key, `it refers to a store of secrets; set ${variable} in the environment`);
    return as;
  }

  /** Entries of a list of texts and numbers, as texts; undefined where there is none. */
  list(key: string): string[] | undefined {
    const value = this.take(key);
    if (!Array.isArray(value)) return undefined;
    return (value as unknown[]).flatMap((each) =>
      typeof each === "string" || typeof each === "number" ? [String(each).trim()] : [],
    );
  }
}
