/**
 * The tree of an OpenClaw transcript. Besides entries with parents there are `leaf` lines, which set the point to continue from, entries
 * `appendMode: "side"`, which do not move it, and `reset` lines, after which it starts again. Source: the host's own reading of its
 * append-only event tree (its transcript format of 2026.9).
 */
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";

const CANONICAL = new Set([
  "message",
  "thinking_level_change",
  "model_change",
  "compaction",
  "reset",
  "branch_summary",
  "custom",
  "custom_message",
  "label",
  "session_info",
]);

/** Parent of the first entry after a reset that keeps nothing. */
export const FRESH_START = "\0fresh start";

export class OpenClawTree {
  /** Parent of each entry, null at the beginning. */
  readonly #parents = new Map<string, string | null>();
  /** Target of each `leaf` line. */
  readonly #marks = new Map<string, string | null>();
  /** Resets that keep nothing. */
  readonly #bare = new Set<string>();
  /** The newest reset and all entries after it. */
  readonly #fresh = new Set<string>();
  #resets = 0;
  #append: string | null = null;
  #leaf: string | null = null;
  /** False after an entry without an id: the end is then the last entry read. */
  #leafIsKnown = false;
  /** Results in the transcript, by call. */
  readonly results = new Map<string, number>();
  header: Fields | undefined;

  get resets(): number {
    return this.#resets;
  }

  /** The last entry of the conversation; undefined: the last one in the file. */
  get leaf(): string | undefined {
    if (!this.#leafIsKnown) return undefined;
    return this.#leaf === null || this.#bare.has(this.#leaf) ? FRESH_START : this.#leaf;
  }

  scan(line: Fields): void {
    const type = filledString(line["type"]) ?? "";
    if (type === "session") {
      this.header ??= line;
      return;
    }
    const message = asRecord(line["message"]);
    const call = message?.["role"] === "toolResult" ? filledString(message["toolCallId"]) : undefined;
    if (call !== undefined) this.results.set(call, (this.results.get(call) ?? 0) + 1);
    const id = filledString(line["id"]);
    if (id === undefined) this.#leafIsKnown = false;
    else if (type === "leaf") this.#mark(id, line);
    else if (!this.#parents.has(id)) this.#entry(id, type, line);
  }

  /** The line with its resolved parent; undefined for a `leaf` line. */
  placed(line: Fields): Fields | undefined {
    const id = filledString(line["id"]);
    if (line["type"] === "leaf") return undefined;
    const parent = id === undefined ? undefined : this.#parents.get(id);
    if (parent === undefined) return line;
    return { ...line, parentId: parent !== null && this.#bare.has(parent) ? FRESH_START : parent };
  }

  #mark(id: string, line: Fields): void {
    const target = reference(line["targetId"]);
    const append = line["appendParentId"] === undefined ? target : reference(line["appendParentId"]);
    const known = (to: string | null | undefined): boolean => to === null || this.#isThere(to);
    if (target === undefined || append === undefined || !known(target) || !known(append)) {
      // Has no effect; its children are attached to its parent.
      this.#marks.set(id, reference(line["parentId"]) ?? null);
      return;
    }
    const end = this.#through(target);
    // Nothing leads back before a reset.
    const back = this.#resets > 0 && (end === null || !this.#fresh.has(end));
    this.#marks.set(id, back ? this.#leaf : end);
    this.#append = back ? this.#leaf : append;
    this.#leaf = back ? this.#leaf : end;
    this.#leafIsKnown = true;
  }

  #entry(id: string, type: string, line: Fields): void {
    const written = reference(line["parentId"]);
    const canonical = CANONICAL.has(type);
    const side = line["appendMode"] === "side";
    let parent = written === undefined ? this.#leaf : this.#through(written);
    if (canonical && !side) {
      const stale = parent !== null && !this.#parents.has(parent);
      const aside = written !== undefined && written === this.#append && this.#append !== this.#leaf;
      const back = this.#resets > 0 && (parent === null || !this.#fresh.has(parent));
      if (stale || aside || back) parent = this.#leaf;
    }
    this.#parents.set(id, parent);
    if (parent !== null && this.#fresh.has(parent)) this.#fresh.add(id);
    if (type === "reset") this.#reset(id, line);
    this.#append = id;
    if (canonical && !side) {
      this.#leaf = id;
      this.#leafIsKnown = true;
    }
  }

  #reset(id: string, line: Fields): void {
    this.#resets += 1;
    this.#fresh.clear();
    this.#fresh.add(id);
    const kept = filledString(line["firstKeptEntryId"]);
    if (kept === undefined || !this.#parents.has(kept)) this.#bare.add(id);
  }

  #isThere(id: string | undefined): boolean {
    return id !== undefined && (this.#parents.has(id) || this.#marks.has(id));
  }

  /** Resolves a reference through all `leaf` lines. */
  #through(id: string | null): string | null {
    let at: string | null = id;
    for (let step = 0; at !== null && step <= this.#marks.size; step += 1) {
      const next = this.#marks.get(at);
      if (next === undefined) return at;
      at = next;
    }
    return null;
  }
}

/** An id, null, or undefined for anything else. */
function reference(value: unknown): string | null | undefined {
  return value === null ? null : filledString(value);
}
