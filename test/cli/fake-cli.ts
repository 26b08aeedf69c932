import { PassThrough, Readable } from "node:stream";
import type { Pagurus, PagurusOptions } from "../../packages/contract/src/host/host.ts";
import type { Cli, OutputStream } from "../../packages/cli/src/cli.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { FakePagurus, type Script } from "./fake-pagurus.ts";

export interface FakeCli extends Cli {
  out(): string;
  err(): string;
  interrupt(): void;
  exits: number[];
  options: PagurusOptions[];
}

function recorder(): OutputStream & { text(): string } {
  const chunks: (string | Uint8Array)[] = [];
  return {
    write: (data, done) => {
      chunks.push(data);
      done?.();
      return true;
    },
    text: () =>
      chunks.map((chunk) => (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString())).join(""),
  };
}

/** A command line without a process. `input` undefined: a terminal that stays silent. */
export function fakeCli(
  setup: {
    input?: string;
    env?: Cli["env"];
    pagurus?: Pagurus;
    open?: (options: PagurusOptions) => Promise<Pagurus>;
  } = {},
): FakeCli {
  const stdout = recorder();
  const stderr = recorder();
  const listeners = new Set<() => void>();
  const stdin: Cli["stdin"] =
    setup.input === undefined
      ? Object.assign(new PassThrough(), { isTTY: true })
      : Readable.from([setup.input]);
  const options: PagurusOptions[] = [];
  const exits: number[] = [];
  return {
    stdin,
    stdout,
    stderr,
    env: setup.env ?? {},
    cwd: process.cwd(),
    open: (given) => {
      options.push(given);
      return setup.open ? setup.open(given) : Promise.resolve(setup.pagurus ?? new FakePagurus());
    },
    onInterrupt: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    exit: (code) => void exits.push(code),
    outputLost: () => false,
    out: stdout.text,
    err: stderr.text,
    interrupt: () => {
      for (const listener of listeners) listener();
    },
    exits,
    options,
  };
}

/** Runs one command line against a scripted host. */
export async function command(
  argv: string[],
  setup: Parameters<typeof fakeCli>[0] & { script?: Script } = {},
): Promise<{ code: number; out: string; err: string; pagurus: FakePagurus; cli: FakeCli }> {
  const pagurus = new FakePagurus(setup.script);
  const cli = fakeCli({ pagurus, ...setup });
  const code = await execute(argv, cli);
  return { code, out: cli.out(), err: cli.err(), pagurus, cli };
}
