import { getSystemErrorMessage } from "node:util";
import { errorText } from "@pagurus/core/data/error-text";
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

/** The system's words for a failed call, without the path that Node adds: `no such file or directory (ENOENT)`. */
function readReason(error: unknown): string {
  const { errno, code } = (error ?? {}) as { errno?: unknown; code?: unknown };
  return typeof errno === "number" && typeof code === "string"
    ? `${getSystemErrorMessage(errno)} (${code})`
    : errorText(error);
}

/** The same as `store_read_failed`. */
export function readFailure(error: unknown, file: string): PagurusError {
  if (isPagurusError(error)) return error;
  return new PagurusError(
    "store_read_failed",
    `Cannot read ${file}: ${readReason(error)}; check that it exists and that this user may read it.`,
    { cause: error, details: { file, code: systemCode(error) } },
  );
}
