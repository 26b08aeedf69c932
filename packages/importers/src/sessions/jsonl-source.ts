/** Shared by the readers of JSON lines: unusable lines are reported and kept as data. */
import { isUtf8 } from "node:buffer";
import { IMPORTED_LINE, type Draft, type DraftItem } from "./draft.ts";
import { sourceLines, type SourceLine } from "./source-lines.ts";
import type { Tally } from "./tally.ts";
import type { Fields } from "@pagurus/core/data/record-fields";

export interface OpenFile {
  fd: number;
  size: number;
  /** Path for messages. */
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

/** As `usableLines`, for lines from anywhere. */
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
  const { bytes, number } = line;
  const why = line.problem ?? "it cannot be read";
  const problem = bytes.length > KEPT_BYTES ? `${why}; its first MiB is kept` : why;
  tally.cannotRead(number, problem);
  // In Latin-1 every byte is a character: text in another encoding is kept as it is.
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  const text = bytes.subarray(0, KEPT_BYTES).toString(encoding);
  const data = {
    kind: "unreadable line",
    line: number,
    problem,
    text,
    ...(encoding === "utf8" ? {} : { encoding }),
  };
  draft.add({ body: { type: "custom", customType: IMPORTED_LINE, data } });
}

/** Keeps a line of unknown meaning, whole. */
export function keepLine(
  draft: Draft,
  kind: string,
  line: { number: number; value: Fields },
  where: Omit<DraftItem, "body"> = {},
): void {
  draft.keep(kind, { line: line.number, raw: line.value }, where);
}
