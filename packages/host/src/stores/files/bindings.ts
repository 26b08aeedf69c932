/**
 * Bindings: the native thread of each runtime for a session, as a line of JSON with a checksum in a small file next to the transcript. A
 * new generation of the session (`/new`, `/reset`, a rotation) and a fork begin without one, since the file is named by the session's id;
 * deleting the session removes it. Source: harness port, "9. Session reset and binding behavior".
 */
import { hash } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { HarnessBinding } from "@pagurus/contract/harness/harness";
import type { BoundThread, SharedRecords } from "@pagurus/contract/session/shared-records";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { writeAll, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { systemCode, writeFailure } from "./failures.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "./session-paths.ts";

type Bindings = Record<string, HarnessBinding>;

function fileOf(record: SessionRecord): string {
  return sessionPaths(dirname(record.file), basename(record.file, TRANSCRIPT_SUFFIX)).bindings;
}

function isBinding(value: unknown): value is HarnessBinding {
  if (typeof value !== "object" || value === null) return false;
  const { nativeId, state } = value as Partial<HarnessBinding>;
  return typeof nativeId === "string" && typeof state === "object" && state !== null;
}

/**
 * Beginning of the ids of wrapped programs. Their bindings have names of conversations that the program continues by itself, wherever the
 * session was meanwhile.
 */
export const WRAPPED = "wire-";

/** Read attempts: a reader that meets a write retries; a write takes less time than a read. */
const READ_ATTEMPTS = 3;

function sumOf(line: string): string {
  return `sha256:${hash("sha256", line)}`;
}

/** Undefined when the file is incomplete. */
function parseBindings(text: string): Bindings | undefined {
  const [line = "", sum = ""] = text.split("\n", 2);
  if (sum !== sumOf(line)) return undefined;
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== "object" || parsed === null) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, HarnessBinding] => isBinding(entry[1])),
    );
  } catch {
    return undefined;
  }
}

/** An incomplete file counts as none: the runtime starts a new thread, from the transcript. */
function read(file: string): Bindings {
  try {
    for (let look = 0; look < READ_ATTEMPTS; look += 1) {
      const bindings = parseBindings(readFileSync(file, "utf8"));
      if (bindings) return bindings;
    }
    return {};
  } catch (error) {
    if (systemCode(error) === "ENOENT") return {};
    throw error;
  }
}

/**
 * Reads the binding of a runtime, by its id. With `shared` only one whose thread can be continued: of this host, and not of before another
 * host had the session. Throws `store_read_failed`.
 */
export function readBinding(
  record: SessionRecord,
  runtime: string,
  shared?: SharedRecords,
): HarnessBinding | undefined {
  const binding = read(fileOf(record))[runtime];
  if (!binding || !shared || runtime.startsWith(WRAPPED)) return binding;
  const bound = shared.boundThread(record.sessionId, runtime);
  return bound?.isUsable === true && bound.nativeId === binding.nativeId ? binding : undefined;
}

/** The thread that was bound last, where it is another host's or of before another host had the session. Throws `store_read_failed`. */
export function threadElsewhere(
  record: SessionRecord,
  runtime: string,
  shared: SharedRecords | undefined,
): BoundThread | undefined {
  if (!shared || runtime.startsWith(WRAPPED)) return undefined;
  const bound = shared.boundThread(record.sessionId, runtime);
  return bound?.isUsable === false ? bound : undefined;
}

/** Every thread that the session is bound to, by runtime. Throws the system's errors. */
export function boundTo(folder: string, sessionId: string): [runtime: string, binding: HarnessBinding][] {
  return Object.entries(read(sessionPaths(folder, sessionId).bindings));
}

/**
 * Writes a binding; undefined removes it. Every process sees it when it returns. Not synced by itself (a turn writes it twice): a power cut
 * loses it together with the end of the turn, whose commit is synced later. `shared` reports it to the other hosts. Throws
 * `store_write_failed`.
 */
export function writeBinding(
  record: SessionRecord,
  runtime: string,
  binding: HarnessBinding | undefined,
  shared?: SharedRecords,
): void {
  const file = fileOf(record);
  shared?.bind(record.sessionId, runtime, binding?.nativeId);
  try {
    const fd = openExisting(file);
    if (fd === undefined) {
      if (binding !== undefined) writeFileAtomic(file, textOf({ [runtime]: binding }), { synced: false });
      return;
    }
    try {
      const { [runtime]: _, ...others } = parseBindings(readFileSync(fd, "utf8")) ?? {};
      overwrite(fd, textOf(binding === undefined ? others : { ...others, [runtime]: binding }));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw writeFailure(error, file);
  }
}

function textOf(bindings: Bindings): string {
  const line = JSON.stringify(bindings);
  return `${line}\n${sumOf(line)}\n`;
}

function openExisting(file: string): number | undefined {
  try {
    return openSync(file, "r+");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Overwrites in place: a new file and a rename take ten times as long, and the checksum detects an incomplete write. */
function overwrite(fd: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  const { size } = fstatSync(fd);
  writeAll(fd, bytes, 0);
  if (size > bytes.length) ftruncateSync(fd, bytes.length);
}
