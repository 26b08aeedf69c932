/** Sections of a summary: rendering, and parsing of an earlier summary. */
import { codeLines } from "../../data/code-lines.ts";

/** In text order. The last two are always collected by code. */
export const SECTIONS = [
  "Requests",
  "Decisions and constraints",
  "Answers",
  "Work done",
  "Errors",
  "From data",
  "Earlier",
  "Files touched",
  "Exact identifiers",
] as const;
export type Section = (typeof SECTIONS)[number];

export interface SummaryLine {
  section: Section;
  text: string;
}

/** Headings of a model's summary, and the sections that an extract keeps their lines in. */
const SECTION_ALIASES: Record<string, Section> = {
  goal: "Requests",
  "open asks": "Requests",
  state: "Work done",
};

function knownSection(name: string): Section | undefined {
  const lower = name.toLowerCase();
  return SECTIONS.find((section) => section.toLowerCase() === lower) ?? SECTION_ALIASES[lower];
}

/** Headings of a head that only frame what is below them. */
const FRAME =
  /^(?:Part \S+ \(entries .*\)|Messages of the user, word for word|Since then|At the end|Pinned)$/;
/** Longest heading that is repeated before each of its lines, characters. */
const MOST_HEADING = 60;
/** Depth of a heading without `#`. */
const BOLD_DEPTH = 5;
const NUMBERED_DEPTH = 3;

interface Heading {
  name: string;
  depth: number;
  /** Text after it in its line, for example of `**Goal:** A berth`. */
  rest: string;
}

const HASHES = /^\s{0,3}(#{1,6})\s+(.*\S)\s*$/;
/** `**Goal**`, `2. **Goal:**`, `__Goal__: A berth`. */
const BOLD = /^\s*(?:(?:[-*•]|\d{1,3}[.)])\s+)?(\*\*|__)([^*_\s][^\n]{0,80}?)\1\s*(:?)\s*(.*)$/;
/** `7. Pending tasks:`. */
const NUMBERED = /^\d{1,3}[.)]\s+(\p{L}[^:\n]{0,60}):\s*$/u;
/** `Goal: A berth`, of a known section only. */
const PLAIN_SECTION = /^\s*(?:[-*•]\s+)?(\p{L}[\p{L} ]{1,30}):\s*(.*)$/u;

/** A heading's name without marks, number and colon. */
function nameOf(heading: string): string {
  return heading
    .replace(/\s#+$/, "")
    .replaceAll(/\*\*|__/g, "")
    .replace(/^\d{1,3}[.)]\s+/, "")
    .replace(/:\s*$/, "")
    .trim();
}

/** The heading of a line in any form that summaries have. Undefined for a line of text. */
function headingOf(line: string): Heading | undefined {
  const [, hashes, title] = HASHES.exec(line) ?? [];
  if (hashes !== undefined && title !== undefined)
    return { name: nameOf(title), depth: hashes.length, rest: "" };
  const [, , bold = "", colon, rest = ""] = BOLD.exec(line) ?? [];
  if (bold !== "") {
    const name = nameOf(bold);
    const isWhole = rest === "" && !/[.!?]$/.test(name);
    const isNamed = colon === ":" || bold.endsWith(":");
    if (isWhole || (isNamed && knownSection(name))) return { name, depth: BOLD_DEPTH, rest };
  }
  const numbered = NUMBERED.exec(line)?.[1];
  if (numbered !== undefined) return { name: nameOf(numbered), depth: NUMBERED_DEPTH, rest: "" };
  const [, plain = "", after = ""] = PLAIN_SECTION.exec(line) ?? [];
  return plain !== "" && after === "" && knownSection(plain)
    ? { name: plain, depth: BOLD_DEPTH, rest: "" }
    : undefined;
}

/** Reads a summary line by line. */
class Reader {
  readonly lines: SummaryLine[] = [];
  #section: Section = "Earlier";
  /** Depth of the heading that opened the section. */
  #depth = 0;
  /** Heading without a section of its own, repeated before its lines. */
  #prefix = "";
  /** Depth of that heading. */
  #prefixDepth = 0;
  /** It has no lines so far. */
  #isBare = false;

  enter({ name, depth, rest }: Heading): void {
    // One with headings below it has those for its lines.
    if (depth > this.#prefixDepth) this.#isBare = false;
    this.#keepBare();
    const section = knownSection(name);
    if (section) {
      this.#section = section;
      this.#depth = depth;
      this.#prefix = "";
    } else if (FRAME.test(name)) {
      this.#section = "Earlier";
      this.#depth = depth;
      this.#prefix = "";
    } else {
      // A heading below that of a section divides the section.
      if (depth <= this.#depth) {
        this.#section = "Earlier";
        this.#depth = 0;
      }
      this.#prefix = name;
      this.#prefixDepth = depth;
      this.#isBare = name !== "";
    }
    if (rest !== "") this.add(rest);
  }

  add(text: string): void {
    this.#isBare = false;
    const section = this.#section;
    if (section === "Exact identifiers") {
      for (const value of text.split(/,? +/)) this.lines.push({ section, text: value });
    } else {
      const isCode = section === "Files touched";
      const repeats = this.#prefix !== "" && this.#prefix.length <= MOST_HEADING && !isCode;
      this.lines.push({ section, text: repeats ? `${this.#prefix}: ${text}` : text });
    }
  }

  end(): SummaryLine[] {
    this.#keepBare();
    return this.lines;
  }

  /** A heading without lines is a line itself: a summary of headings alone loses none. */
  #keepBare(): void {
    if (this.#isBare) this.lines.push({ section: this.#section, text: this.#prefix });
    this.#isBare = false;
  }
}

/**
 * Parses the lines of a summary with their sections. Headings may have any form: `## Goal`, `**Goal**`, `1. Goal:`. Text without known
 * headings is `Earlier`; an unknown heading is repeated before each of its lines.
 */
export function readSections(summary: string): SummaryLine[] {
  const reader = new Reader();
  const isCode = codeLines();
  for (const raw of summary.split("\n")) {
    const heading = isCode(raw) ? undefined : headingOf(raw);
    if (heading) {
      reader.enter(heading);
      continue;
    }
    const text = raw.replace(/^\s*(?:[-*•]|\d{1,3}[.)])\s+/, "").trim();
    if (text !== "") reader.add(text);
  }
  return reader.end();
}

/** Renders lines by section, in input order within a section; identifiers share one line. */
export function renderSections(lines: readonly SummaryLine[]): string {
  const parts: string[] = [];
  for (const section of SECTIONS) {
    const texts = lines.filter((line) => line.section === section).map((line) => line.text);
    if (texts.length === 0) continue;
    const body =
      section === "Exact identifiers" ? texts.join(", ") : texts.map((text) => `- ${text}`).join("\n");
    parts.push(`## ${section}\n${body}`);
  }
  return parts.join("\n\n");
}
