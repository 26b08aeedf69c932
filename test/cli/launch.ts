import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMPILE_CACHE } from "../runner/compile-cache.ts";
import { MAIN } from "../runner/program.ts";
import { AS_PROGRAM, runInside } from "../turn/inside.ts";
import { spawnWith } from "../runner/child-input.ts";

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** A user of this machine with an empty home, and the command line to call. */
export class Launcher {
  readonly #above = mkdtempSync(join(tmpdir(), "pagurus-process-"));
  /** The key of its conversation is "main". */
  readonly root = folder(join(this.#above, "main"));
  readonly env = {
    PATH: process.env["PATH"] ?? "",
    HOME: this.root,
    PAGURUS_HOME: join(this.root, "home"),
    PAGURUS_NO_PROBE: "1",
    ...COMPILE_CACHE,
  };

  /** `input` absent: a pipe for the caller. */
  start(args: string[], input?: string): { child: ChildProcess; ended: Promise<Ended> } {
    const words = [MAIN, ...args];
    const options = { cwd: this.root, env: this.env };
    const child =
      input === undefined
        ? spawn(process.execPath, words, options)
        : spawnWith(input, process.execPath, words, options);
    const chunks: Record<"out" | "err", string> = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (chunks.out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (chunks.err += text));
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, ...chunks }));
    });
    return { child, ended };
  }

  /** Runs to the end, in the test's own process; `input` absent: an empty standard input. */
  async run(args: string[], input = ""): Promise<Ended> {
    if (AS_PROGRAM) return await this.runProgram(args, input);
    const { code, stdout, stderr } = await runInside(args, { cwd: this.root, env: this.env, input });
    return { code, out: stdout, err: stderr };
  }

  /** The same as a program of its own, for what only a process shows. */
  runProgram(args: string[], input = ""): Promise<Ended> {
    return this.start(args, input).ended;
  }

  remove(): void {
    rmSync(this.#above, { recursive: true, force: true });
  }
}

function folder(path: string): string {
  mkdirSync(path);
  return path;
}
