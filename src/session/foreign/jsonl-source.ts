/** What the readers of JSON lines share: lines that cannot be used are told and kept. */
import { IMPORTED_LINE, type Draft, type DraftItem } from "./draft.ts";
import type { Fields } from "./fields.ts";
import { sourceLines, type SourceLine } from "./source-lines.ts";
import type { Tally } from "./tally.ts";

export interface OpenFile {
  fd: number;
  size: number;
  /** For messages. */
  path: string;
}

/** Bytes of an unreadable line that are kept. */
const KEPT_BYTES = 1024 * 1024;

/** Every readable line of the file; the others go into the draft as data. */
export function usableLines(
  file: OpenFile,
  draft: Draft,
  tally: Tally,
): Generator<SourceLine & { value: Fields }> {
  return usable(sourceLines(file.fd, file.size), draft, tally);
}

/** As `usableLines`, of lines from anywhere. */
export function* usable(
  lines: Iterable<SourceLine>,
  draft: Draft,
  tally: Tally,
): Generator<SourceLine & { value: Fields }> {
  for (const line of lines) {
    if (line.value) yield { ...line, value: line.value };
    else keepUnreadable(draft, tally, line);
  }
}

function keepUnreadable(draft: Draft, tally: Tally, line: SourceLine): void {
  const problem = line.problem ?? "it cannot be read";
  tally.cannotRead(line.number, problem);
  const text = line.bytes.subarray(0, KEPT_BYTES).toString("utf8");
  const data = { kind: "unreadable line", line: line.number, problem, text };
  draft.add({ body: { type: "custom", customType: IMPORTED_LINE, data } });
}

/** A line whose meaning is not known, whole. */
export function keepLine(
  draft: Draft,
  kind: string,
  line: { number: number; value: Fields },
  where: Omit<DraftItem, "body"> = {},
): void {
  draft.keep(kind, { line: line.number, raw: line.value }, where);
}
