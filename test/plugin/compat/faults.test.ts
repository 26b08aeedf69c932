/** Engines and plugins of OpenClaw without types: what they answer, throw and ask costs a sentence, and never the turn. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { hostEngine } from "../../../packages/host/src/plugin/compat/foreign-engine.ts";
import { Bench } from "../../turn/in-process.ts";

let bench: Bench | undefined;

type Members = Record<string, unknown>;

function engineOf(more: Members): ContextEngine {
  const legacy = createLegacyEngine();
  const engine = {
    info: { id: "theirs", name: "Theirs" },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }: { messages: unknown }) => Promise.resolve({ messages, estimatedTokens: 0 }),
    compact: (params: never) => legacy.compact(params),
    ...more,
  };
  return hostEngine(engine as unknown as ContextEngine);
}

/** The reasons of the degradations of one turn that completes. */
async function reasonsOf(more: Members, plugin?: (api: PluginApi) => void): Promise<string[]> {
  const made = await Bench.with(() => ({ text: "Answered." }));
  bench = made;
  const host = await made.host({ engine: engineOf(more), ...(plugin && { plugin }) });
  const last = (await made.ask(host, "Hello?")).at(-1);
  assert.ok(last?.type === "turn.completed");
  return last.degraded.map(({ stage, reason }) => `${stage}: ${reason}`);
}

const GENERATORS: Record<string, Members> = {
  assemble: { async *assemble() {} },
  settle: { async *afterTurn() {} },
  maintain: { *maintain() {} },
};

describe("a member of an engine that is a generator", () => {
  afterEach(async () => bench?.end());
  for (const [stage, members] of Object.entries(GENERATORS))
    it(`is reported, since its code never runs (${stage})`, async () => {
      assert.match((await reasonsOf(members)).join(), new RegExp(`^${stage}: .*generator`));
    });

  it("is reported for single messages and for their batch", async () => {
    assert.match((await reasonsOf({ *ingest() {} })).join(), /ingest\(\) cannot be used: it is a generator/);
    await bench?.end();
    assert.match((await reasonsOf({ *ingestBatch() {} })).join(), /ingestBatch\(\) cannot be used/);
  });

  it("is reported for a hook as well", async () => {
    const reasons = await reasonsOf({}, (api) => {
      api.on("before_prompt_build", function* () {} as never);
    });
    assert.match(reasons.join(), /^hook: .*before_prompt_build.*generator/);
  });
});

describe("a value whose every member throws", () => {
  afterEach(async () => bench?.end());
  const raise = (): never => {
    throw new Error("not readable");
  };
  const evil = (): never => {
    throw new Proxy({}, { get: raise, has: raise, getPrototypeOf: raise, ownKeys: raise });
  };

  it("costs an engine that throws it its own share", async () => {
    assert.match((await reasonsOf({ assemble: evil })).join(), /threw a value that cannot be shown/);
  });
});

describe("an answer of a hook", () => {
  afterEach(async () => bench?.end());
  it("that is no text is left out and reported, and its other texts are used", async () => {
    const reasons = await reasonsOf({}, (api) => {
      api.on(
        "before_prompt_build",
        () => ({ prependSystemContext: 5, appendSystemContext: "The tide is low." }) as never,
      );
    });
    assert.match(reasons.join(), /prependSystemContext of the plugin hooks is no text/);
    assert.match(bench?.body(-1).system ?? "", /The tide is low\./);
  });
});

describe("a request of an engine that has another shape", () => {
  afterEach(async () => bench?.end());
  it("for a rewrite is refused with a reason", async () => {
    const answers: unknown[] = [];
    const shapes = [undefined, 5, {}, { replacements: [null] }, { replacements: [{ message: {} }] }];
    const reasons = await reasonsOf({
      async maintain({
        runtimeContext,
      }: {
        runtimeContext: { rewriteTranscriptEntries: (shape: unknown) => unknown };
      }) {
        for (const shape of shapes) answers.push(await runtimeContext.rewriteTranscriptEntries(shape));
        return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
      },
    });
    assert.deepEqual(reasons, []);
    assert.equal(answers.length, shapes.length);
    for (const answer of answers as { changed: boolean; reason: string }[])
      assert.match(`${answer.changed} ${answer.reason}`, /^false .*(no list of replacements|names no entry)/);
  });

  it("for a completion is refused in one sentence", async () => {
    const refused: string[] = [];
    await reasonsOf({
      async afterTurn({
        runtimeContext,
      }: {
        runtimeContext: { llm: { complete: (shape: unknown) => Promise<unknown> } };
      }) {
        for (const shape of [undefined, {}, { messages: "x" }, { messages: [{ role: "user", content: [] }] }])
          await runtimeContext.llm.complete(shape).catch((error: unknown) => refused.push(String(error)));
      },
    });
    assert.equal(refused.length, 4);
    for (const words of refused) assert.match(words, /no list of messages with texts/);
  });
});
