import { styleText } from "node:util";
import type { Pagurus, PagurusOptions } from "../contract/host.ts";

export interface OutputStream {
  /** Calls `done` when the data is handed over, or never will be. */
  write(data: string | Uint8Array, done?: () => void): boolean;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** What a command may touch of the process; tests hand in their own. */
export interface Cli {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: OutputStream;
  stderr: OutputStream;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Creates the host; loads it at that moment. Throws what `createPagurus` throws. */
  open(options: PagurusOptions): Promise<Pagurus>;
  /** Called for each SIGINT, SIGTERM or closed standard output until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
  /** Leaves at once, without waiting for anything. */
  exit(code: number): void;
  /** Whether standard output has failed, so that nobody sees what is written to it. */
  outputLost(): boolean;
}

/** Runs what the chosen command does and keeps its exit code. */
export type Act = (work: () => Promise<number>) => Promise<void>;

export type Style = (format: "bold" | "dim" | "red" | "yellow" | "green" | "cyan", text: string) => string;

/** Colours for a stream: only on a terminal, and without NO_COLOR. */
export function styleFor(stream: OutputStream, env: Cli["env"]): Style {
  const colours = stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return (format, text) => (colours ? styleText(format, text, { validateStream: false }) : text);
}

/** Opens the host, does the work and closes it, also when the work throws. */
export async function withPagurus<T>(
  cli: Cli,
  work: (pagurus: Pagurus) => Promise<T>,
  options: PagurusOptions = {},
): Promise<T> {
  const pagurus = await cli.open({ env: cli.env, ...options });
  let result: T;
  try {
    result = await work(pagurus);
  } catch (error) {
    await close(cli, pagurus);
    throw error;
  }
  await close(cli, pagurus);
  return result;
}

/** The work is done and recorded by then, so a failing close is told and does not change its outcome. */
async function close(cli: Cli, pagurus: Pagurus): Promise<void> {
  try {
    await pagurus.close();
  } catch (error) {
    printLine(
      cli.stderr,
      `pagurus: closing failed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Writes and waits until it is handed over, so that a slow reader slows us down instead of filling memory. */
export function written(stream: OutputStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => void stream.write(data, resolve));
}

export function printLine(stream: OutputStream, text: string): void {
  stream.write(`${text}\n`);
}

export function printJson(cli: Cli, value: unknown): void {
  printLine(cli.stdout, JSON.stringify(value, null, 2));
}

/** The session and agent that most commands take. */
export interface SessionOptions {
  session?: string;
  agent?: string;
}

export function sessionOf(options: SessionOptions): { sessionKey: string; agentId: string } {
  return { sessionKey: options.session ?? "main", agentId: options.agent ?? "main" };
}
