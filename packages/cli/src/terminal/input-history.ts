/** Inputs of all conversations, in `history.jsonl` of the home. A line: `{"text":"run the tests","cwd":"/home/ana/app"}`. */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseRecord, recordOf, stringOf } from "@pagurus/core/data/record-fields";

/** Newest inputs that are offered, and bytes of the file that are read for them. */
const MOST_INPUTS = 1_000;
/** Characters of an input that is kept; a longer one was pasted. */
const MOST_CHARACTERS = 10_000;

export class InputHistory {
  readonly #path: string;
  readonly #cwd: string;
  #texts: string[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, cwd: string) {
    this.#path = path;
    this.#cwd = cwd;
  }

  /** Reads the file. A missing or unreadable one is an empty history; a torn line is skipped. */
  async load(): Promise<void> {
    const text = await readFile(this.#path, "utf8").catch(() => "");
    const entries = text
      .split("\n")
      .slice(-4 * MOST_INPUTS)
      .map((line) => recordOf(parseRecord(line)))
      .filter((entry) => stringOf(entry["text"]) !== "");
    const here = entries.filter((entry) => entry["cwd"] === this.#cwd);
    const elsewhere = entries.filter((entry) => entry["cwd"] !== this.#cwd);
    // The newest of this folder come first on the way up.
    const texts = [...elsewhere, ...here].map((entry) => stringOf(entry["text"]));
    this.#texts = [...new Set(texts.toReversed())].slice(0, MOST_INPUTS).toReversed();
  }

  /** The oldest first. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /** Never throws: a history that cannot be written ends with the chat. */
  add(text: string): void {
    if (text.trim() === "" || text.length > MOST_CHARACTERS || this.#texts.at(-1) === text) return;
    this.#texts.push(text);
    const line = `${JSON.stringify({ text, cwd: this.#cwd })}\n`;
    this.#writing = this.#writing
      .then(() => mkdir(dirname(this.#path), { recursive: true }))
      .then(() => appendFile(this.#path, line, { mode: 0o600 }))
      .catch(() => undefined);
  }

  /** Waits for the newest input to be in the file. */
  async close(): Promise<void> {
    await this.#writing;
  }
}
