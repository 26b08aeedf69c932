/**
 * Bit flips at rest in the home's files of a conversation, each followed by a turn: the request is that of an undamaged twin, or the turn
 * reports the damage; no turn is refused. 12 flips by default, 500 with PAGURUS_PROVE=1, from a fixed seed (PAGURUS_SEED for another one).
 */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { Bench, eventsOf } from "./in-process.ts";
import { FULL } from "../runner/short-form.ts";
import { longTest } from "../runner/long-tests.ts";

const FLIPS = FULL ? 500 : 12;
const SEED = Number(process.env["PAGURUS_SEED"] ?? 16);
const ENGINES = ["lossless", "legacy"] as const;
type Engine = (typeof ENGINES)[number];

/** Numbers from a seed (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A home with two conversations, one of them long enough for a compaction, and the turn that follows. */
class Twins {
  readonly #bench: Bench;
  readonly #agent: string;
  readonly #template: string;

  constructor(bench: Bench) {
    this.#bench = bench;
    this.#agent = join(bench.root, "home", "agents", "main");
    this.#template = join(bench.root, "template");
  }

  async #host(engine: Engine) {
    const { server } = this.#bench;
    return this.#bench.host({
      more: {
        config: {
          models: {
            providers: {
              test: {
                api: "openai-completions",
                baseUrl: server.url,
                apiKey: "test-key-0123456789",
                models: [{ id: "model", contextWindow: 24_000, maxTokens: 2_000 }],
              },
            },
          },
          agents: { defaults: { model: "test/model", permission: { mode: "auto" } } },
          logging: { level: "silent" },
          plugins: { slots: { contextEngine: engine } },
        },
      },
    });
  }

  async prepare(): Promise<void> {
    const pagurus = await this.#host("lossless");
    for (let turn = 0; turn < 18; turn += 1) {
      const prompt = `Question ${turn} of the harbour office: ${"which ships are listed? ".repeat(150)}`;
      await this.#bench.ask(pagurus, prompt, { sessionKey: "main" });
    }
    await this.#bench.ask(pagurus, "Another matter.", { sessionKey: "other" });
    await pagurus.close();
    cpSync(this.#agent, this.#template, { recursive: true });
  }

  /** The files that may be damaged. */
  files(): { database: string; index: string; transcripts: string[] } {
    const names = readdirSync(join(this.#template, "sessions"));
    const transcripts = names.filter((name) => /^[0-9a-z]{16}\.jsonl$/.test(name));
    return {
      database: "lossless.db",
      index: "sessions.db",
      transcripts: transcripts.map((name) => join("sessions", name)),
    };
  }

  bytes(name: string): Buffer {
    return readFileSync(join(this.#template, name));
  }

  /** A turn in a home with one changed file: its requests, and its reports. */
  async turn(engine: Engine, damaged?: { name: string; bytes: Buffer }) {
    rmSync(this.#agent, { recursive: true, force: true });
    cpSync(this.#template, this.#agent, { recursive: true });
    if (damaged) writeFileSync(join(this.#agent, damaged.name), damaged.bytes);
    const pagurus = await this.#host(engine);
    const before = this.#bench.server.requests.length;
    const run = pagurus.run({ prompt: "And now?", sessionKey: "main", cwd: this.#bench.root });
    const events = await eventsOf(run);
    await pagurus.close();
    // Summaries ahead of need are requested in the background.
    const sent = this.#bench.server.requests
      .slice(before)
      .map(({ body }) => JSON.stringify(body))
      .find((body) => body.includes("And now?"));
    return { sent: sent ?? "", reports: events.flatMap(reportOf), last: events.at(-1) };
  }
}

function reportOf(event: TurnEvent): string[] {
  if (event.type === "notice") return [event.detail];
  return event.type === "context.degraded" ? [event.reason] : [];
}

longTest(
  `${FLIPS} bit flips, each followed by a turn: the request is correct, or the change is reported (finding F5, F6)`,
  async () => {
    const bench = await Bench.with(() => ({
      text: `It lists them. ${"The ships are in the book. ".repeat(40)}`,
    }));
    try {
      const twins = new Twins(bench);
      await twins.prepare();
      const { database, index, transcripts } = twins.files();
      assert.equal(transcripts.length, 2);
      const expected = new Map<Engine, string>();
      for (const engine of ENGINES) {
        const { sent, reports, last } = await twins.turn(engine);
        assert.equal(last?.type, "turn.completed");
        assert.deepEqual(reports, []);
        expected.set(engine, sent);
      }
      const next = numbers(SEED);
      const count = { same: 0, reported: 0 };
      for (let flip = 0; flip < FLIPS; flip += 1) {
        const engine = ENGINES[flip % 4 === 3 ? 1 : 0] ?? "lossless";
        const names = [database, index, transcripts[next(2)] ?? ""];
        const name = (engine === "legacy" ? names.slice(1) : names)[next(engine === "legacy" ? 2 : 3)] ?? "";
        const bytes = twins.bytes(name);
        const at = next(bytes.length);
        const bit = next(8);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        const where = `flip ${flip} with seed ${SEED}: bit ${bit} of byte ${at} of ${name}, ${engine}`;
        const { sent, reports, last } = await twins.turn(engine, { name, bytes });
        assert.equal(last?.type, "turn.completed", `${where}: ${JSON.stringify(last)}`);
        const isSame = sent === expected.get(engine);
        assert.ok(isSame || reports.length > 0, `${where}: the request is another, and nothing was reported`);
        count.same += isSame ? 1 : 0;
        count.reported += reports.length > 0 ? 1 : 0;
      }
      // Not every bit is free space: some have to be reported.
      assert.ok(count.reported > 0 && count.same > count.reported / 4, JSON.stringify(count));
    } finally {
      await bench.end();
    }
  },
);
