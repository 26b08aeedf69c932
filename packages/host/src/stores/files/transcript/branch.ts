/**
 * Branches: lines that a rewrite appends and that count together or not at all. The first line says where the branch ends, so every reader
 * can check that it is complete. A kill or a power cut can leave only a part, and only at the file's end, because nothing is appended
 * before the branch is on the disk.
 */
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { parseEntry } from "./transcript-entry.ts";
import { linesForward } from "./transcript-lines.ts";

/** Extra fields of the branch's first entry. */
interface BranchMark {
  /** In a copy of the lines in another session (a fork cuts anywhere) the mark has no effect. */
  sessionId: string;
  /** Number of the branch's lines. */
  entries: number;
  /** Id of its last entry. */
  last: string;
}

export type MarkedEntry = TranscriptEntry & { branch?: BranchMark };

/** The mark of a branch of this session that begins with the entry. */
export function branchMark(entry: TranscriptEntry, sessionId: string): BranchMark | undefined {
  const mark: Partial<Record<keyof BranchMark, unknown>> | null | undefined = (entry as MarkedEntry).branch;
  if (typeof mark !== "object" || mark === null || mark.sessionId !== sessionId) return undefined;
  const { entries, last } = mark;
  return typeof entries === "number" && typeof last === "string" ? { sessionId, entries, last } : undefined;
}

/** Whether the branch whose first line is at `from` was finished. It was if anything follows it, whatever happens to one of its lines. */
export function branchIsWhole(fd: number, from: number, size: number, mark: BranchMark): boolean {
  let entries = 0;
  for (const { offset, length, bytes, terminated } of linesForward(fd, from, size)) {
    const parsed = parseEntry(bytes);
    if (!terminated || !("entry" in parsed)) continue;
    entries += 1;
    // Ids ascend: this one was made after the branch.
    if (parsed.entry.id > mark.last) return true;
    // A power cut can lose lines in the middle and keep the last.
    if (parsed.entry.id === mark.last) return entries === mark.entries || offset + length < size;
  }
  return false;
}
