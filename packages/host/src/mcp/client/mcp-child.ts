/** Child process of a stdio server, in its own process group, which is ended as a whole. */
import type { Readable, Writable } from "node:stream";
import { PagurusError } from "@pagurus/contract/errors";
import { missingProgram, namedProgram } from "@pagurus/core/platform/executables";
import { groupIsAlive, killGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import type { ChildProcess } from "@pagurus/core/platform/start-program";
import { cleanLine } from "./mcp-words.ts";

/** Timeout of each step of an ending before the next, harder one, ms. */
const STEPS = { eofMs: 1_000, termMs: 1_000, killMs: 2_000 };
const POLL_MS = 10;
/** Characters of standard error kept for error sentences: the last ones. */
const STDERR_CHARACTERS = 4_096;
const WORDS_CHARACTERS = 300;
const LAST_LINES = 3;

export interface ChildOptions {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}

/**
 * Signals the group. A group that may not be signalled (another user's, say) must not crash the host; its input was closed at
 * least.
 */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    killGroup(child, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

async function until(condition: () => boolean, ms: number): Promise<boolean> {
  for (const end = Date.now() + ms; !condition();) {
    if (Date.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}

export class ServerChild {
  /** Resolves with the exit status as the end of a sentence; never rejects. */
  readonly exited: Promise<string>;
  readonly input: Readable;
  readonly output: Writable;
  readonly #child: ChildProcess;
  readonly #secrets: readonly string[];
  #stderr = "";
  #over = false;
  #ending: Promise<void> | undefined;

  /** Throws an Error with the system's message when the program cannot be started. `secrets` are removed from its last output. */
  static async start(
    { command, args, env, cwd }: ChildOptions,
    secrets: readonly string[],
  ): Promise<ServerChild> {
    const { file, passedOver } = namedProgram(command, { env, cwd });
    if (file === undefined) throw missingProgram(command, passedOver, "mcp.servers.<name>.command");
    const child = spawnGroup(file, args, {
      env,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    return new ServerChild(child, secrets);
  }

  private constructor(child: ChildProcess, secrets: readonly string[]) {
    const { stdin, stdout, stderr } = child;
    if (!stdin || !stdout || !stderr) throw new PagurusError("internal", "it was started without pipes");
    this.#child = child;
    this.#secrets = secrets;
    this.input = stdout;
    this.output = stdin;
    // A signal that cannot be sent or a broken pipe is ignored: the exit handler reports it.
    for (const source of [child, stdin, stdout, stderr]) source.on("error", () => undefined);
    const decoder = new TextDecoder("utf-8");
    stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + decoder.decode(chunk, { stream: true })).slice(-STDERR_CHARACTERS);
    });
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        // Its own children must not outlive it, and would keep the pipes open.
        signalGroup(child, "SIGKILL");
        // The last output may still be in the pipe.
        setTimeout(() => {
          this.#over = true;
          resolve(this.#howEnded(code, signal));
        }, 2 * POLL_MS);
      });
    });
  }

  /** The last line or lines of standard error, in one line; empty when there were none. */
  lastWords(): string {
    const lines = this.#stderr.trim().split("\n").slice(-LAST_LINES).join("\n");
    return cleanLine(lines, this.#secrets).slice(-WORDS_CHARACTERS).toWellFormed();
  }

  /**
   * Ends the whole group: closes its input, then SIGTERM, then SIGKILL. Resolves when no process is left or the last deadline
   * has passed.
   */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.output.end();
    // Drains the output, so that a program which still writes does not block.
    this.input.removeAllListeners("data").resume();
    const gone = (): boolean => this.#over && !groupIsAlive(this.#child);
    if (!(await until(gone, STEPS.eofMs))) {
      signalGroup(this.#child, "SIGTERM");
      if (!(await until(gone, STEPS.termMs))) {
        signalGroup(this.#child, "SIGKILL");
        await until(gone, STEPS.killMs);
      }
    }
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
  }

  #howEnded(code: number | null, signal: string | null): string {
    const how = signal === null ? `with code ${code ?? "unknown"}` : `by ${signal}`;
    const words = this.lastWords();
    return words === "" ? `ended ${how}` : `ended ${how}; its last output was: ${words.replace(/\.$/, "")}`;
  }
}
