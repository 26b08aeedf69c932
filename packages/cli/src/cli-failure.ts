import { PagurusError, toPagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { systemFailure } from "./system-failure.ts";
import { oneLine } from "@pagurus/host/command/layout";
import { printLine, styleFor, type Cli } from "./cli.ts";

export const EXIT_DONE = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_INTERRUPTED = 130;

/** Errors that the user can fix by changing the command line or the configuration. */
const USAGE_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "usage_invalid",
  "config_invalid",
  "config_key_unknown",
  "credential_missing",
  "model_unknown",
  "engine_unknown",
  "engine_failed",
  "engine_contract",
  "plugin_failed",
  "plugin_unknown",
  "plugin_invalid",
  "runtime_unknown",
  "runtime_unsupported",
  "host_requirement",
  "session_key_invalid",
  "attachment_invalid",
]);

/** Exit code for an error code of the catalogue. */
export function exitCodeFor(code: string): number {
  if (code === "turn_aborted") return EXIT_INTERRUPTED;
  return USAGE_CODES.has(code) ? EXIT_USAGE : EXIT_FAILED;
}

/** Prints `pagurus: <message> [code]` as one line on standard error. */
export function printFailure(cli: Cli, error: { code: string; message: string }): void {
  const style = styleFor(cli.stderr, cli.env);
  printLine(cli.stderr, `${style("red", "pagurus:")} ${oneLine(error.message, Infinity)} [${error.code}]`);
}

/** Reports any thrown value and returns the exit code. */
export function reportFailure(cli: Cli, error: unknown): number {
  const failure = systemFailure(error) ?? toPagurusError(error);
  printFailure(cli, failure);
  if (failure.code === "internal" && cli.env["PAGURUS_DEBUG"] && error instanceof Error) {
    printLine(cli.stderr, error.stack ?? "");
  }
  return exitCodeFor(failure.code);
}

export function usageError(message: string): PagurusError {
  return new PagurusError("usage_invalid", message);
}
