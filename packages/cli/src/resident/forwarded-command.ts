/** A command that a client of the resident host has passed on: it runs here as it would in the client's own process. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Socket } from "node:net";
import { asString, countOf, fieldOf, listOf, parseRecord, recordOf } from "@pagurus/core/data/record-fields";
import { endChildrenOf } from "@pagurus/core/platform/start-program";
import { within, type Surroundings } from "@pagurus/core/platform/surroundings";
import type { Cli } from "../cli.ts";
import { printFailure } from "../cli-failure.ts";
import { Interrupts, OutputLoss } from "../command-end.ts";
import { openHost } from "../open-host.ts";
import { RemoteInput, RemoteOutput, type SendFrame } from "./remote-streams.ts";

/** A client's description of its process, as bin/thin.js writes it. */
export interface ClientRequest {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  /** Whether standard input, output and error are terminals. */
  tty: [boolean, boolean, boolean];
  columns: number | undefined;
  errorColumns: number | undefined;
  /** Whether questions can be asked at a controlling terminal that is not standard input. */
  canAsk: boolean;
  place: string;
  key: string;
  entry: string;
}

/** Undefined for what is no request. */
export function readRequest(payload: string): ClientRequest | undefined {
  const value = parseRecord(payload);
  const cwd = asString(value?.["cwd"]);
  if (!value || cwd === undefined) return undefined;
  const [input, output, errors] = listOf(value["tty"]);
  return {
    argv: listOf(value["argv"]).map(String),
    cwd,
    env: recordOf(value["env"]) as Record<string, string>,
    tty: [input === true, output === true, errors === true],
    columns: countOf(value["columns"]),
    errorColumns: countOf(value["errorColumns"]),
    canAsk: value["canAsk"] === true,
    place: asString(value["place"]) ?? "",
    key: asString(value["key"]) ?? "",
    entry: asString(value["entry"]) ?? "",
  };
}

/** Runs a command line and returns its exit code: `execute` of `cli-program.ts`. */
export type Execute = (argv: readonly string[], cli: Cli) => Promise<number>;

export class ForwardedCommand {
  readonly #request: ClientRequest;
  readonly #send: SendFrame;
  readonly #socket: Socket;
  readonly #surroundings: Surroundings;
  readonly #interrupts = new Interrupts(() => undefined);
  readonly #loss: OutputLoss;
  readonly #stdout: RemoteOutput;
  readonly #stderr: RemoteOutput;
  readonly #inputs: Record<"0" | "1", RemoteInput>;
  readonly #cli: Cli;
  #flushed: () => void = () => undefined;
  #isOver = false;

  constructor(
    socket: Socket,
    request: ClientRequest,
    frame: (letter: string, payload?: string | Uint8Array) => Buffer,
  ) {
    this.#socket = socket;
    this.#request = request;
    const send: SendFrame = (letter, payload, done) => {
      if (socket.writable) return socket.write(frame(letter, payload), () => done?.());
      done?.();
      return false;
    };
    this.#send = send;
    const { tty, columns, errorColumns, cwd, env } = request;
    const isTTY = tty[0];
    this.#inputs = {
      "0": new RemoteInput("0", { send, isTTY }),
      "1": new RemoteInput("1", { send, isTTY: true }),
    };
    this.#stdout = new RemoteOutput({ letter: "O", send, isTTY: tty[1], columns });
    this.#stderr = new RemoteOutput({ letter: "A", send, isTTY: tty[2], columns: errorColumns });
    const exit = (code: number): void => this.#exit(code);
    this.#cli = {
      stdin: this.#inputs["0"],
      stdout: this.#stdout,
      stderr: this.#stderr,
      env,
      cwd,
      open: openHost,
      onInterrupt: this.#interrupts.onInterrupt,
      exit,
      outputLost: () => this.#stdout.lost,
      controllingTerminal: () => (request.canAsk ? this.#inputs["1"] : undefined),
    };
    this.#loss = new OutputLoss({
      interrupts: this.#interrupts,
      exit,
      report: (failure) => printFailure(this.#cli, failure),
    });
    this.#surroundings = { cwd, env, print: (text) => void this.#stderr.write(text) };
  }

  /** Runs it; resolves when nothing of it runs any more. `receive` then takes the client's frames. */
  async run(execute: Execute): Promise<void> {
    await within(this.#surroundings, async () => {
      const inThese = AsyncLocalStorage.snapshot();
      this.receive = (letter, payload) => inThese(() => this.#take(letter, payload));
      this.clientGone = () => inThese(() => this.#gone());
      this.#send("B");
      const code = await execute(this.#request.argv, this.#cli);
      await this.#flush();
      // A lost output has ended it with a report: a further one would break the connection under a client that still reads.
      if (!this.#isOver) this.#exit(this.#loss.exitCode(code));
    });
    endChildrenOf(this.#surroundings);
  }

  receive: (letter: string, payload: Buffer) => void = () => undefined;
  /** The client has ended. */
  clientGone: () => void = () => undefined;

  #take(letter: string, payload: Buffer): void {
    if (letter === "S") return this.#signalled(payload);
    if (letter === "F") return this.#flushed();
    if (letter === "W") return this.#resized(Number(payload.toString()));
    if (letter === "L") return this.#failed(payload.toString());
    const input = payload.toString("latin1", 0, 1) === "1" ? this.#inputs["1"] : this.#inputs["0"];
    if (letter === "I") input.receive(payload.subarray(1));
    if (letter === "E") input.receive(undefined);
    if (letter === "Z") input.emit("silent");
  }

  #signalled(signal: Buffer): void {
    if (!this.#interrupts.fire()) this.#send("K", signal);
  }

  #resized(columns: number): void {
    if (this.#stdout.isTTY) this.#stdout.columns = columns;
    if (this.#stderr.isTTY) this.#stderr.columns = columns;
  }

  #failed(payload: string): void {
    const value = parseRecord(payload);
    const code = asString(value?.["code"]);
    const errno = fieldOf(value, "errno");
    const error: NodeJS.ErrnoException = new Error(asString(value?.["message"]) ?? "a write failed");
    if (code !== undefined) error.code = code;
    if (typeof errno === "number") error.errno = errno;
    if (value?.["fd"] === 2) return this.#loss.onMessagesFailed(error);
    this.#stdout.lost = true;
    return this.#loss.onOutputFailed(error);
  }

  /** Its turn is aborted and recorded; what it writes from here on has no reader. */
  #gone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of [this.#stdout, this.#stderr]) stream.lost = true;
    for (const input of Object.values(this.#inputs)) input.receive(undefined);
    this.#flushed();
    this.#interrupts.fire();
  }

  /** Resolves when the client has written all of the output. */
  #flush(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      this.#flushed = resolve;
      this.#send("F");
    });
  }

  #exit(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#send("X", JSON.stringify({ code }));
    this.#socket.end();
    this.#flushed();
  }
}
