/** One model request as one HTML file: its parts with their sources and words, and what it left out. */
import type { RequestParts } from "../requests/request-parts.ts";
import type { InspectedRequest, LeftOutEntry } from "@pagurus/api/types";
import { leftOutSums } from "../timeline/left-out.ts";
import { END, factsLine, head, words } from "./report-page.ts";
import { kindsOfPart, type ReportRedaction } from "./report-redaction.ts";
import { requestFacts, requestTitle } from "@pagurus/api/request-facts";
import { leftOutOf } from "./session-report.ts";

export interface ReportedRequest {
  key: string;
  row: InspectedRequest;
  parts: RequestParts;
  /** Undefined for a request whose place in the conversation is not known. */
  leftOut: readonly LeftOutEntry[] | undefined;
  /** Role of an entry's message; undefined for other entries. */
  roleOf(entryId: string): string | undefined;
  /** A range of the body; undefined where it is gone. */
  body(from: number, to: number): Promise<Buffer | undefined>;
}

/** Pieces of the file. Throws `store_read_failed`. */
export async function* requestReport(
  request: ReportedRequest,
  redaction: ReportRedaction,
): AsyncGenerator<string> {
  const { key, row, parts, leftOut, roleOf } = request;
  yield head(`Request ${row.id} of session ${redaction.plain(key)}`);
  yield factsLine([row.at, requestTitle(row), ...requestFacts(row)].map((fact) => redaction.plain(fact)));
  yield leftOutOf(redaction);
  if (!parts.captured) yield factsLine([parts.why]);
  else yield factsLine([`${parts.parts.length} parts of ${parts.body.bytes} bytes`, ...parts.body.notes]);
  for (const part of parts.parts) {
    const { source, tokens, entryIds = [] } = part;
    const place = "at" in part ? part.at : undefined;
    const bytes = "bytes" in part ? part.bytes : part.to - part.from;
    const title = [
      source,
      place,
      part.path && redaction.plain(part.path),
      `${bytes} bytes`,
      `${tokens} tokens`,
      ...entryIds,
    ]
      .filter((fact) => fact !== undefined)
      .join(" · ");
    if ("bytes" in part) yield factsLine([title]);
    else {
      const found = await request.body(part.from, part.to);
      const kinds = kindsOfPart(source, entryIds.map(roleOf));
      yield words(
        title,
        found ? redaction.words(kinds, found.toString("utf8")) : "[the captured body was deleted]",
      );
    }
  }
  if (leftOut) yield leftOutPart(leftOut);
  yield END;
}

function leftOutPart(entries: readonly LeftOutEntry[]): string {
  const sums = leftOutSums(entries).map(
    ({ where, summaryId, entries: number, bytes, firstEntryId, lastEntryId }) =>
      factsLine([
        summaryId === undefined ? where : `${where} in ${summaryId}`,
        `${number} entries`,
        `${bytes} bytes`,
        `${firstEntryId} to ${lastEntryId}`,
      ]),
  );
  return `<h2>Left out</h2>\n${sums.length === 0 ? factsLine(["Nothing: the request had every entry of the path."]) : sums.join("")}`;
}
