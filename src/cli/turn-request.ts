import { statSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { InputPart, PagurusOptions, RunRequest } from "../contract/host.ts";
import { type Cli, sessionOf, type SessionOptions } from "./cli.ts";
import { usageError } from "./failure.ts";

/** Options of `run` and `chat`, as the command line gives them. */
export interface TurnOptions extends SessionOptions {
  model?: string;
  runtime?: string;
  cwd?: string;
  permission?: "ask" | "deny" | "auto" | "read-only";
}
export interface RunOptions extends TurnOptions {
  image?: string[];
  json?: boolean;
}

/** The workspace folder as an absolute path. Throws `usage_invalid` when it is no folder. */
export function workspace(cli: Cli, option: string | undefined): string {
  if (option === undefined) return cli.cwd;
  const cwd = resolve(cli.cwd, option);
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw usageError(`The workspace folder "${option}" does not exist; give --cwd an existing folder.`);
  }
  return cwd;
}

/** What every turn of a command has in common. */
export function requestOf(
  options: TurnOptions,
  cwd: string,
): Omit<RunRequest, "prompt"> & { sessionKey: string; agentId: string; cwd: string } {
  const { model, runtime, permission } = options;
  return {
    ...sessionOf(options),
    cwd,
    ...(model === undefined ? {} : { model }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(permission === undefined ? {} : { permission }),
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
