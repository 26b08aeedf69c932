/** Cuts a note into passages: a paragraph each, with the headings right above it. */
import { fold } from "./words.ts";

/** Most UTF-16 units of a passage's text. */
const PASSAGE_CHARS = 700;

export interface Passage {
  /** Relative to the workspace, with `/`. */
  path: string;
  /** 1-based line that it starts at. */
  line: number;
  text: string;
  folded: string;
  /** Folded path and headings that the passage stands under. */
  context: string;
}

const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
const FENCE = /^ {0,3}(```|~~~)/;

/** Parts of a line of at most `PASSAGE_CHARS`, cut at spaces where there are any. */
function parts(line: string): string[] {
  const cut: string[] = [];
  let rest = line;
  while (rest.length > PASSAGE_CHARS) {
    const space = rest.lastIndexOf(" ", PASSAGE_CHARS);
    let at = space > PASSAGE_CHARS / 2 ? space : PASSAGE_CHARS;
    // Not between the two halves of a character.
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
  #lines: string[] = [];
  #start = 1;
  #length = 0;
  #onlyHeadings = true;
  #fence: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  take(line: string, number: number): void {
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined && (this.#fence === undefined || this.#fence === fence)) {
      this.#fence = this.#fence === undefined ? fence : undefined;
    }
    const heading = this.#fence === undefined ? HEADING.exec(line) : null;
    if (line.trim() === "") {
      // A blank line under a heading does not part it from its paragraph.
      if (!this.#onlyHeadings) this.flush();
    } else if (heading) {
      if (!this.#onlyHeadings) this.flush();
      this.#headings.length = Math.min(this.#headings.length, (heading[1] ?? "").length - 1);
      this.#headings[(heading[1] ?? "").length - 1] = heading[2] ?? "";
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
      const context = fold([this.#path, ...this.#headings.filter(Boolean)].join("\n"));
      this.passages.push({ path: this.#path, line: this.#start, text, folded: fold(text), context });
    }
    this.#lines = [];
    this.#length = 0;
    this.#onlyHeadings = true;
  }
}

export function cutPassages(path: string, text: string): Passage[] {
  const cutter = new PassageCutter(path);
  text.split(/\r?\n/).forEach((line, index) => cutter.take(line, index + 1));
  cutter.flush();
  return cutter.passages;
}
