import { errorText } from "@pagurus/core/data/error-text";
import { styleText } from "node:util";
import type { Pagurus, PagurusOptions } from "@pagurus/contract/host/host";
import { defined } from "@pagurus/core/data/defined";

export interface OutputStream {
  /** Calls `done` when the data is flushed, or never will be. */
  write(data: string | Uint8Array, done?: () => void): boolean;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** The parts of the process that a command may use; tests pass in their own. */
export interface Cli {
  /** `signalsSilence`: it emits "silent" when its sender has sent nothing for a while. */
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; signalsSilence?: boolean };
  stdout: OutputStream;
  stderr: OutputStream;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Creates the host; loads its code at that moment. Throws what `createPagurus` throws. */
  open(options: PagurusOptions): Promise<Pagurus>;
  /** A server was named that runs the command: its configuration counts, and not the one here. */
  isRemote?: boolean;
  /** Called for each SIGINT, SIGTERM or closed standard output until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
  /** Exits at once, without waiting for anything. */
  exit(code: number): void;
  /** The terminal for questions where standard input is none; absent: that of this process. */
  controllingTerminal?(): NodeJS.ReadableStream | undefined;
  /** Whether standard output has failed, so that its output reaches no reader. */
  outputLost(): boolean;
}

/** Runs the action of the chosen command and keeps its exit code. */
export type Act = (work: () => Promise<number>) => Promise<void>;

export type Style = (format: "bold" | "dim" | "red" | "yellow" | "green" | "cyan", text: string) => string;

/** Whether to use colours: only on a terminal, and without NO_COLOR. */
export function hasColours(stream: OutputStream, env: Cli["env"]): boolean {
  return stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

export function styleFor(stream: OutputStream, env: Cli["env"]): Style {
  const colours = hasColours(stream, env);
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

/** Closes the host. The work is done and recorded by then, so a failing close is only reported. */
async function close(cli: Cli, pagurus: Pagurus): Promise<void> {
  try {
    await pagurus.close();
  } catch (error) {
    printLine(cli.stderr, `pagurus: closing failed: ${errorText(error)}`);
  }
}

/** Writes and waits for the flush, so that a slow reader slows us down instead of filling memory. */
export function written(stream: OutputStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => void stream.write(data, resolve));
}

export function printLine(stream: OutputStream, text: string): void {
  stream.write(`${text}\n`);
}

export function printJson(cli: Cli, value: unknown): void {
  printLine(cli.stdout, JSON.stringify(value, null, 2));
}

/** Session and agent options of most commands. */
export interface SessionOptions {
  session?: string;
  agent?: string;
}

/** Session and agent of the options. Without a key the host uses that of the folder. */
export function sessionOf(options: SessionOptions): { sessionKey?: string; agentId: string } {
  const { session, agent = "main" } = options;
  return { agentId: agent, ...defined({ sessionKey: session }) };
}
