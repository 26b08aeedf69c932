/** One long-lived `claude -p` process: JSON lines in and out, and answers to its control requests. */
import { randomUUID } from "node:crypto";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { EndDeadlines } from "@pagurus/core/platform/process-group";
import { RpcChild } from "@pagurus/core/rpc/rpc-child";
import { LineSplitter } from "@pagurus/core/rpc/rpc-lines";
import { Outbox } from "@pagurus/core/rpc/outbox";
import { durationText } from "@pagurus/core/platform/duration";

/** Limit of one line, which contains images and tool results. */
const MOST_LINE_BYTES = 64 * 1024 * 1024;
/** Timeout of its first line, which follows its first input, ms; the measured median is 600. */
const START_DEADLINE_MS = 60_000;
/** How long the output is still read after the child has ended, ms. */
const OPEN_OUTPUT_MS = 500;
const RECOVERY = "What was done until then is in the session; the next turn starts Claude Code again.";
const NO_TURN = "No turn of the host is running, so nothing is allowed now.";

export interface Listener {
  /** Called for each line that is not a control message, in order. Must not throw. */
  line(line: Fields): void;
  /** Handles a request of Claude Code; a throw is sent as a refusal. */
  asked(request: Fields): Promise<object>;
  /** The program ended; no line follows. */
  closed(error: PagurusError): void;
}

export interface Launch {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

export class ClaudeProcess {
  readonly #child: RpcChild;
  readonly #outbox: Outbox;
  readonly #splitter = new LineSplitter(MOST_LINE_BYTES);
  readonly #answers = new Map<string, (answer: Fields) => void>();
  #listener: Listener | undefined;
  #closed: PagurusError | undefined;
  readonly #start: NodeJS.Timeout;
  #hasSpoken = false;

  /** Throws `runtime_failed` where the program cannot be started. */
  static async start(launch: Launch): Promise<ClaudeProcess> {
    return new ClaudeProcess(await RpcChild.start({ ...launch, label: "Claude Code" }));
  }

  private constructor(child: RpcChild) {
    this.#child = child;
    this.#outbox = new Outbox(child.output);
    child.output.on("error", () => undefined);
    child.input.on("data", (chunk: Buffer) => this.#read(chunk));
    child.input.on("error", () => undefined);
    const silent = new PagurusError(
      "runtime_failed",
      `it wrote nothing within ${durationText(START_DEADLINE_MS)}.`,
    );
    this.#start = setTimeout(() => this.#close(silent), START_DEADLINE_MS).unref();
    const close = async (): Promise<void> => this.#close(await child.reasonOfEnd());
    child.input.once("end", () => void close());
    // Its own children may keep the output open.
    void child.exited.then((reason) => setTimeout(() => this.#close(reason), OPEN_OUTPUT_MS).unref());
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isAlive(): boolean {
    return this.#child.isAlive && !this.#closed;
  }

  /** Sets the only listener. The returned function removes it. */
  listen(listener: Listener): () => void {
    this.#listener = listener;
    const closed = this.#closed;
    if (closed) queueMicrotask(() => listener.closed(closed));
    return () => {
      if (this.#listener === listener) this.#listener = undefined;
    };
  }

  send(message: object): void {
    if (!this.#closed) this.#outbox.send(message);
  }

  /** Sends a control request. Resolves with the response's fields; undefined on timeout, or when the program ended. */
  async ask(request: { subtype: string }, deadlineMs: number): Promise<Fields | undefined> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<Fields | undefined>();
    const timer = setTimeout(() => resolve(undefined), deadlineMs);
    this.#answers.set(id, resolve);
    this.send({ type: "control_request", request_id: id, request });
    const answer = await Promise.race([promise, this.#child.exited.then(() => undefined)]);
    clearTimeout(timer);
    this.#answers.delete(id);
    return answer;
  }

  /** Ends it with its group. Resolves when no process of it is left. */
  end(deadlines?: EndDeadlines): Promise<void> {
    return this.#child.end(deadlines);
  }

  #read(chunk: Buffer): void {
    let lines: string[];
    try {
      lines = this.#splitter.push(chunk);
    } catch (error) {
      this.#close(toPagurusError(error, "runtime_failed"));
      void this.end();
      return;
    }
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    let message: Fields;
    try {
      message = recordOf(JSON.parse(line));
    } catch {
      // Not a message: a program may print other lines.
      return;
    }
    this.#hasSpoken = true;
    clearTimeout(this.#start);
    const type = stringOf(message["type"]);
    if (type === "control_request") return void this.#asked(message);
    if (type === "control_response") {
      const { request_id: id, response } = recordOf(message["response"]);
      return this.#answers.get(stringOf(id))?.(recordOf(response));
    }
    this.#listener?.line(message);
  }

  async #asked(message: Fields): Promise<void> {
    const { request_id, request } = message;
    const asked = recordOf(request);
    let response: object;
    try {
      response = this.#listener ? await this.#listener.asked(asked) : { behavior: "deny", message: NO_TURN };
    } catch (error) {
      const { message: why } = toPagurusError(error);
      this.send({ type: "control_response", response: { subtype: "error", request_id, error: why } });
      return;
    }
    this.send({ type: "control_response", response: { subtype: "success", request_id, response } });
  }

  #close(reason: PagurusError): void {
    if (this.#closed) return;
    const { code, message, cause, details } = reason;
    const sentence = this.#hasSpoken
      ? `${message} ${RECOVERY}`
      : `Claude Code did not start: ${message} Check that the program is Claude Code, or name another in plugins.entries.claude-cli.config.command.`;
    this.#closed = new PagurusError(code, sentence, { cause, details });
    clearTimeout(this.#start);
    this.#outbox.close();
    this.#listener?.closed(this.#closed);
    void this.end();
  }
}
