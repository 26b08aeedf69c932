/**
 * How the host starts a program and what it sends to it, recorded from the pipe: the bare driver then starts it in the same
 * way and sends the same, so that both drive the same program with the same settings, however the host changes.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Recorded {
  args: string[];
  env: Record<string, string>;
  cwd: string;
  /** The program's input, a message a line. */
  sent: Record<string, unknown>[];
}

export interface Recorder {
  /** Runs the program and records how. */
  command: string;
  read(): Recorded;
}

export function makeRecorder(folder: string, program: string): Recorder {
  const file = (name: string): string => join(folder, name);
  const names = ["recorder.sh", "args", "env", "cwd", "sent", "prompt.md"];
  const [command, args, env, cwd, sent, prompt] = names.map(file);
  if (!command || !args || !env || !cwd || !sent || !prompt) throw new Error("no recorder");
  // Runs for the version or the models are not recorded.
  const script = `#!/bin/sh
for each in "$@"; do case "$each" in --version|debug) exec '${program}' "$@";; esac; done
: > '${args}'
for each in "$@"; do
  # A file of one session is gone when that ends.
  if [ "$last" = --system-prompt-file ]; then cp "$each" '${prompt}'; each='${prompt}'; fi
  last=$each
  printf '%s\\0' "$each" >> '${args}'
done
env -0 > '${env}'
pwd > '${cwd}'
tee '${sent}' | '${program}' "$@"
`;
  writeFileSync(command, script);
  chmodSync(command, 0o700);
  return {
    command,
    read: () => {
      if (!existsSync(sent)) throw new Error("The host has not started the program; nothing was recorded.");
      const parts = (path: string): string[] => readFileSync(path, "utf8").split("\0").slice(0, -1);
      const pairs = parts(env).map((pair): [string, string] => {
        const at = pair.indexOf("=");
        return [pair.slice(0, at), pair.slice(at + 1)];
      });
      return {
        args: parts(args),
        env: Object.fromEntries(pairs),
        cwd: readFileSync(cwd, "utf8").trim(),
        sent: readFileSync(sent, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      };
    },
  };
}
