import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { writeReason } from "@pagurus/core/platform/atomic-files";

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

/** `store_write_failed` with a sentence that names the file and the remedy; our own errors are returned as they are. */
export function writeFailure(error: unknown, file: string): PagurusError {
  if (isPagurusError(error)) return error;
  return new PagurusError("store_write_failed", `Cannot write ${file}: ${writeReason(error)}.`, {
    cause: error,
    details: { file, code: systemCode(error) },
  });
}

/** The same as `store_read_failed`. */
export function readFailure(error: unknown, file: string): PagurusError {
  if (isPagurusError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new PagurusError(
    "store_read_failed",
    `Cannot read ${file}: ${message}; check that it exists and that this user may read it.`,
    { cause: error, details: { file, code: systemCode(error) } },
  );
}
