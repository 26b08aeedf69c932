/** Child process of a stdio server; secrets are masked in its last output. */
import type { Readable, Writable } from "node:stream";
import { missingProgram, namedProgram } from "@pagurus/core/platform/executables";
import { PipedChild } from "@pagurus/core/platform/piped-child";
import type { EndDeadlines } from "@pagurus/core/platform/process-group";
import { cleanLine } from "./mcp-words.ts";

const END_DEADLINES: EndDeadlines = { eofMs: 1_000, termMs: 1_000, killMs: 2_000 };
const WORDS_CHARACTERS = 300;

export interface ChildOptions {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}

export class ServerChild {
  /** Resolves with the exit status as the end of a sentence; never rejects. */
  readonly exited: Promise<string>;
  readonly input: Readable;
  readonly output: Writable;
  readonly #child: PipedChild;
  readonly #secrets: readonly string[];

  /** Throws an Error with the system's message when the program cannot be started. `secrets` are removed from its last output. */
  static async start(
    { command, args, env, cwd }: ChildOptions,
    secrets: readonly string[],
  ): Promise<ServerChild> {
    const { file, passedOver } = namedProgram(command, { env, cwd });
    if (file === undefined) throw missingProgram(command, passedOver, "mcp.servers.<name>.command");
    const child = await PipedChild.start({ command: file, args, env, cwd, endsDescendants: false });
    return new ServerChild(child, secrets);
  }

  private constructor(child: PipedChild, secrets: readonly string[]) {
    this.#child = child;
    this.#secrets = secrets;
    this.input = child.input;
    this.output = child.output;
    this.exited = child.exited.then(({ how }) => {
      const words = this.lastWords();
      return words === "" ? `ended ${how}` : `ended ${how}; its last output was: ${words.replace(/\.$/, "")}`;
    });
  }

  /** The last line or lines of standard error, in one line; empty when there were none. */
  lastWords(): string {
    return cleanLine(this.#child.lastLines, this.#secrets).slice(-WORDS_CHARACTERS).toWellFormed();
  }

  /** Ends the whole group; see `PipedChild.end`. */
  end(): Promise<void> {
    // Drains the output, so that a program which still writes does not block.
    this.input.removeAllListeners("data").resume();
    return this.#child.end(END_DEADLINES);
  }
}
