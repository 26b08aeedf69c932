import { ReadStream } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PermissionMode } from "@pagurus/contract/host/permission-modes";
import { dataPart } from "@pagurus/contract/input-data";
import type { InputPart, RunRequest } from "@pagurus/contract/host/run";
import type { ContextOptions } from "./additional-context.ts";
import { terminalSafe } from "@pagurus/host/command/layout";
import { type Cli, printLine, sessionOf } from "../cli.ts";
import { usageError } from "../cli-failure.ts";
import type { ChoiceOptions } from "../sessions/session-choice.ts";
import { defined } from "@pagurus/core/data/defined";

/** Options of `run` and `chat`, from the command line. */
export interface TurnOptions extends ChoiceOptions, ContextOptions {
  model?: string | undefined;
  runtime?: string;
  cwd?: string;
  permission?: PermissionMode | undefined;
  thinking?: "off" | "low" | "medium" | "high" | undefined;
  maxCost?: number;
  trust?: boolean;
  /** Lines in place of the full terminal. */
  plain?: boolean;
}
export interface RunOptions extends TurnOptions {
  heartbeat?: boolean;
  image?: string[];
  json?: boolean;
}

/** Request fields common to every turn of a command. */
export function requestOf(
  options: TurnOptions,
  cwd: string,
): Omit<RunRequest, "prompt"> & { agentId: string; cwd: string } {
  const { model, runtime, permission, thinking, maxCost } = options;
  return {
    ...sessionOf(options),
    cwd,
    ...defined({ model, runtime, permission, thinking, maxCost }),
  };
}

/** The prompt from the arguments, or from standard input for `-` and for none. Throws `usage_invalid` for an empty one. */
export async function readPrompt(cli: Cli, argument: string | undefined): Promise<string> {
  if (argument === undefined && cli.stdin.isTTY === true) {
    throw usageError('A prompt is missing; write pagurus run "…", or pipe one in.');
  }
  const prompt = argument === undefined || argument === "-" ? await text(cli.stdin) : argument;
  if (prompt.trim() === "")
    throw usageError('The prompt is empty; write pagurus run "…", or pipe a text in.');
  return prompt;
}

/** Timeout for the first byte of a pipe, ms: a parent program may leave one open and never write. */
const FIRST_BYTE_MS = 100;

/** Whether the stream delivers data soon, has `ended`, or stays `silent`. */
function firstByte(stream: Cli["stdin"]): Promise<"data" | "ended" | "silent"> {
  return new Promise((resolve) => {
    const done = (result: "data" | "ended" | "silent"): void => {
      clearTimeout(timer);
      stream.off("readable", onReadable).off("end", onEnd).off("error", onEnd).off("silent", onSilent);
      resolve(result);
    };
    const onSilent = (): void => done("silent");
    // Input that arrived before the timer is read first: a busy machine may run this process late.
    const judge = (): void => void setImmediate(onSilent);
    // A file has an end.
    const isTimed = stream.signalsSilence !== true && !(stream instanceof ReadStream);
    const timer = isTimed ? setTimeout(judge, FIRST_BYTE_MS) : undefined;
    const onReadable = (): void => {
      const chunk = stream.read() as string | Buffer | null;
      if (chunk === null) return;
      stream.unshift(chunk as string);
      done("data");
    };
    const onEnd = (): void => done("ended");
    stream.on("readable", onReadable).once("end", onEnd).once("error", onEnd).once("silent", onSilent);
  });
}

/** Text piped in beside a prompt, as one more part of the input. A pipe that sends nothing within 100 ms is skipped with a note. */
export async function pipedPart(cli: Cli): Promise<InputPart[]> {
  if (cli.stdin.isTTY === true) return [];
  const first = await firstByte(cli.stdin);
  if (first === "silent") {
    cli.stdin.pause();
    const why = `standard input is open and sent nothing within ${FIRST_BYTE_MS} ms, so it was not read`;
    printLine(cli.stderr, `note: ${why}; close it (< /dev/null), or pass the whole prompt in it (-)`);
  }
  const piped = first === "data" ? await text(cli.stdin) : "";
  return piped.trim() === "" ? [] : [dataPart("stdin", piped)];
}

/** The prompt with its `@path` words and images attached; reports missing paths. Costs nothing where there are none. */
export async function attach(
  cli: Cli,
  prompt: string,
  options: { cwd: string; images?: readonly string[] | undefined },
): Promise<{ prompt: string; parts: InputPart[] }> {
  const images = (options.images ?? []).map((file) => resolve(cli.cwd, file));
  if (images.length === 0 && !prompt.includes("@")) return { prompt, parts: [] };
  const { readAttachments } = await import("@pagurus/host/tool/files/attachments");
  const { notices, ...attached } = await readAttachments(prompt, { cwd: options.cwd, images, env: cli.env });
  for (const notice of notices) printLine(cli.stderr, `note: ${terminalSafe(notice)}`);
  return attached;
}

/** `askPermission` for the host's options, absent without a terminal. */
export function asking(ask: PagurusOptions["askPermission"] | undefined): PagurusOptions {
  return ask ? { askPermission: ask } : {};
}
