/** A person at the terminal of a chat, in the test's own process. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { PermissionQuestion, RunRequest } from "../../packages/contract/src/host/run.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";
import { FakePagurus, type FakeTurn, type Script } from "./fake-pagurus.ts";

type Play = (request: RunRequest, turn: FakeTurn, at: Desk) => AsyncIterable<TurnEvent>;

export const delta = (text: string): TurnEvent => ({ type: "text.delta", delta: text });
/** Timeout for an expected screen, ms. */
const PATIENCE_MS = 60_000;

interface DeskSetup {
  columns?: number;
  argv?: string[];
  env?: Record<string, string>;
  script?: Omit<Script, "turns">;
}

/** Lets the typed input be read. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** A person at a terminal, in a chat whose turns play `play`. */
export class Desk {
  readonly cli: FakeCli;
  readonly pagurus: FakePagurus;
  readonly #screen = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true, columns: 80 });
  readonly #ended: Promise<number>;
  #ending = false;
  #shown = "";

  constructor(play: Play, { columns = 80, argv = ["chat"], env = {}, script = {} }: DeskSetup = {}) {
    this.pagurus = new FakePagurus({ ...script, turns: [(request, turn) => play(request, turn, this)] });
    const plain = { NO_COLOR: "1", PAGURUS_HOME: "/nowhere/pagurus" };
    const cli = fakeCli({ pagurus: this.pagurus, env: { ...plain, ...env } });
    this.#screen.columns = columns;
    this.#screen.on("data", (text: string) => (this.#shown += text));
    this.cli = { ...cli, stdout: this.#screen, stderr: this.#screen };
    this.#ended = execute(argv, this.cli);
    void this.#ended.then(() => (this.#ending = true));
  }

  /** Changes the width of the window. */
  async resize(columns: number): Promise<void> {
    await settle();
    this.#screen.columns = columns;
    this.#screen.emit("resize");
    await settle();
  }

  /** Presses Ctrl-C until the chat has ended; the second one counts only within a moment. */
  async leaves(): Promise<void> {
    await this.until(/› $/);
    while (!this.#ending) await this.type("\u0003");
  }

  /** The exit code. A turn that threw, for example by a failed assertion, is shown on the screen. */
  async end(): Promise<number> {
    const code = await this.#ended;
    assert.doesNotMatch(await this.screen(), /\[internal\]/);
    return code;
  }

  /** Types when the chat waits for input. */
  async say(keys: string): Promise<void> {
    await this.until(/› $/);
    await this.type(keys);
  }

  async until(shown: RegExp): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    while (!shown.test(await this.screen())) {
      if (Date.now() > end) throw new Error(`${String(shown)} is not on the screen:\n${await this.screen()}`);
      await settle();
    }
  }

  async type(keys: string): Promise<void> {
    await settle();
    (this.cli.stdin as unknown as PassThrough).write(keys);
    await settle();
  }

  /** Output of the terminal, without cursor movements. */
  async screen(): Promise<string> {
    await settle();
    // Cleared text is a spinner.
    return this.#shown.replace(/[^\n]*\r\u001b\[K/g, "").replace(/\u001b\[[\d;?]*[A-Za-z]/g, "");
  }

  raw(): string {
    return this.#shown;
  }

  ask(signal: AbortSignal, more: Partial<PermissionQuestion> = {}): Promise<unknown> {
    const question: PermissionQuestion = { toolName: "shell", summary: "make", cwd: "/w", signal, ...more };
    return this.cli.options[0]?.askPermission?.(question) ?? Promise.resolve("nobody");
  }
}
