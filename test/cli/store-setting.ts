/** A home whose engine is `lossless`, and the command line over real hosts, in this process. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../packages/app/src/app.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";

export interface Answer {
  code: number;
  out: string;
  err: string;
}

/** Text of turn `number`; long enough that a few turns reach a small trigger. */
/** Statement that gives changed entries the checksums of their values, on a connection with `registerRowSum`. */
export const SUM_ENTRIES =
  "UPDATE entries SET sum = rowsum(num, id, kind, tokens, total, time, turn, supersedes, body)";

export function promptOf(number: number): string {
  const goods = ["ropes", "cranes", "lanterns", "anchors", "sails", "crabs"];
  const list = Array.from({ length: 150 }, (_, index) => goods[(index * number + number) % goods.length]);
  return `Quay ${number} has berth b-${number}7${number}x and keeps ${list.join(" ")}.`;
}

export class StoreSetting {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-store-"));
  readonly home = join(this.root, "home");
  readonly env = {
    PATH: process.env["PATH"],
    HOME: this.root,
    PAGURUS_HOME: this.home,
    PAGURUS_NO_PROBE: "1",
    NO_COLOR: "1",
  };
  readonly agentDir = join(this.home, "agents", "main");
  readonly database = join(this.agentDir, "lossless.db");

  constructor(more: Record<string, unknown> = {}) {
    mkdirSync(this.home, { mode: 0o700 });
    this.configure(more);
  }

  /** `lossless` with a trigger of 1,500 tokens, and the passed settings. */
  configure(more: Record<string, unknown> = {}, settings: Record<string, unknown> = {}): void {
    const config = {
      session: { scope: "main" },
      plugins: {
        slots: { contextEngine: "lossless" },
        entries: { lossless: { config: { trigger: 1_500, ...settings } } },
      },
      logging: { level: "silent" },
      ...more,
    };
    writeFileSync(join(this.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  }

  host(): Promise<Pagurus> {
    return createPagurus({ home: this.home, env: this.env });
  }

  async withHost<T>(work: (pagurus: Pagurus) => Promise<T>): Promise<T> {
    const pagurus = await this.host();
    try {
      return await work(pagurus);
    } finally {
      await pagurus.close();
    }
  }

  /** Turns of the offline model, numbered from `first` on. */
  talk(
    turns: number,
    { sessionKey = "main", first = 1 }: { sessionKey?: string; first?: number } = {},
  ): Promise<void> {
    return this.withHost(async (pagurus) => {
      for (let number = first; number < first + turns; number++)
        await this.#turn(pagurus, promptOf(number), sessionKey);
    });
  }

  /** One turn with this prompt. */
  say(prompt: string, sessionKey = "main"): Promise<void> {
    return this.withHost((pagurus) => this.#turn(pagurus, prompt, sessionKey));
  }

  async #turn(pagurus: Pagurus, prompt: string, sessionKey: string): Promise<void> {
    let last = "";
    for await (const event of pagurus.run({ prompt, sessionKey, cwd: this.root })) last = event.type;
    assert.equal(last, "turn.completed");
  }

  /** Runs one command line; `prepare` sees its terminal before it starts. */
  async run(argv: string[], prepare?: (cli: FakeCli) => void): Promise<Answer> {
    const cli = fakeCli({
      env: this.env,
      input: "",
      open: (options) => createPagurus({ home: this.home, ...options }),
    });
    Object.assign(cli, { cwd: this.root });
    prepare?.(cli);
    const code = await execute(argv, cli);
    return { code, out: cli.out(), err: cli.err() };
  }

  async json<T>(argv: string[], code = 0): Promise<T> {
    const answer = await this.run([...argv, "--json"]);
    assert.equal(answer.code, code, answer.out + answer.err);
    return JSON.parse(answer.out) as T;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
