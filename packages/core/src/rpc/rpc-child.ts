/** Child process that speaks over its standard input and output, in its own process group. */
import type { Readable, Writable } from "node:stream";
import { PagurusError } from "@pagurus/contract/errors";
import {
  groupIsAlive,
  killDescendants,
  killGroup,
  processIsAlive,
  spawnGroup,
} from "../platform/process-group.ts";
import type { ChildProcess } from "../platform/start-program.ts";

export interface RpcChildOptions {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd?: string | undefined;
  /** Name of the program for sentences: "Codex". */
  label: string;
}

/** Timeout of each step of an ending before the next, harder one, ms. */
export interface EndDeadlines {
  /** After the end of its standard input. */
  eofMs: number;
  /** After SIGTERM to the group. */
  termMs: number;
  /** After SIGKILL to the group. */
  killMs: number;
}

const END_DEADLINES: EndDeadlines = { eofMs: 1_500, termMs: 1_500, killMs: 2_000 };
/** Time for the rest of the pipe after the child has ended, ms. */
const DRAIN_MS = 50;
/** How long the child's exit may follow the end of its output, ms. */
const EXIT_AFTER_OUTPUT_MS = 500;
/** Characters of standard error kept for error sentences: the last ones. */
const STDERR_CHARACTERS = 4_096;
const SENTENCE_CHARACTERS = 300;
/** Signals that another process sent; the output before does not explain them. */
const SENT_SIGNALS: ReadonlySet<string | null> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"]);

interface Pipes {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
}

export class RpcChild {
  /** Resolves with the reason when the child has ended and its last output was read; never rejects. */
  readonly exited: Promise<PagurusError>;
  readonly pid: number;
  readonly input: Readable;
  readonly output: Writable;
  readonly #child: ChildProcess;
  readonly #label: string;
  #stderr = "";
  #reason: PagurusError | undefined;
  #ending: Promise<void> | undefined;

  /** Throws `runtime_failed` when the program cannot be started. */
  static async start(options: RpcChildOptions): Promise<RpcChild> {
    const child = spawnGroup(options.command, options.args, {
      env: options.env,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) =>
        reject(
          new PagurusError("runtime_failed", `${options.label} could not be started: ${error.message}.`, {
            cause: error,
            details: { command: options.command },
          }),
        ),
      );
    });
    const { stdin, stdout, stderr } = child;
    if (!stdin || !stdout || !stderr)
      throw new PagurusError("internal", `${options.label} was started without pipes.`);
    return new RpcChild(child, { stdin, stdout, stderr }, options.label);
  }

  private constructor(child: ChildProcess, pipes: Pipes, label: string) {
    this.#child = child;
    this.#label = label;
    this.pid = child.pid ?? 0;
    this.input = pipes.stdout;
    this.output = pipes.stdin;
    // A signal that cannot be sent is an error event; the exit handler reports the rest.
    child.on("error", () => undefined);
    const decoder = new TextDecoder("utf-8");
    pipes.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + decoder.decode(chunk, { stream: true })).slice(-STDERR_CHARACTERS);
    });
    pipes.stderr.on("error", () => undefined);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        // Its own children must not outlive it, and would keep the pipes open.
        killGroup(child, "SIGKILL");
        // A clean exit has ended its commands; what they detached on purpose keeps running, as without us.
        if (code !== 0) killDescendants(child);
        const reason = (this.#reason = this.#reasonOf(code, signal));
        if (pipes.stdout.readableEnded) return resolve(reason);
        const timer = setTimeout(() => resolve(reason), DRAIN_MS);
        pipes.stdout.once("end", () => {
          clearTimeout(timer);
          resolve(reason);
        });
      });
    });
  }

  /** False once it has ended, also before the exit event, or once `end` was called. */
  get isAlive(): boolean {
    return !this.#reason && !this.#ending && processIsAlive(this.pid);
  }

  /** The last lines of standard error, in one line, for an error's sentence; empty when there were none. */
  lastWords(): string {
    // oxlint-disable-next-line no-control-regex -- terminal colours
    const plain = this.#stderr.replaceAll(/\u001b\[[0-9;]*m/g, "").trim();
    return plain.split("\n").slice(-3).join(" ").replaceAll(/\s+/g, " ").slice(-SENTENCE_CHARACTERS);
  }

  /** Why the connection ended: the exit, or that the program keeps running without it. */
  reasonOfEnd(): Promise<PagurusError> {
    const { promise, resolve } = Promise.withResolvers<PagurusError>();
    const sentence = `${this.#label} closed the connection without ending itself.`;
    const giveUp = (): void => resolve(new PagurusError("runtime_failed", sentence));
    const timer = setTimeout(giveUp, EXIT_AFTER_OUTPUT_MS).unref();
    void this.exited.then((reason) => {
      clearTimeout(timer);
      resolve(reason);
    });
    return promise;
  }

  /**
   * Ends the child's whole group: closes its input, then SIGTERM, then SIGKILL. Resolves when no process of the group is left
   * or the last deadline has passed.
   */
  end(deadlines: EndDeadlines = END_DEADLINES): Promise<void> {
    this.#ending ??= this.#end(deadlines);
    return this.#ending;
  }

  async #end(deadlines: EndDeadlines): Promise<void> {
    this.output.end();
    const gone = (): boolean => this.#reason !== undefined && !groupIsAlive(this.#child);
    if (!(await until(gone, deadlines.eofMs))) {
      killGroup(this.#child, "SIGTERM");
      if (!(await until(gone, deadlines.termMs))) {
        killGroup(this.#child, "SIGKILL");
        await until(gone, deadlines.killMs);
      }
    }
    for (const stream of this.#child.stdio) stream?.destroy();
  }

  #reasonOf(code: number | null, signal: string | null): PagurusError {
    const how = signal === null ? `with code ${code ?? "unknown"}` : `by ${signal}`;
    const words = SENT_SIGNALS.has(signal) ? "" : this.lastWords();
    const output = words === "" ? "" : `; its last output was: ${words}`;
    return new PagurusError("runtime_failed", `${this.#label} ended ${how}${output}.`, {
      details: { pid: this.pid, code, signal },
    });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Polls with growing pauses; false when the deadline passed. */
async function until(holds: () => boolean, deadlineMs: number): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  for (let step = 1; !holds(); step = Math.min(20, step * 2)) {
    if (performance.now() > end) return false;
    await pause(step);
  }
  return true;
}
