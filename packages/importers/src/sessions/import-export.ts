/** Imports our own export of a session. */
import { closeSync, existsSync, fstatSync, openSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { exclusively, idExists, moveIntoPlace, sessionExists } from "@pagurus/host/stores/files/create";
import { readFailure } from "@pagurus/host/stores/files/failures";
import type { SessionRow } from "@pagurus/host/stores/files/index/index-rows";
import type { Catalog } from "@pagurus/host/stores/files/index/session-catalog";
import { writeKeyFile } from "@pagurus/host/stores/files/key-file";
import { assertSessionKey, isOwnId, isSessionId } from "@pagurus/host/stores/files/keys";
import { checkLines, copy, invalid } from "@pagurus/host/stores/files/transcript/checked-lines";
import { parseHeader, type StoredHeader } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { SLICE } from "./foreign-source.ts";

/**
 * Imports a JSON lines export as it is: every line is checked, then the bytes are copied. A key that differs from the header's is written
 * to a `.key` file next to the transcript. Throws `import_invalid`, `session_exists`, `store_read_failed`, `store_write_failed`.
 */
export async function importExport(catalog: Catalog, file: string, sessionKey?: string): Promise<SessionRow> {
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
      // Checked before the key file of an existing session could be overwritten.
      if (existsSync(transcript)) throw idExists(catalog, header.id);
      if (catalog.current(key)) throw sessionExists(`A session with the key ${key}`);
      const beforeLink = (): void => {
        if (key !== header.key) writeKeyFile(keyFile, { key });
      };
      return moveIntoPlace(catalog, header.id, copy(fd, 0, size), { beforeLink });
    });
  } finally {
    closeSync(fd);
  }
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
