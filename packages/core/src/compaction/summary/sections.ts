/** Sections of a summary: rendering, and parsing of an earlier summary. */

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
const ALIASES: Record<string, Section> = {
  goal: "Requests",
  "open asks": "Requests",
  state: "Work done",
};

function sectionOf(heading: string): Section {
  const name = heading.toLowerCase();
  return SECTIONS.find((section) => section.toLowerCase() === name) ?? ALIASES[name] ?? "Earlier";
}

/** Parses the lines of a summary with their sections. Text without known headings is `Earlier`. */
export function readSections(summary: string): SummaryLine[] {
  const lines: SummaryLine[] = [];
  let section: Section = "Earlier";
  for (const raw of summary.split("\n")) {
    const heading = /^#{1,4}\s+(.+?):?\s*$/.exec(raw);
    if (heading?.[1] !== undefined) {
      section = sectionOf(heading[1]);
      continue;
    }
    const text = raw.replace(/^\s*(?:[-*•]|\d{1,3}[.)])\s+/, "").trim();
    if (text === "") continue;
    if (section === "Exact identifiers") {
      for (const value of text.split(/,? +/)) lines.push({ section, text: value });
    } else lines.push({ section, text });
  }
  return lines;
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
