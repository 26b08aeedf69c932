/** Runs one command in its own process group, which has always ended when it returns. */
import { Writable } from "node:stream";
import { endGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import type { ChildProcess } from "@pagurus/core/platform/start-program";

/** File descriptor of the filter for the program around a command. */
export const FILTER_DESCRIPTOR = 3;

export interface ShellRun {
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** Bytes for the program at `FILTER_DESCRIPTOR`. */
  filter?: Uint8Array | undefined;
  timeoutMs: number;
  signal: AbortSignal;
  /** Maximum characters of output kept. */
  mostCharacters: number;
  output(chunk: string): void;
}

export interface ShellResult {
  text: string;
  cut: boolean;
  /** Total bytes of the command's output. */
  bytes: number;
  end:
    | { kind: "exit"; code: number }
    | { kind: "signal"; signal: string }
    | { kind: "timeout" }
    | { kind: "aborted" };
}

/** Time between SIGTERM and SIGKILL, ms. */
const KILL_GRACE_MS = 2_000;
/** Time for output left in the pipes after the command's end, ms. */
const DRAIN_MS = 300;
/** Maximum characters shown while the command runs; more are only counted. */
const MOST_SHOWN = 256 * 1024;

/** Keeps the head and the tail of an output of any length, in bounded memory. */
class HeadTail {
  #head = "";
  #tail = "";
  /** Number of characters dropped between head and tail. */
  #dropped = 0;
  readonly #half: number;

  /** `most`: total characters kept, half of them from each end. */
  constructor(most: number) {
    this.#half = Math.floor(most / 2);
  }

  push(text: string): void {
    const missing = this.#half - this.#head.length;
    const toHead = this.#dropped === 0 && this.#tail === "" ? text.slice(0, Math.max(0, missing)) : "";
    this.#head += toHead;
    this.#tail += text.slice(toHead.length);
    // Trimmed only occasionally, so that many small chunks do not copy the tail each time.
    if (this.#tail.length > this.#half * 4) this.#trim();
  }

  #trim(): void {
    const over = this.#tail.length - this.#half;
    if (over <= 0) return;
    this.#dropped += over;
    this.#tail = this.#tail.slice(over);
  }

  /** The kept text; a cut is marked with the number of dropped characters. */
  text(): { text: string; cut: boolean } {
    this.#trim();
    if (this.#dropped === 0) return { text: this.#head + this.#tail, cut: false };
    // Half a surrogate pair at a cut would not survive UTF-8.
    const head = this.#head.replace(/[\uD800-\uDBFF]$/, "");
    const tail = this.#tail.replace(/^[\uDC00-\uDFFF]/, "");
    return { text: `${head}\n[… ${this.#dropped} characters left out …]\n${tail}`, cut: true };
  }
}

function collectOutput(
  child: ChildProcess,
  run: ShellRun,
): { result(): { text: string; cut: boolean; bytes: number } } {
  const kept = new HeadTail(run.mostCharacters);
  let bytes = 0;
  let shown = 0;
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new TextDecoder("utf-8");
    const take = (text: string): void => {
      if (text === "") return;
      kept.push(text);
      if (shown < MOST_SHOWN) run.output(text);
      shown += text.length;
    };
    stream?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      take(decoder.decode(chunk, { stream: true }));
    });
    stream?.once("end", () => take(decoder.decode()));
    // A broken pipe ends the output; the exit event reports the result.
    stream?.once("error", () => undefined);
  }
  return { result: () => ({ ...kept.text(), bytes }) };
}

function giveFilter(child: ChildProcess, filter: Uint8Array | undefined): void {
  const pipe = child.stdio[FILTER_DESCRIPTOR];
  if (!filter || !(pipe instanceof Writable)) return;
  // A program that failed to start has not read it; its exit reports that.
  pipe.once("error", () => undefined);
  pipe.end(filter);
}

/** Throws the system's error when the command cannot be started. */
export async function runInGroup(run: ShellRun): Promise<ShellResult> {
  const [program = "", ...rest] = run.command;
  const stdio: ("ignore" | "pipe")[] = ["ignore", "pipe", "pipe", ...(run.filter ? ["pipe" as const] : [])];
  const child = spawnGroup(program, rest, { cwd: run.cwd, env: run.env, stdio });
  giveFilter(child, run.filter);
  const output = collectOutput(child, run);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<ShellResult["end"]>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      resolve(code === null ? { kind: "signal", signal: signal ?? "unknown" } : { kind: "exit", code }),
    );
  });
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const stopped = new Promise<ShellResult["end"]>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "timeout" }), run.timeoutMs);
    onAbort = () => resolve({ kind: "aborted" });
    if (run.signal.aborted) onAbort();
    else run.signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    const end = await Promise.race([exited, stopped]);
    // Also after a normal exit: background children must not outlive the call.
    await endGroup(child, { termMs: KILL_GRACE_MS, killMs: KILL_GRACE_MS });
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, DRAIN_MS).unref())]);
    child.stdout?.destroy();
    child.stderr?.destroy();
    return { ...output.result(), end };
  } finally {
    clearTimeout(timer);
    if (onAbort) run.signal.removeEventListener("abort", onAbort);
  }
}
