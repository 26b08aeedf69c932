/**
 * Which native thread of each runtime a session goes on in: a small JSON file beside the transcript, replaced as a whole.
 * A new generation of the session (`/new`, `/reset`, a rotation) and a fork begin without one, since the file is named by
 * the session's id; deleting the session removes it. Source: harness port, "9. Session reset and binding behavior".
 */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { HarnessBinding } from "../contract/harness.ts";
import type { SessionRecord } from "../contract/writer.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { systemCode, writeFailure } from "./failures.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "./paths.ts";

type Bindings = Record<string, HarnessBinding>;

function fileOf(record: SessionRecord): string {
  return sessionPaths(dirname(record.file), basename(record.file, TRANSCRIPT_SUFFIX)).bindings;
}

function isBinding(value: unknown): value is HarnessBinding {
  if (typeof value !== "object" || value === null) return false;
  const { nativeId, state } = value as Partial<HarnessBinding>;
  return typeof nativeId === "string" && typeof state === "object" && state !== null;
}

/** A file that cannot be read is as none: the runtime begins a thread anew, from the transcript. */
function read(file: string): Bindings {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof parsed !== "object" || parsed === null) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, HarnessBinding] => isBinding(entry[1])),
    );
  } catch (error) {
    if (systemCode(error) === "ENOENT" || error instanceof SyntaxError) return {};
    throw error;
  }
}

/** By runtime id. */
export function readBinding(record: SessionRecord, runtime: string): HarnessBinding | undefined {
  return read(fileOf(record))[runtime];
}

/**
 * Undefined forgets it. Every process sees it when it returns. It is not synced by itself (a turn writes it twice): what a
 * power cut takes back goes with the end of the turn, whose commit is synced after it. Throws `store_write_failed`.
 */
export function writeBinding(
  record: SessionRecord,
  runtime: string,
  binding: HarnessBinding | undefined,
): void {
  const file = fileOf(record);
  try {
    const { [runtime]: _, ...others } = read(file);
    const all = binding === undefined ? others : { ...others, [runtime]: binding };
    writeFileAtomic(file, `${JSON.stringify(all)}\n`, { synced: false });
  } catch (error) {
    throw writeFailure(error, file);
  }
}
