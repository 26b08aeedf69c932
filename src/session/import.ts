import { closeSync, existsSync, fstatSync, openSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { PagurusError } from "../contract/errors.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";
import { branchMark } from "./branch.ts";
import type { Catalog } from "./catalog.ts";
import { exclusively, idExists, install, sessionExists } from "./create.ts";
import { parseEntry, parseHeader, type StoredHeader } from "./entry.ts";
import { readFailure } from "./failures.ts";
import type { SessionRow } from "./index-rows.ts";
import { writeKeyFile } from "./key-file.ts";
import { assertSessionKey, isOwnId, isSessionId } from "./keys.ts";
import { linesForward, readAt, type Line } from "./lines.ts";

const CHUNK = 1024 * 1024;
/** Lines after which other work of the process may run. */
const SLICE = 500;

export function invalid(file: string, line: number, why: string): PagurusError {
  return new PagurusError("import_invalid", `Line ${line} of ${file} cannot be imported: ${why}.`, {
    details: { file, line },
  });
}

/**
 * Takes a JSON lines export as it is: every line is checked, then the bytes are copied. A key that is not the
 * header's goes into a `.key` file beside the transcript. Throws `import_invalid`, `session_exists`,
 * `store_read_failed`, `store_write_failed`.
 */
export async function importSession(
  catalog: Catalog,
  file: string,
  sessionKey?: string,
): Promise<SessionRow> {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    throw readFailure(error, file);
  }
  try {
    const { size } = fstatSync(fd);
    const header = await validate(fd, size, file);
    const key = sessionKey ?? header.key;
    if (key === undefined) throw invalid(file, 1, "the header names no session key; give one");
    assertSessionKey(key);
    return exclusively(catalog, key, () => {
      const { key: keyFile, transcript } = catalog.paths(header.id);
      // Before the key file of a session that is there could be overwritten.
      if (existsSync(transcript)) throw idExists(catalog, header.id);
      if (catalog.current(key)) throw sessionExists(`A session with the key ${key}`);
      const beforeLink = (): void => {
        if (key !== header.key) writeKeyFile(keyFile, { key });
      };
      return install(catalog, header.id, copy(fd, 0, size), { beforeLink });
    });
  } finally {
    closeSync(fd);
  }
}

export function* copy(fd: number, from: number, to: number): Generator<Uint8Array> {
  for (let at = from; at < to; at += CHUNK) yield readAt(fd, at, Math.min(CHUNK, to - at));
}

async function validate(fd: number, size: number, file: string): Promise<StoredHeader> {
  const checked = checkLines(fd, size, file, (line) => {
    if (!line.terminated) throw invalid(file, 1, "it is cut off, its newline is missing");
    const header = parseHeader(line.bytes);
    return header && (isOwnId(header.id) || header.storedAs === header.id) && isSessionId(header.id)
      ? header
      : undefined;
  });
  for (;;) {
    const step = checked.next();
    if (step.done) return step.value;
    if (!step.value.line.terminated)
      throw invalid(file, step.value.number, "it is cut off, its newline is missing");
    if (step.value.number % SLICE === 0) await setImmediate();
  }
}

interface CheckedLine {
  line: Line;
  /** 2 for the first behind the header. */
  number: number;
  entry: TranscriptEntry;
}

/**
 * Every line behind the header, checked: UTF-8, a known shape, an id of its own, nothing that it refers to missing,
 * no part of a rewrite. Returns what `readHeader` made of the first. Throws `import_invalid`.
 */
export function* checkLines<Header extends { id: string }>(
  fd: number,
  size: number,
  file: string,
  readHeader: (line: Line) => Header | undefined,
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
    const entry = checkEntry(line, ids, file, number);
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

function checkEntry(line: Line, ids: Set<string>, file: string, number: number): TranscriptEntry {
  const parsed = parseEntry(line.bytes);
  if ("problem" in parsed) throw invalid(file, number, parsed.problem);
  const { entry } = parsed;
  if (ids.has(entry.id)) throw invalid(file, number, `the id ${entry.id} occurs before`);
  for (const id of references(entry))
    if (!ids.has(id)) throw invalid(file, number, `it refers to ${id}, which no line before it has`);
  ids.add(entry.id);
  return entry;
}

/** Entries that must come before this one. */
function references(entry: TranscriptEntry): string[] {
  const ids = [entry.parentId];
  if (entry.type === "rewind") ids.push(entry.targetId);
  return ids.filter((id) => id !== null);
}
