/** Splits a note into passages: one paragraph each, with the headings right above it. */

import type { Pace } from "@pagurus/core/platform/pace";
import { codeLines } from "@pagurus/core/data/code-lines";

/** Limit on a passage's text, UTF-16 units. */
const PASSAGE_CHARS = 700;
/** Limit on the indexed part of a heading, UTF-16 units. */
const HEADING_CHARS = 300;

export interface Passage {
  /** 1-based number of its first line. */
  line: number;
  text: string;
  /** Path and headings above the passage, each cut to its start. */
  context: string;
}

const NOTE_HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;

/** Parts of a line of at most `PASSAGE_CHARS`, cut at spaces where there are any. */
function parts(line: string): string[] {
  const cut: string[] = [];
  let rest = line;
  while (rest.length > PASSAGE_CHARS) {
    const space = rest.lastIndexOf(" ", PASSAGE_CHARS);
    let at = space > PASSAGE_CHARS / 2 ? space : PASSAGE_CHARS;
    // Never inside a surrogate pair.
    if (/[\ud800-\udbff]/.test(rest.charAt(at - 1))) at -= 1;
    cut.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  if (rest !== "") cut.push(rest);
  return cut;
}

class PassageCutter {
  readonly passages: Passage[] = [];
  readonly #path: string;
  readonly #headings: string[] = [];
  #newHeadings = false;
  #context: string;
  #lines: string[] = [];
  #start = 1;
  #length = 0;
  #onlyHeadings = true;
  readonly #isCode = codeLines();

  constructor(path: string) {
    this.#path = path;
    this.#context = path;
  }

  take(line: string, number: number): void {
    const heading = this.#isCode(line) ? null : NOTE_HEADING.exec(line);
    if (line.trim() === "") {
      // A blank line after a heading does not separate it from its paragraph.
      if (!this.#onlyHeadings) this.flush();
    } else if (heading) {
      if (!this.#onlyHeadings) this.flush();
      this.#headings.length = Math.min(this.#headings.length, (heading[1] ?? "").length - 1);
      this.#headings[(heading[1] ?? "").length - 1] = (heading[2] ?? "").slice(0, HEADING_CHARS);
      this.#newHeadings = true;
      this.#add(line, number, true);
    } else {
      this.#add(line, number, false);
    }
  }

  #add(line: string, number: number, isHeading: boolean): void {
    for (const part of parts(line)) {
      if (this.#length + part.length > PASSAGE_CHARS) this.flush();
      if (this.#lines.length === 0) this.#start = number;
      this.#lines.push(part);
      this.#length += part.length + 1;
      this.#onlyHeadings &&= isHeading;
    }
  }

  flush(): void {
    const text = this.#lines.join("\n").trimEnd();
    if (text.trim() !== "") {
      if (this.#newHeadings) this.#context = [this.#path, ...this.#headings.filter(Boolean)].join("\n");
      this.#newHeadings = false;
      this.passages.push({ line: this.#start, text, context: this.#context });
    }
    this.#lines = [];
    this.#length = 0;
    this.#onlyHeadings = true;
  }
}

/** Splits a note into passages, in slices. */
export async function cutPassages(path: string, text: string, pace: Pace): Promise<Passage[]> {
  const cutter = new PassageCutter(path);
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    cutter.take(line, index + 1);
    if (pace.due) await pace.rest();
  }
  cutter.flush();
  return cutter.passages;
}
