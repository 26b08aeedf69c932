import { statSync, type Stats } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { PagurusOptions } from "../contract/host.ts";
import type { InputPart, RunRequest } from "../contract/run.ts";
import type { ContextOptions } from "./additional-context.ts";
import { type Cli, printLine, sessionOf, type SessionOptions } from "./cli.ts";
import { usageError } from "./failure.ts";

/** Options of `run` and `chat`, as the command line gives them. */
export interface TurnOptions extends SessionOptions, ContextOptions {
  model?: string;
  runtime?: string;
  cwd?: string;
  permission?: "ask" | "deny" | "auto" | "read-only";
  maxCost?: number;
}
export interface RunOptions extends TurnOptions {
  heartbeat?: boolean;
  image?: string[];
  json?: boolean;
}

/** The workspace folder as an absolute path. Throws `usage_invalid` when it is no folder. */
export function workspace(cli: Cli, option: string | undefined): string {
  if (option === undefined) return cli.cwd;
  const cwd = resolve(cli.cwd, option);
  const stat = statOf(cwd);
  if (stat?.isDirectory()) return cwd;
  const what = stat ? "is a file, not a folder" : "does not exist";
  throw usageError(`The workspace folder "${option}" ${what}; give --cwd an existing folder.`);
}

/** Undefined where nothing is, or nothing that may be looked at. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    // A part of the path is missing, is a file, or is closed to the user.
    return undefined;
  }
}

/** What every turn of a command has in common. */
export function requestOf(
  options: TurnOptions,
  cwd: string,
): Omit<RunRequest, "prompt"> & { sessionKey: string; agentId: string; cwd: string } {
  const { model, runtime, permission, maxCost } = options;
  return {
    ...sessionOf(options),
    cwd,
    ...(model === undefined ? {} : { model }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(permission === undefined ? {} : { permission }),
    ...(maxCost === undefined ? {} : { maxCost }),
  };
}

/** The prompt of the arguments, or standard input for `-` and for none. Throws `usage_invalid` for an empty one. */
export async function readPrompt(cli: Cli, argument: string | undefined): Promise<string> {
  if (argument === undefined && cli.stdin.isTTY === true) {
    throw usageError('A prompt is missing; write pagurus run "…", or pipe one in.');
  }
  const prompt = argument === undefined || argument === "-" ? await text(cli.stdin) : argument;
  if (prompt.trim() === "") throw usageError("The prompt is empty; give some text.");
  return prompt;
}

/** How long a pipe may take for its first byte, ms: a program that starts us may leave one open and never write. */
const FIRST_BYTE_MS = 100;

/** Whether the stream has something to read soon, or `ended`, or stays `silent`. */
function firstByte(stream: NodeJS.ReadableStream): Promise<"data" | "ended" | "silent"> {
  return new Promise((resolve) => {
    const done = (result: "data" | "ended" | "silent"): void => {
      clearTimeout(timer);
      stream.off("readable", onReadable).off("end", onEnd).off("error", onEnd);
      resolve(result);
    };
    const timer = setTimeout(done, FIRST_BYTE_MS, "silent");
    const onReadable = (): void => {
      const chunk = stream.read() as string | Buffer | null;
      if (chunk === null) return;
      stream.unshift(chunk as string);
      done("data");
    };
    const onEnd = (): void => done("ended");
    stream.on("readable", onReadable).once("end", onEnd).once("error", onEnd);
  });
}

/**
 * What is piped in beside a prompt of the arguments, as one more part of the input. A pipe that is open and gives
 * nothing within 100 ms is not read, and that is said.
 */
export async function pipedPart(cli: Cli): Promise<InputPart[]> {
  if (cli.stdin.isTTY === true) return [];
  const first = await firstByte(cli.stdin);
  if (first === "silent") {
    cli.stdin.pause();
    const why = `standard input is open and gave nothing within ${FIRST_BYTE_MS} ms, so it was not read`;
    printLine(cli.stderr, `note: ${why}; close it (< /dev/null), or let it hold the whole prompt (-)`);
  }
  const piped = first === "data" ? await text(cli.stdin) : "";
  return piped.trim() === ""
    ? []
    : [{ type: "text", text: `<stdin>\n${piped.replace(/\n$/, "")}\n</stdin>` }];
}

/** The prompt with its `@path` words and images attached; costs nothing where there are none. */
export async function attach(
  cli: Cli,
  prompt: string,
  options: { cwd: string; images?: readonly string[] | undefined },
): Promise<{ prompt: string; parts: InputPart[] }> {
  const images = (options.images ?? []).map((file) => resolve(cli.cwd, file));
  if (images.length === 0 && !prompt.includes("@")) return { prompt, parts: [] };
  const { readAttachments } = await import("../tool/attachments.ts");
  return readAttachments(prompt, { cwd: options.cwd, images });
}

/** `askPermission` for the host's options, left out where nobody can be asked. */
export function asking(ask: PagurusOptions["askPermission"] | undefined): PagurusOptions {
  return ask ? { askPermission: ask } : {};
}
