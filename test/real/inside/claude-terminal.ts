/** The real Claude Code in a terminal, as a person uses it. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until, untilWithin } from "../../runner/until.ts";
import { Terminal } from "../../servers/terminal.ts";
import { claudeBinary } from "../programs.ts";
import type { Talk } from "./claude-talk.ts";
import type { InsideBench } from "./inside-bench.ts";

type Fields = Record<string, unknown>;

const KEY = "key-of-inside-tests";
const BUSY = /esc to interrupt|Compacting conversation/;
const LONGEST_MS = 240_000;

/** Answers to the questions that Claude Code asks at its first start. */
export function settle(bench: InsideBench): void {
  const state = {
    hasCompletedOnboarding: true,
    theme: "dark",
    customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
    projects: { [bench.cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  writeFileSync(join(bench.config, ".claude.json"), JSON.stringify(state));
  const permissions = { defaultMode: "dontAsk", allow: ["Bash", "Agent", "Task"] };
  writeFileSync(join(bench.config, "settings.json"), JSON.stringify({ permissions }));
}

export class ClaudeTerminal implements Talk {
  readonly #bench: InsideBench;
  readonly terminal: Terminal;
  readonly #args: readonly string[];
  /** Compactions of the processes before. */
  readonly #before: number;
  #isStarted = false;
  #isClosed = false;

  constructor(bench: InsideBench, root: string, args: readonly string[], env: Record<string, string>) {
    this.#bench = bench;
    this.#args = args;
    this.#before = this.#boundaries().length;
    this.terminal = new Terminal(root, bench.cwd, bench.env(env));
    this.terminal.resize(160, 50);
  }

  async #start(): Promise<void> {
    await this.terminal.sees(/ready>/);
    await this.terminal.types([claudeBinary(), "--model", "claude-sonnet-4-5", ...this.#args].join(" "));
    await this.terminal.sees(/❯/, LONGEST_MS);
    this.#isStarted = true;
  }

  /** Waits until a condition holds and Claude Code is idle. */
  async #idle(isMet: () => boolean): Promise<void> {
    const isIdle = (): boolean => isMet() && !BUSY.test(this.terminal.screen());
    await untilWithin(LONGEST_MS, isIdle, () => this.terminal.screen());
  }

  async send(text: string): Promise<void> {
    if (!this.#isStarted) await this.#start();
    if (text.startsWith("/")) {
      const count = this.boundaries.length;
      await this.terminal.types(text);
      return this.#idle(() => this.boundaries.length > count);
    }
    const known = this.#bench.mains.length;
    this.terminal.paste(text);
    await this.terminal.settled();
    await this.terminal.press("Enter");
    // The end of the newest answer is on the screen.
    const isAnswered = (): boolean => {
      const nth = this.#bench.mains.length;
      return nth > known && new RegExp(String.raw`(?:end|Done )${nth}\.`).test(this.terminal.screen());
    };
    await this.#idle(isAnswered);
  }

  async end(): Promise<void> {
    await this.terminal.types("/exit");
    await until(() => /ready> *$/.test(this.terminal.screen().trimEnd()));
    this.close();
  }

  /** Ends the terminal and all that runs in it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.terminal.end();
  }

  /** Lines of the newest conversation's file. */
  #lines(): Fields[] {
    const folder = join(this.#bench.config, "projects");
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const file = files.find((name) => /^[^/]+\/[0-9a-f-]+\.jsonl$/.test(name));
    if (file === undefined) return [];
    return readFileSync(join(folder, file), "utf8")
      .split("\n")
      .flatMap((line) => (line.endsWith("}") ? [JSON.parse(line) as Fields] : []));
  }

  #boundaries(): unknown[] {
    return this.#lines()
      .filter(({ subtype }) => subtype === "compact_boundary")
      .map((line) => (line["compactMetadata"] as Fields)["trigger"]);
  }

  get sessionId(): string {
    return String(this.#lines().find(({ sessionId }) => typeof sessionId === "string")?.["sessionId"]);
  }

  get boundaries(): unknown[] {
    return this.#boundaries().slice(this.#before);
  }

  get notices(): string[] {
    return this.terminal
      .screen()
      .split("\n")
      .filter((line) => line.includes("Pagurus: "));
  }
}
