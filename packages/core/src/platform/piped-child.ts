/** Program that speaks over its standard input and output, in its own process group, which is ended as a whole. */
import type { Readable, Writable } from "node:stream";
import { PagurusError } from "@pagurus/contract/errors";
import {
  endGroup,
  killDescendants,
  killGroup,
  processIsAlive,
  spawnGroup,
  type EndDeadlines,
} from "./process-group.ts";
import type { ChildProcess } from "./start-program.ts";

/** Time for the rest of the pipe after the child has ended, ms. */
const DRAIN_MS = 50;
/** Characters of standard error that are kept: the last ones. */
const STDERR_CHARACTERS = 4_096;

export interface PipedChildOptions {
  /** Absolute path. */
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd?: string | undefined;
  /** Whether a failed exit ends what it has started in other process sessions too, such as commands of a harness. */
  endsDescendants: boolean;
}

export interface ChildEnd {
  code: number | null;
  signal: string | null;
  /** For example `with code 1` or `by SIGKILL`. */
  how: string;
}

export class PipedChild {
  /** Resolves when the child has ended and its last output was read; never rejects. */
  readonly exited: Promise<ChildEnd>;
  readonly pid: number;
  readonly input: Readable;
  readonly output: Writable;
  readonly #child: ChildProcess;
  #stderr = "";
  #hasEnded = false;
  #ending: Promise<void> | undefined;

  /** Throws the system's error when the program cannot be started. */
  static async start({ endsDescendants, ...options }: PipedChildOptions): Promise<PipedChild> {
    const { command, args, env, cwd } = options;
    const place = cwd === undefined ? {} : { cwd };
    const stdio: ["pipe", "pipe", "pipe"] = ["pipe", "pipe", "pipe"];
    const child = spawnGroup(command, args, { env, stdio, windowsHide: true, ...place });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    return new PipedChild(child, endsDescendants);
  }

  private constructor(child: ChildProcess, endsDescendants: boolean) {
    const { stdin, stdout, stderr } = child;
    if (!stdin || !stdout || !stderr)
      throw new PagurusError("internal", "A program was started without pipes.");
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.input = stdout;
    this.output = stdin;
    // A signal that cannot be sent or a broken pipe is ignored: the exit handler reports the end.
    for (const source of [child, stdin, stdout, stderr]) source.on("error", () => undefined);
    const decoder = new TextDecoder("utf-8");
    stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + decoder.decode(chunk, { stream: true })).slice(-STDERR_CHARACTERS);
    });
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#hasEnded = true;
        // Its own children must not outlive it, and would keep the pipes open.
        killGroup(child, "SIGKILL");
        // A clean exit has ended its commands; a program that it detached on purpose keeps running, as without us.
        if (endsDescendants && code !== 0) killDescendants(child);
        const how = signal === null ? `with code ${code ?? "unknown"}` : `by ${signal}`;
        const timer = setTimeout(() => resolve({ code, signal, how }), stdout.readableEnded ? 0 : DRAIN_MS);
        stdout.once("end", () => {
          clearTimeout(timer);
          resolve({ code, signal, how });
        });
      });
    });
  }

  /** False once it has ended, also before the exit event, or once `end` was called. */
  get isAlive(): boolean {
    return !this.#hasEnded && !this.#ending && processIsAlive(this.pid);
  }

  /** The last three lines of standard error. */
  get lastLines(): string {
    return this.#stderr.trim().split("\n").slice(-3).join("\n");
  }

  /**
   * Ends the whole group: closes its input, then SIGTERM, then SIGKILL. Resolves when no process of it is left or the last deadline
   * has passed.
   */
  end(deadlines: EndDeadlines): Promise<void> {
    this.#ending ??= this.#end(deadlines);
    return this.#ending;
  }

  async #end(deadlines: EndDeadlines): Promise<void> {
    this.output.end();
    await endGroup(this.#child, deadlines, () => this.#hasEnded);
    for (const stream of this.#child.stdio) stream?.destroy();
  }
}
