/**
 * The built-in memory: `MEMORY.md` and `memory/**.md` of the workspace, as people and agents write them. It writes
 * nothing itself; what it has read is kept in this process and read again when a file changes.
 */
import type { Memory } from "../../contract/memory.ts";
import { NoteFiles } from "./notes.ts";
import { Pace } from "../../platform/pace.ts";
import { promptLines } from "./prompt.ts";
import { rankPassages } from "./rank.ts";

export function createFilesMemory({ workspaceDir }: { workspaceDir: string }): Memory {
  const notes = new NoteFiles(workspaceDir);
  return {
    id: "files",
    async search(query, { limit, signal }) {
      const pace = new Pace(signal);
      pace.check();
      return await rankPassages(query, await notes.indexed(pace), limit, pace);
    },
    async promptSection({ availableTools, citationsMode }) {
      return promptLines(await notes.overview(), availableTools, citationsMode ?? "auto");
    },
  };
}
