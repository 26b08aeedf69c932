/** The memory's lines in the system prompt. The same notes give the same bytes, so that prompt caches hold. */
import type { CitationsMode } from "../../contract/memory.ts";
import { CORE_FILE, type NotesOverview } from "./notes.ts";

/** Of `MEMORY.md` in the prompt. */
const CORE_CHARS = 6_000;
const SEARCH_TOOL = "memory_search";

const CITATIONS: Record<CitationsMode, string[]> = {
  on: ["Name the source of what you take from these notes, as path:line."],
  auto: [
    "Name the source of what you take from these notes, as path:line, where the user would want to check it.",
  ],
  off: [],
};

export function promptLines(
  { core, others }: NotesOverview,
  availableTools: ReadonlySet<string>,
  citations: CitationsMode,
): string[] {
  if (!core && !others) return [];
  const where = others ? `${core ? `${CORE_FILE} and ` : ""}the files in memory/` : CORE_FILE;
  const lines = [`You have a memory: notes from earlier work in this folder, in ${where}.`];
  if (availableTools.has(SEARCH_TOOL)) {
    lines.push(`Before you say what was decided, done or agreed on earlier, look it up with ${SEARCH_TOOL}.`);
  }
  lines.push(...CITATIONS[citations]);
  if (core) lines.push(`${CORE_FILE}:\n${shownCore(core)}`);
  return lines;
}

/** The start of `MEMORY.md`, up to a whole line where there is one. */
function shownCore({ text, bytes }: { text: string; bytes: number }): string {
  const whole = text.replaceAll("\r\n", "\n").trim();
  if (whole.length <= CORE_CHARS) return whole;
  const start = whole
    .slice(0, CORE_CHARS)
    .toWellFormed()
    .replace(/\ufffd$/, "");
  const line = start.lastIndexOf("\n");
  const shown = (line > CORE_CHARS / 2 ? start.slice(0, line) : start).trimEnd();
  return `${shown}\n[cut: the first ${Buffer.byteLength(shown)} of ${bytes} bytes; the rest is in the file]`;
}
