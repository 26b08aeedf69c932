/**
 * `pagurus <args>` inside the test's own process, through the same entry as the program's: a start costs a tenth of that of a program. With
 * `PAGURUS_PROVE=1` callers start the program itself.
 */
import { Readable } from "node:stream";
import type { Cli, OutputStream } from "../../packages/cli/src/cli.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { FULL } from "../runner/short-form.ts";

export interface InsideOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  /** Piped input. */
  input?: string;
}

export interface InsideResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Keeps what is written. */
class Kept implements OutputStream {
  text = "";

  write(data: string | Uint8Array, done?: () => void): boolean {
    this.text += typeof data === "string" ? data : Buffer.from(data).toString("utf8");
    done?.();
    return true;
  }
}

/** The full test mode starts the program instead. */
export const AS_PROGRAM = FULL;

export async function runInside(args: readonly string[], options: InsideOptions): Promise<InsideResult> {
  const stdout = new Kept();
  const stderr = new Kept();
  let exited: (code: number) => void = () => undefined;
  const exit = new Promise<number>((resolve) => (exited = resolve));
  const cli: Cli = {
    stdin: Readable.from(options.input === undefined ? [] : [options.input]),
    stdout,
    stderr,
    env: options.env,
    cwd: options.cwd,
    open: async (opened) => {
      const { createPagurus } = await import("../../packages/app/src/app.ts");
      return await createPagurus(opened);
    },
    onInterrupt: () => () => undefined,
    exit: exited,
    outputLost: () => false,
  };
  const code = await Promise.race([execute(args, cli), exit]);
  return { code, stdout: stdout.text, stderr: stderr.text };
}
