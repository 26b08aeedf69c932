import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { Memory, MemoryHit } from "../../../packages/contract/src/engine/memory.ts";
import {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
} from "../../../packages/host/src/plugin-sdk/index.ts";
import {
  calls,
  Calls,
  engineOf,
  MembersBench,
  ofType,
  requestText,
  type HostSetup,
} from "./members-bench.ts";

const LINES = ["Notes of the harbour are kept.", "Ask memory_search for them."];
const HITS: MemoryHit[] = [
  { path: "log/late.md", line: 1, text: "The lamp was lit late.", score: 0.25 },
  { path: "log/fog.md", line: 12, text: "Fog came in at nine.", score: 0.75 },
];

interface Asked {
  searches: { query: string; limit: number; signal: AbortSignal }[];
  sections: { availableTools: Set<string>; citationsMode?: string | undefined }[];
  workspaces: string[];
  disposed: number;
}

describe("the memory of plugins.slots.memory", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  async function withMemory(
    setup: HostSetup = {},
    script?: Parameters<typeof MembersBench.open>[0],
    more: Partial<Memory> = {},
  ) {
    bench = await MembersBench.open(script);
    const asked: Asked = { searches: [], sections: [], workspaces: [], disposed: 0 };
    const memory: Memory = {
      id: "harbour-7",
      search: async (query, options) => {
        asked.searches.push({ query, ...options });
        return HITS;
      },
      promptSection: async (params) => {
        asked.sections.push(params);
        return LINES;
      },
      dispose: async () => void asked.disposed++,
      ...more,
    };
    const pagurus = await bench.start({
      memory: "harbour",
      plugin: (api) =>
        api.registerMemory("harbour", ({ workspaceDir }) => {
          asked.workspaces.push(workspaceDir);
          return memory;
        }),
      ...setup,
    });
    return { asked, pagurus };
  }

  it("is called once a turn for its section, which legacy puts after the host's instructions", async () => {
    const { asked, pagurus } = await withMemory({}, [calls("glob", { pattern: "*" }), { text: "Done." }]);
    await bench.ask(pagurus, "One");
    assert.equal(asked.sections.length, 1);
    const tools = asked.sections[0]?.availableTools;
    assert.ok(tools?.has("memory_search") && tools.has("read"));
    assert.deepEqual(asked.workspaces, [bench.root]);
    for (const index of [0, 1])
      assert.ok(bench.body(index).system.endsWith(LINES.join("\n")), "the same each call");
    const [receipt] = await pagurus.context.receipts({});
    assert.equal(receipt?.parts.filter(({ source }) => source === "memory").length, 1);
  });

  for (const citations of ["on", "off", "auto", undefined] as const) {
    it(`receives the citations mode of the configuration (${citations ?? "none"})`, async () => {
      const calls = new Calls();
      const engine = engineOf(calls);
      const { asked, pagurus } = await withMemory({ engine, ...(citations ? { citations } : {}) });
      await bench.ask(pagurus, "One");
      assert.equal(asked.sections[0]?.citationsMode, citations ?? "auto");
      assert.equal(calls.last("assemble").citationsMode, citations ?? "auto");
    });
  }

  it("is left to any other engine, which adds it through the kit or not at all", async () => {
    const without = await withMemory({ engine: engineOf(new Calls()) });
    await bench.ask(without.pagurus, "One");
    assert.ok(!bench.body(0).system.includes(LINES[0] ?? ""));
    assert.ok(bench.body(0).tools.includes("memory_search"), "the tool is the host's");
    await bench.end();
    const sections: string[][] = [];
    const engine = engineOf(new Calls(), {
      assemble: async ({ messages, availableTools, citationsMode }) => {
        sections.push(buildActiveMemoryPromptSection({ availableTools, citationsMode }));
        sections.push(buildActiveMemoryPromptSection({ availableTools: new Set() }));
        const addition = buildMemorySystemPromptAddition({ availableTools, citationsMode });
        return { messages, estimatedTokens: 0, ...(addition ? { systemPromptAddition: addition } : {}) };
      },
    });
    const { pagurus } = await withMemory({ engine });
    await bench.ask(pagurus, "One");
    assert.ok(bench.body(0).system.startsWith(`${LINES.join("\n")}\n\n`));
    assert.equal(bench.body(0).system.split(LINES[0] ?? "").length, 2, "once");
    assert.deepEqual(sections, [LINES, LINES.slice(0, 1)]);
    assert.deepEqual(buildActiveMemoryPromptSection({}), [], "nothing outside a turn");
  });

  it("answers the model's search, best first, with path and line", async () => {
    const { asked, pagurus } = await withMemory({}, [
      calls("memory_search", { query: "fog", limit: 2 }),
      { text: "At nine." },
    ]);
    const events = await bench.ask(pagurus, "When did the fog come?");
    const [search] = asked.searches;
    assert.deepEqual([search?.query, search?.limit], ["fog", 2]);
    assert.ok(search?.signal instanceof AbortSignal && !search.signal.aborted);
    const [result] = bench.body(1).messages.flatMap((message) => message.results);
    assert.equal(
      result?.text,
      "log/fog.md:12\nFog came in at nine.\n\nlog/late.md:1\nThe lamp was lit late.",
    );
    assert.equal(ofType(events, "tool.completed")[0]?.outcome.isError, false);
  });

  it("that has nothing to remember gives the turn no section and no tool", async () => {
    const { pagurus } = await withMemory({}, undefined, { promptSection: async () => [] });
    await bench.ask(pagurus, "One");
    assert.ok(!bench.body(0).tools.includes("memory_search"));
    assert.ok(!bench.body(0).system.includes("harbour"));
  });

  it("that fails costs the turn its memory only", async () => {
    const { pagurus } = await withMemory({}, undefined, {
      promptSection: async () => {
        throw new Error("the index is gone");
      },
    });
    const [degraded] = ofType(await bench.ask(pagurus, "One"), "context.degraded");
    assert.equal(degraded?.stage, "memory");
    assert.match(degraded?.reason ?? "", /the index is gone/);
    const { memory } = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(memory, { selected: "harbour", effective: "unavailable" });
  });

  it("is a degradation when it is not registered, and the turn runs without", async () => {
    bench = await MembersBench.open();
    const pagurus = await bench.start({ memory: "gone" });
    const [degraded] = ofType(await bench.ask(pagurus, "One"), "context.degraded");
    assert.equal(degraded?.stage, "memory");
    assert.match(degraded?.reason ?? "", /The memory "gone" is not registered; install its plugin/);
    assert.ok(!bench.body(0).tools.includes("memory_search"));
    const { memory } = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(memory, { selected: "gone", effective: "unavailable" });
  });

  it("is named in the status by its own name, and ends with the host", async () => {
    const { asked, pagurus } = await withMemory();
    await bench.ask(pagurus, "One");
    const { memory } = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(memory, { selected: "harbour", effective: "harbour-7" });
    await pagurus.close();
    assert.equal(asked.disposed, 1);
  });

  it("is off with none", async () => {
    bench = await MembersBench.open();
    writeFileSync(join(bench.root, "MEMORY.md"), "The keeper is Ada.\n");
    const pagurus = await bench.start({ memory: "none" });
    await bench.ask(pagurus, "One");
    assert.ok(!bench.body(0).system.includes("Ada") && !bench.body(0).tools.includes("memory_search"));
    assert.deepEqual((await pagurus.status({ cwd: bench.root })).memory, {
      selected: "none",
      effective: "none",
    });
  });

  it("is by default the workspace's MEMORY.md and memory files", async () => {
    bench = await MembersBench.open([calls("memory_search", { query: "lamp oil" }), { text: "Enough." }]);
    mkdirSync(join(bench.root, "memory"));
    writeFileSync(join(bench.root, "MEMORY.md"), "The keeper is Ada.\n");
    writeFileSync(join(bench.root, "memory/store.md"), "# Store\n\nThere are nine cans of lamp oil.\n");
    const pagurus = await bench.start({ citations: "on" });
    await bench.ask(pagurus, "How much oil?");
    assert.match(bench.body(0).system, /<memory path="MEMORY\.md">\nThe keeper is Ada\.\n<\/memory>$/);
    assert.match(bench.body(0).system, /Name the source of what you take from these notes, as path:line\./);
    assert.match(
      requestText(bench.body(1)),
      /memory\/store\.md:1\n# Store\nThere are nine cans of lamp oil\./,
    );
    assert.deepEqual((await pagurus.status({ cwd: bench.root })).memory, {
      selected: "files",
      effective: "files",
    });
  });
});
