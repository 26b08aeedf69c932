/**
 * The bare driver that the host is compared with: the same program, started with the same arguments, sent the same requests,
 * and nothing else.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { RecordedHost } from "./record.ts";
import { inputOf } from "../../test/runner/child-input.ts";

interface Message {
  id?: number;
  method?: string;
  params?: { threadId?: string; turn?: { status?: string } };
  result?: unknown;
  error?: { message: string };
}

/** An item of a thread's history, as `thread/inject_items` accepts it. */
export type Item = Record<string, unknown>;

export class BareCodex {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #recorded: RecordedHost;
  readonly #answers = new Map<number, (message: Message) => void>();
  /** Callbacks for the end of a turn, by thread. */
  readonly #turns = new Map<string, (status: string) => void>();
  #next = 0;
  #rest = "";

  private constructor(child: ChildProcess, recorded: RecordedHost) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.#recorded = recorded;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  /** Its own child, in its own process group, with its own `CODEX_HOME`. */
  static async start(
    binary: string,
    recorded: RecordedHost,
    env: Readonly<Record<string, string>>,
  ): Promise<BareCodex> {
    const child = spawn(binary, recorded.args, { env, stdio: ["pipe", "pipe", "ignore"], detached: true });
    const bare = new BareCodex(child, recorded);
    await bare.request("initialize", recorded.initialize);
    bare.#write({ method: "initialized" });
    return bare;
  }

  /** Starts a thread as the host does, with the items in its history. */
  async thread(items: readonly Item[]): Promise<string> {
    const { thread } = (await this.request("thread/start", this.#recorded.threadStart)) as {
      thread: { id: string };
    };
    if (items.length > 0) await this.request("thread/inject_items", { threadId: thread.id, items });
    return thread.id;
  }

  /** From `turn/start` to `turn/completed`. Throws if the turn does not complete. */
  async turn(threadId: string, text: string): Promise<void> {
    const over = new Promise<string>((resolve) => this.#turns.set(threadId, resolve));
    const input = [{ type: "text", text, text_elements: [] }];
    await this.request("turn/start", { ...this.#recorded.turnStart, threadId, input });
    const status = await over;
    if (status !== "completed") throw new Error(`a turn of the bare driver ended as ${status}`);
  }

  request(method: string, params: unknown): Promise<unknown> {
    const id = (this.#next += 1);
    const answered = new Promise<unknown>((resolve, reject) => {
      this.#answers.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result),
      );
    });
    this.#write({ id, method, params });
    return answered;
  }

  /** Number of threads that the child has in memory. */
  async loaded(): Promise<number> {
    return ((await this.request("thread/loaded/list", {})) as { data: string[] }).data.length;
  }

  /** Ends the child's input; what does not exit is killed with its group. */
  async end(): Promise<void> {
    const exited = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    const late = setTimeout(() => process.kill(-this.pid, "SIGKILL"), 3_000);
    inputOf(this.#child).end();
    await exited;
    clearTimeout(late);
  }

  #write(message: unknown): void {
    inputOf(this.#child).write(`${JSON.stringify(message)}\n`);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") this.#handle(JSON.parse(line) as Message);
  }

  #handle(message: Message): void {
    const { id, method, params } = message;
    if (id !== undefined && method === undefined) {
      this.#answers.get(id)?.(message);
      this.#answers.delete(id);
    }
    if (method !== "turn/completed" || params?.threadId === undefined) return;
    this.#turns.get(params.threadId)?.(params.turn?.status ?? "unknown");
    this.#turns.delete(params.threadId);
  }
}
