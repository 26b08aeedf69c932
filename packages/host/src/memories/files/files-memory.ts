/**
 * The built-in memory: searches `MEMORY.md` and `memory/**.md` of the workspace. It writes nothing itself; files are
 * cached in this process and read again when they change.
 */
import { fencedFile } from "@pagurus/contract/fence";
import type { CitationsMode, Memory } from "@pagurus/contract/engine/memory";
import { CORE_FILE, NoteFiles, type NotesOverview } from "./notes.ts";
import { Pace } from "@pagurus/core/platform/pace";

/** Limit on `MEMORY.md` in the prompt. */
const CORE_CHARS = 6_000;
const SEARCH_TOOL = "memory_search";

const CITATIONS: Record<CitationsMode, string[]> = {
  on: ["Name the source of what you take from these notes, as path:line."],
  auto: [
    "Name the source of what you take from these notes, as path:line, where the user would want to check it.",
  ],
  off: [],
};

export function createFilesMemory({ workspaceDir }: { workspaceDir: string }): Memory {
  const notes = new NoteFiles(workspaceDir);
  return {
    id: "files",
    async search(query, { limit, signal }) {
      const pace = new Pace(signal);
      pace.check();
      const { rankPassages } = await import("./note-rank.ts");
      return await rankPassages(query, await notes.indexed(pace), limit, pace);
    },
    async promptSection({ availableTools, citationsMode }) {
      return promptLines(await notes.overview(), availableTools, citationsMode ?? "auto");
    },
  };
}

/** The memory's lines in the system prompt. The same notes give the same bytes, so that prompt caches stay valid. */
function promptLines(
  { core, others }: NotesOverview,
  availableTools: ReadonlySet<string>,
  citations: CitationsMode,
): string[] {
  if (!core && !others) return [];
  const where = others ? `${core ? `${CORE_FILE} and ` : ""}the files in memory/` : CORE_FILE;
  const lines = [`You have a memory: notes kept in this folder, in ${where}.`];
  if (availableTools.has(SEARCH_TOOL)) {
    lines.push(`Before you say what was decided, done or agreed on earlier, look it up with ${SEARCH_TOOL}.`);
  }
  lines.push(...CITATIONS[citations]);
  if (core) lines.push(fencedFile("memory", { path: CORE_FILE, text: shownCore(core) }));
  return lines;
}

/** The start of `MEMORY.md`, cut at a line end where possible. */
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
