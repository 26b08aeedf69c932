/**
 * The host's requests to Codex in one turn, recorded from the pipe: the bare driver then sends the same. So both drive the
 * same program with the same instructions, tools and items, however the host changes.
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
  /** Items injected into the thread before the turn. */
  items: Item[];
}

/** A program that runs Codex and records its arguments and its input. */
export function makeRecorder(folder: string, binary: string): { command: string; read(): RecordedHost } {
  const [command, args, sent] = ["recorder.sh", "arguments", "sent.jsonl"].map((name) => join(folder, name));
  if (command === undefined || args === undefined || sent === undefined) throw new Error("no recorder");
  // Runs for the catalog are not recorded.
  const script = `#!/bin/sh
for each in "$@"; do case "$each" in app-server)
  printf '%s\\n' "$@" > '${args}'
  tee '${sent}' | '${binary}' "$@"
  exit $?;; esac; done
exec '${binary}' "$@"
`;
  writeFileSync(command, script);
  chmodSync(command, 0o700);
  return {
    command,
    read: () => recordedOf(readFileSync(args, "utf8"), readFileSync(sent, "utf8")),
  };
}

/** `args`: one a line. `sent`: the messages to Codex, one a line. */
export function recordedOf(args: string, sent: string): RecordedHost {
  const messages = sent
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
