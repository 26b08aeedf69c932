/** The key of a session where its header does not say it: beside the transcript, so that it outlives the index. */
import { readFileSync } from "node:fs";
import { writeFileAtomic } from "../platform/files.ts";
import { readFailure, systemCode } from "./failures.ts";

/** Undefined where there is no such file. Throws `store_read_failed`. */
export function readKey(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw readFailure(error, file);
  }
}

/** Throws what the system throws. */
export function writeKey(file: string, key: string): void {
  writeFileAtomic(file, `${key}\n`);
}
