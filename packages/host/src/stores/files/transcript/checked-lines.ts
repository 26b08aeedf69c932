/** Checks the lines of a transcript that was written elsewhere, and copies them. */
import { PagurusError } from "@pagurus/contract/errors";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { branchMark } from "./branch.ts";
import { parseEntry } from "./transcript-entry.ts";
import { linesForward, readAt, type Line } from "./transcript-lines.ts";

const CHUNK = 1024 * 1024;

export function invalid(file: string, line: number, why: string): PagurusError {
  return new PagurusError("import_invalid", `Line ${line} of ${file} cannot be imported: ${why}.`, {
    details: { file, line },
  });
}

export function* copy(fd: number, from: number, to: number): Generator<Uint8Array> {
  for (let at = from; at < to; at += CHUNK) yield readAt(fd, at, Math.min(CHUNK, to - at));
}

interface CheckedLine {
  line: Line;
  /** 2 for the first after the header. */
  number: number;
  entry: TranscriptEntry;
}

/**
 * Every line after the header, checked: UTF-8, a known shape, an id of its own, all references resolved, no part of a rewrite. Returns the
 * result of `readHeader` for the first. Throws `import_invalid`.
 */
export function* checkLines<Header extends { id: string }>(
  fd: number,
  size: number,
  file: string,
  readHeader: (line: Line) => Header | undefined,
  /** Converts an entry's line before it is read, for a file of another program. */
  readAs: (bytes: Buffer) => Buffer = (bytes) => bytes,
): Generator<CheckedLine, Header> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  const ids = new Set<string>();
  let header: Header | undefined;
  let open: { last: string; number: number } | undefined;
  let number = 0;
  for (const line of linesForward(fd, 0, size)) {
    number += 1;
    assertText(utf8, line, file, number);
    if (!header) {
      header = readHeader(line);
      if (!header) throw invalid(file, 1, "it is not the header of a session");
      continue;
    }
    const entry = checkEntry(readAs(line.bytes), ids, file, number);
    const mark = branchMark(entry, header.id);
    if (mark) open = { last: mark.last, number };
    if (open && entry.id >= open.last) open = undefined;
    yield { line, number, entry };
  }
  if (!header) throw invalid(file, 1, "the file is empty");
  if (open) throw invalid(file, open.number, "it begins a rewrite whose end is missing");
  return header;
}

function assertText(utf8: InstanceType<typeof TextDecoder>, line: Line, file: string, number: number): void {
  try {
    utf8.decode(line.bytes);
  } catch (error) {
    throw new PagurusError(
      "import_invalid",
      `Line ${number} of ${file} cannot be imported: it is not UTF-8.`,
      {
        cause: error,
        details: { file, line: number },
      },
    );
  }
}

function checkEntry(bytes: Buffer, ids: Set<string>, file: string, number: number): TranscriptEntry {
  const parsed = parseEntry(bytes);
  if ("problem" in parsed) throw invalid(file, number, parsed.problem);
  const { entry } = parsed;
  if (ids.has(entry.id)) throw invalid(file, number, `the id ${entry.id} occurs before`);
  for (const id of referencedIds(entry))
    if (!ids.has(id)) throw invalid(file, number, `it refers to ${id}, which no line before it has`);
  ids.add(entry.id);
  return entry;
}

/** Entries that must come before this one. */
function referencedIds(entry: TranscriptEntry): string[] {
  const ids = [entry.parentId];
  if (entry.type === "rewind") ids.push(entry.targetId);
  return ids.filter((id) => id !== null);
}
