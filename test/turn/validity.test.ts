import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createPagurus } from "../../packages/app/src/app.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { PluginTool } from "../../packages/contract/src/host/plugin.ts";
import { POSTGRES } from "../servers/on-postgres/tables.ts";
import { startServer, type Protocol, type RecordedRequest, type ReplyStep } from "../servers/server.ts";
import { ENGINES, type EngineKind } from "./test-engines.ts";
import { modelConfig } from "./setting.ts";
import { readBody, type WireBody } from "./wire-bodies.ts";
import { FULL, byLength } from "../runner/short-form.ts";

const PROTOCOLS: Protocol[] = ["openai-completions", "openai-responses", "anthropic-messages", "google"];
const WORDS = "the lamp at the pier burns low and the keeper writes each ship into the long book ".repeat(12);

type Step =
  | { kind: "turn"; rounds: number; parallel: number; size: number }
  | { kind: "abort"; rounds: number; parallel: number; at: number; size: number }
  | { kind: "crash"; rounds: number; parallel: number; at: number; size: number }
  | { kind: "steer"; rounds: number; parallel: number }
  | { kind: "fork"; back: number }
  | { kind: "rewind"; back: number }
  | { kind: "compact" }
  | { kind: "reopen" }
  | { kind: "new" };

const engineKind = fc.constantFrom<EngineKind>("legacy", "every-call", "stripping", "half");
const small = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("turn" as const),
      rounds: small(3),
      parallel: small(2),
      size: small(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("abort" as const),
      rounds: small(3),
      parallel: small(2),
      at: small(3),
      size: small(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("crash" as const),
      rounds: small(3),
      parallel: small(2),
      at: small(3),
      size: small(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("steer" as const),
      rounds: fc.integer({ min: 1, max: 3 }),
      parallel: small(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fork" as const), back: small(12) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rewind" as const), back: small(12) }) },
  { weight: 2, arbitrary: fc.constant({ kind: "compact" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "reopen" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "new" as const }) },
);

const TALKER: PluginTool = {
  name: "tell",
  description: "Tells so many words.",
  parameters: { type: "object", properties: { words: { type: "number" } } },
  execute: (params) =>
    Promise.resolve({
      content: [{ type: "text", text: "tide ".repeat(Number(params["words"] ?? 0)) }],
      isError: false,
    }),
};

/** One host over one home, driven through a sequence; every request that reaches the endpoint is checked. */
class Drive {
  readonly #root = mkdtempSync(join(tmpdir(), "pagurus-validity-"));
  #home = join(this.#root, "home-0");
  #copies = 0;
  #turns = 0;
  #key = "main";
  #pagurus: Pagurus | undefined;
  #plan = { rounds: 0, parallel: 0, at: -1, size: 0, input: "" };
  #asked = 0;
  #onAsked: ((asked: number) => void) | undefined;
  #system = new Set<string>();
  #reply = 0;
  requests = 0;
  /** Of the host, inside a turn. */
  compactions = 0;
  url = "";
  readonly #engine: EngineKind;
  readonly #protocol: Protocol;

  constructor(engine: EngineKind, protocol: Protocol) {
    this.#engine = engine;
    this.#protocol = protocol;
  }

  script = (request: RecordedRequest): ReplyStep => {
    const body = readBody(this.#protocol, request);
    if (body.tools.length === 0) return { text: "Goal: keep the book of ships. Done: several turns." };
    this.requests += 1;
    this.#check(body);
    const asked = this.#asked++;
    this.#onAsked?.(asked);
    this.#reply += 1;
    if (asked >= this.#plan.rounds)
      return { text: `Reply ${this.#reply}. ${WORDS.repeat(this.#plan.size)}`, chunkSize: 400 };
    const toolCalls = Array.from({ length: this.#plan.parallel + 1 }, (_, index) => ({
      // Providers repeat ids across turns; ours must stay paired all the same.
      id: `call_${asked}_${index}`,
      name: ["tell", "no_such_tool", "glob"][index % 3] ?? "tell",
      arguments: { pattern: `*.${index}`, words: this.#plan.size * 1_000 },
    }));
    return { text: asked % 2 === 0 ? "Looking." : "", toolCalls };
  };

  #check(body: WireBody): void {
    const { input } = this.#plan;
    let open: string[] = [];
    const seen = new Set<string>();
    for (const message of body.messages) {
      for (const result of message.results) {
        assert.equal(open.shift(), result.id, "each result answers the next open call");
      }
      if (message.role === "tool") continue;
      assert.deepEqual(open, [], "every call has its result before the next message");
      open = message.calls.map((call) => call.id);
      // Google's calls have no ids; they are distinguished by their position.
      if (this.#protocol !== "google")
        for (const id of open) assert.ok(!seen.has(id), `the call id ${id} is used once`);
      for (const id of open) seen.add(id);
    }
    assert.deepEqual(open, [], "no call is left without a result");
    const text = body.messages
      .filter((message) => message.role !== "assistant")
      .map((message) => message.text)
      .join("\n");
    const inputs = text.match(/«input \d+»/g) ?? [];
    assert.equal(
      inputs.filter((text) => text === input).length,
      1,
      `the current input is there exactly once: ${inputs.join(" ")}`,
    );
    assert.equal(new Set(inputs).size, inputs.length, "no input is said twice");
    assert.equal(inputs.at(-1), input, "the current input is the last one");
    this.#system.add(body.system);
    assert.equal(this.#system.size, 1, "the system part never changes");
  }

  async #open(): Promise<Pagurus> {
    this.#pagurus ??= await createPagurus({
      home: this.#home,
      engines: ENGINES,
      plugins: { telling: (api) => api.registerTool(TALKER) },
      env: { PATH: process.env["PATH"], HOME: this.#root, PAGURUS_NO_PROBE: "1" },
      config: modelConfig(
        this.#protocol,
        this.url,
        { contextWindow: 12_000, maxTokens: 1_000 },
        {
          agents: { defaults: { compaction: { keepRecentTokens: 1_500 } } },
          logging: { level: "silent" },
          plugins: { slots: { contextEngine: this.#engine } },
        },
      ),
    });
    return this.#pagurus;
  }

  async #turn(
    plan: { rounds: number; parallel: number; size?: number },
    act: { abortAt?: number; crashAt?: number; steer?: boolean },
  ): Promise<void> {
    const pagurus = await this.#open();
    const input = `«input ${++this.#turns}»`;
    this.#plan = { at: -1, size: 0, ...plan, input };
    this.#asked = 0;
    const run = pagurus.run({ prompt: input, sessionKey: this.#key, cwd: this.#root });
    let crashed: string | undefined;
    this.#onAsked = (asked) => {
      if (asked === act.abortAt) run.abort();
      if (asked === 0 && act.steer) run.steer("And mind the fog.");
      // Of sessions in PostgreSQL a copy of the home has none.
      if (asked === act.crashAt && POSTGRES === undefined) crashed = this.#snapshot();
    };
    let last;
    for await (const event of run) {
      if (event.type === "compaction.completed") this.compactions += 1;
      last = event;
    }
    this.#onAsked = undefined;
    if (act.abortAt === undefined) assert.equal(last?.type, "turn.completed", JSON.stringify(last));
    if (crashed === undefined) return;
    await this.#close();
    this.#home = crashed;
  }

  /** The home as a crash at this moment would leave it; the dead owner's lock does not outlive it. */
  #snapshot(): string {
    const copy = join(this.#root, `home-${++this.#copies}`);
    cpSync(this.#home, copy, { recursive: true });
    const sessions = join(copy, "agents", "main", "sessions");
    for (const name of readdirSync(sessions)) if (name.endsWith(".lock")) rmSync(join(sessions, name));
    return copy;
  }

  async #entryBack(back: number): Promise<string | null> {
    const pagurus = await this.#open();
    const reader = pagurus.sessions().openReader(this.#key);
    try {
      const entries = [];
      for await (const entry of reader.cursor.backward()) entries.push(entry);
      return entries[Math.min(back, entries.length - 1)]?.id ?? null;
    } finally {
      reader.close();
    }
  }

  async play(step: Step): Promise<void> {
    const pagurus = await this.#open();
    const exists = pagurus.sessions().find(this.#key) !== undefined;
    switch (step.kind) {
      case "turn":
        return this.#turn(step, {});
      case "steer":
        return this.#turn(step, { steer: true });
      case "abort":
        return this.#turn(step, { abortAt: step.at });
      case "crash":
        return this.#turn(step, { crashAt: step.at });
      case "fork": {
        if (!exists) return;
        const entryId = await this.#entryBack(step.back);
        const key = `fork-${++this.#copies}`;
        await pagurus.sessions().fork(this.#key, key, entryId === null ? {} : { entryId });
        this.#key = key;
        return;
      }
      case "rewind": {
        if (!exists) return;
        const writer = pagurus.sessions().openWriter(this.#key, { cwd: this.#root });
        const target = await this.#entryBack(step.back);
        writer.rewind(target);
        writer.close();
        return;
      }
      case "compact":
        if (exists) await pagurus.compact({ sessionKey: this.#key, cwd: this.#root }).catch(ignoreNothing);
        return;
      case "new":
        if (exists) await pagurus.renew({ sessionKey: this.#key, reason: "new", cwd: this.#root });
        return;
      case "reopen":
        return this.#close();
    }
  }

  async #close(): Promise<void> {
    await this.#pagurus?.close();
    this.#pagurus = undefined;
  }

  async end(): Promise<void> {
    await this.#close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

function ignoreNothing(error: unknown): void {
  if (error instanceof PagurusError && error.code === "nothing_to_compact") return;
  throw error;
}

describe("a request to a model", () => {
  it("is valid after any sequence of turns, aborts, crashes, forks, rewinds and compactions", async () => {
    let requests = 0;
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(
        engineKind,
        fc.constantFrom(...PROTOCOLS),
        fc.array(step, { minLength: 3, maxLength: FULL ? 30 : 16 }),
        async (engine, protocol, steps) => {
          const drive = new Drive(engine, protocol);
          let failure: unknown;
          const server = await startServer({
            protocol,
            script: (request) => {
              try {
                return drive.script(request);
              } catch (error) {
                failure ??= error;
                return { status: 400 };
              }
            },
          });
          drive.url = server.url;
          try {
            for (const each of steps) {
              await drive.play(each);
              if (failure) throw failure;
            }
            await drive.play({ kind: "turn", rounds: 1, parallel: 1, size: 0 });
            if (failure) throw failure;
            requests += drive.requests;
            compactions += drive.compactions;
          } catch (error) {
            throw failure ?? error;
          } finally {
            await drive.end();
            await server.close();
          }
        },
      ),
      { numRuns: byLength(300, 25, 8), seed: 20_261_121, endOnFailure: !FULL },
    );
    assert.ok(requests > byLength(100, 100, 40), `the property saw ${requests} requests`);
    assert.ok(compactions > byLength(10, 10, 3), `the property saw ${compactions} compactions inside turns`);
  });
});
