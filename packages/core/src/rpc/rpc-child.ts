/** Child process of a harness that speaks over its standard input and output; its end is a typed error with its last output. */
import { errorText } from "../data/error-text.ts";
import type { Readable, Writable } from "node:stream";
import { PagurusError } from "@pagurus/contract/errors";
import { PipedChild, type ChildEnd } from "../platform/piped-child.ts";
import type { EndDeadlines } from "../platform/process-group.ts";

export interface RpcChildOptions {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd?: string | undefined;
  /** Name of the program for sentences: "Codex". */
  label: string;
}

const END_DEADLINES: EndDeadlines = { eofMs: 1_500, termMs: 1_500, killMs: 2_000 };
/** How long the child's exit may follow the end of its output, ms. */
const EXIT_AFTER_OUTPUT_MS = 500;
const SENTENCE_CHARACTERS = 300;
/** Signals that another process sent; the output before does not explain them. */
const SENT_SIGNALS: ReadonlySet<string | null> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"]);

export class RpcChild {
  /** Resolves with the reason when the child has ended and its last output was read; never rejects. */
  readonly exited: Promise<PagurusError>;
  readonly input: Readable;
  readonly output: Writable;
  readonly #child: PipedChild;
  readonly #label: string;

  /** Throws `runtime_failed` when the program cannot be started. */
  static async start({ label, ...options }: RpcChildOptions): Promise<RpcChild> {
    try {
      return new RpcChild(await PipedChild.start({ ...options, endsDescendants: true }), label);
    } catch (error) {
      const message = errorText(error);
      throw new PagurusError("runtime_failed", `${label} could not be started: ${message}.`, {
        cause: error,
        details: { command: options.command },
      });
    }
  }

  private constructor(child: PipedChild, label: string) {
    this.#child = child;
    this.#label = label;
    this.input = child.input;
    this.output = child.output;
    this.exited = child.exited.then((end) => this.#reasonOf(end));
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** False once it has ended, also before the exit event, or once `end` was called. */
  get isAlive(): boolean {
    return this.#child.isAlive;
  }

  /** The last lines of standard error, in one line, for an error's sentence; empty when there were none. */
  lastWords(): string {
    // oxlint-disable-next-line no-control-regex -- terminal colours
    const plain = this.#child.lastLines.replaceAll(/\u001b\[[0-9;]*m/g, "");
    return plain.trim().replaceAll(/\s+/g, " ").slice(-SENTENCE_CHARACTERS);
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

  /** Ends the child's whole group; see `PipedChild.end`. */
  end(deadlines: EndDeadlines = END_DEADLINES): Promise<void> {
    return this.#child.end(deadlines);
  }

  #reasonOf({ code, signal, how }: ChildEnd): PagurusError {
    const words = SENT_SIGNALS.has(signal) ? "" : this.lastWords();
    const output = words === "" ? "" : `; its last output was: ${words}`;
    return new PagurusError("runtime_failed", `${this.#label} ended ${how}${output}.`, {
      details: { pid: this.pid, code, signal },
    });
  }
}
