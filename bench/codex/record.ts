/**
 * What the host says to Codex in one turn, read off the pipe: the bare driver then says the same. So both drive the
 * same program with the same instructions, tools and items, however the host comes to change.
 */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Item } from "./bare.ts";

export interface RecordedHost {
  /** Of the program. */
  args: string[];
  initialize: unknown;
  threadStart: unknown;
  turnStart: Record<string, unknown>;
  /** What went into the thread before the turn. */
  items: Item[];
}

/** A program that runs Codex and writes down its arguments and all that it is told. */
export function makeRecorder(folder: string, binary: string): { command: string; read(): RecordedHost } {
  const [command, args, told] = ["recorder.sh", "arguments", "told.jsonl"].map((name) => join(folder, name));
  if (command === undefined || args === undefined || told === undefined) throw new Error("no recorder");
  // Asked for its catalog it is run in the same way, and told nothing.
  const script = `#!/bin/sh
for each in "$@"; do case "$each" in app-server)
  printf '%s\\n' "$@" > '${args}'
  tee '${told}' | '${binary}' "$@"
  exit $?;; esac; done
exec '${binary}' "$@"
`;
  writeFileSync(command, script);
  chmodSync(command, 0o700);
  return {
    command,
    read: () => recordedOf(readFileSync(args, "utf8"), readFileSync(told, "utf8")),
  };
}

/** `args`: one a line. `told`: the messages to Codex, one a line. */
export function recordedOf(args: string, told: string): RecordedHost {
  const messages = told
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { method?: string; params?: Record<string, unknown> });
  const params = (method: string): Record<string, unknown> => {
    const found = messages.findLast((message) => message.method === method)?.params;
    if (!found) throw new Error(`The host has not sent ${method} to Codex; the recording cannot be used.`);
    return found;
  };
  const { threadId: _thread, input: _input, ...turnStart } = params("turn/start");
  const injected = messages.filter(({ method }) => method === "thread/inject_items");
  return {
    args: args.split("\n").slice(0, -1),
    initialize: params("initialize"),
    threadStart: params("thread/start"),
    turnStart,
    items: injected.flatMap((message) => message.params?.["items"] as Item[]),
  };
}
