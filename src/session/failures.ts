import { PagurusError } from "../contract/errors.ts";

const REASONS: Record<string, string> = {
  ENOSPC: "the disk is full; free some space and try again",
  EDQUOT: "the disk quota is used up; free some space and try again",
  EFBIG: "a limit on the size of files was reached; raise it and try again",
  EROFS: "the file system is read-only; make it writable or choose another PAGURUS_HOME",
  EACCES: "this user may not write there; check the owner and mode of the folder",
  EPERM: "this user may not write there; check the owner and mode of the folder",
  ENOTDIR: "a part of its path is a file, not a folder; check PAGURUS_HOME",
  ENOENT: "it is not there any more; check whether something removed the folder",
  EMFILE: "too many files are open; raise the limit and try again",
};

/** The system's code of an error (`ENOSPC`), or undefined. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** SQLite's number of an error (`13`), or undefined. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code : undefined;
}

function reason(error: unknown): string {
  const code = systemCode(error);
  const known = code === undefined ? undefined : REASONS[code];
  return known ?? (error instanceof Error ? error.message : String(error));
}

/** `store_write_failed` with a sentence that names the file and what to do; our own errors pass as they are. */
export function writeFailure(error: unknown, file: string): PagurusError {
  if (error instanceof PagurusError) return error;
  return new PagurusError("store_write_failed", `Cannot write ${file}: ${reason(error)}.`, {
    cause: error,
    details: { file, code: systemCode(error) },
  });
}

/** `store_read_failed` likewise. */
export function readFailure(error: unknown, file: string): PagurusError {
  if (error instanceof PagurusError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new PagurusError(
    "store_read_failed",
    `Cannot read ${file}: ${message}; check that it exists and that this user may read it.`,
    { cause: error, details: { file, code: systemCode(error) } },
  );
}
