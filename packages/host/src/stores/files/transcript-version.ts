import { closeSync, fstatSync, openSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { Catalog } from "./index/session-catalog.ts";
import { foreignHeader } from "./transcript/transcript-entry.ts";
import { readFailure } from "./failures.ts";
import type { SessionRow } from "./index/index-rows.ts";
import { firstLine } from "./index/indexer.ts";

/** Throws `store_read_failed` for a transcript of a later Pagurus, whose lines might have another meaning. */
export function assertKnownVersion(catalog: Catalog, row: SessionRow): void {
  // Only a first line that is not our header can be the header of another version.
  if (row.header_length > 0) return;
  const { transcript } = catalog.paths(row.id);
  let fd: number;
  try {
    fd = openSync(transcript, "r");
  } catch (error) {
    throw readFailure(error, transcript);
  }
  try {
    const first = firstLine(fd, fstatSync(fd).size);
    const version = first && foreignHeader(first.bytes)?.version;
    if (version === undefined) return;
    throw new PagurusError(
      "store_read_failed",
      `The transcript ${transcript} has version ${version} and was written by a newer Pagurus; update this one.`,
      { details: { file: transcript, version } },
    );
  } finally {
    closeSync(fd);
  }
}
