import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Degradation } from "../../packages/contract/src/host/events.ts";
import type { Memory, MemoryFactory, MemoryHit } from "../../packages/contract/src/engine/memory.ts";
import type { ToolOutcome } from "../../packages/contract/src/harness/tool.ts";
import { createFilesMemory } from "../../packages/host/src/memories/files/files-memory.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { Guard } from "../../packages/host/src/turn/guard/guard.ts";
import {
  memoryForTurn,
  MemorySlot,
  selectedMemory,
  type MemoryTurn,
  type MemoryTurnInput,
} from "../../packages/host/src/turn/agent/turn-memory.ts";
import { inWorkspace } from "../memories/workspace.ts";
import { TestClock } from "../runner/test-clock.ts";

function memoryOf(parts: Partial<Memory> = {}): Memory {
  return {
    id: "test",
    search: () => Promise.resolve([{ path: "a.md", line: 3, text: "found", score: 1 }]),
    promptSection: () => Promise.resolve(["notes exist"]),
    ...parts,
  };
}

function slotOf(factory: MemoryFactory | undefined, failure?: string): MemorySlot {
  return new MemorySlot({ id: "test", factory, failure });
}

interface Given extends MemoryTurn {
  degraded: Degradation[];
}

async function give(slot: MemorySlot, input: Partial<MemoryTurnInput> = {}): Promise<Given> {
  const guard = new Guard({ engineId: "e", turnId: "t", logger: silentLogger, report: () => undefined });
  const given = await memoryForTurn({ slot, cwd: "/ws", guard, availableTools: ["read"], ...input });
  return { ...given, degraded: guard.degraded };
}

function call(
  given: MemoryTurn,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<ToolOutcome> {
  assert.ok(given.tool);
  return given.tool.execute(params, {
    sessionKey: "k",
    sessionId: "s",
    cwd: "/ws",
    signal: signal ?? new AbortController().signal,
  });
}

function textOf(outcome: ToolOutcome): string {
  return outcome.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

describe("The memory slot", () => {
  it("is the files memory by default and under the name other configurations have for it", () => {
    const chosen = (memory?: string): string | undefined =>
      selectedMemory({ plugins: { slots: memory === undefined ? {} : { memory } } });
    assert.equal(selectedMemory({}), "files");
    assert.equal(chosen(), "files");
    assert.equal(chosen("memory-core"), "files");
    assert.equal(chosen("mine"), "mine");
    assert.equal(chosen("none"), undefined);
  });

  it("creates one memory per workspace, at its first use", async () => {
    const made: string[] = [];
    const slot = slotOf(({ workspaceDir }) => {
      made.push(workspaceDir);
      return Promise.resolve(memoryOf());
    });
    assert.deepEqual(made, []);
    const [first, again, other] = await Promise.all([slot.get("/a"), slot.get("/a"), slot.get("/b")]);
    assert.deepEqual([first === again, first === other, made], [true, false, ["/a", "/b"]]);
  });

  it("retries after a memory could not be created", async () => {
    let tries = 0;
    const slot = slotOf(() => {
      if (++tries === 1) throw new Error("no disk");
      return memoryOf();
    });
    const { sections, tool, degraded } = await give(slot);
    assert.deepEqual([sections, tool], [[], undefined]);
    assert.deepEqual(
      degraded.map(({ stage, reason }) => [stage, reason]),
      [["memory", "no disk"]],
    );
    assert.deepEqual((await give(slot)).sections, ["notes exist"]);
  });

  it("names a memory that is not registered, and why its plugin failed", async () => {
    const { sections, degraded } = await give(slotOf(undefined, "it broke"));
    assert.deepEqual(sections, []);
    assert.match(degraded[0]?.reason ?? "", /"test" is not registered \(it broke\).*plugins\.slots\.memory/);
  });

  it("refuses values that are no memory", async () => {
    const { degraded } = await give(slotOf(() => ({ id: "x" }) as unknown as Memory));
    assert.match(degraded[0]?.reason ?? "", /lacks search\(\) or promptSection\(\)/);
  });

  it("disposes of every memory, also when one fails", async () => {
    const ended: string[] = [];
    const slot = slotOf(({ workspaceDir }) =>
      memoryOf({
        dispose: () => {
          ended.push(workspaceDir);
          return workspaceDir === "/a" ? Promise.reject(new Error("stuck")) : Promise.resolve();
        },
      }),
    );
    await slot.get("/a");
    await slot.get("/b");
    await assert.rejects(slot.dispose(), /stuck/);
    assert.deepEqual(ended, ["/a", "/b"]);
    await slot.dispose();
    assert.equal(ended.length, 2);
  });
});

describe("The memory of a turn", () => {
  it("is nothing, without a degradation, while the slot is off", async () => {
    const slot = new MemorySlot({ id: undefined, factory: undefined });
    assert.deepEqual(await give(slot), { sections: [], degraded: [] });
  });

  it("is the sections for its tools and citations mode, and the tool", async () => {
    const asked: unknown[] = [];
    const memory = memoryOf({
      promptSection: ({ availableTools, citationsMode }) => {
        asked.push([...availableTools], citationsMode);
        return Promise.resolve(["notes exist"]);
      },
    });
    const given = await give(
      slotOf(() => memory),
      { citations: "on" },
    );
    assert.deepEqual(asked, [["read", "memory_search"], "on"]);
    assert.deepEqual([given.tool?.name, given.tool?.readOnly], ["memory_search", true]);
  });

  it("has no tool when there is nothing to remember, or a plugin has a tool of that name", async () => {
    const empty = await give(slotOf(() => memoryOf({ promptSection: () => Promise.resolve([]) })));
    assert.deepEqual([empty.sections, empty.tool], [[], undefined]);
    const own = await give(
      slotOf(() => memoryOf()),
      { availableTools: ["memory_search"] },
    );
    assert.deepEqual([own.sections, own.tool], [["notes exist"], undefined]);
  });

  it("is a degradation when the memory throws or returns an invalid result", async () => {
    const failing = [
      () => Promise.reject(new Error("torn")),
      () => Promise.resolve("text" as unknown as string[]),
      () => Promise.resolve([1] as unknown as string[]),
    ];
    for (const promptSection of failing) {
      const { sections, tool, degraded } = await give(slotOf(() => memoryOf({ promptSection })));
      assert.deepEqual([sections, tool, degraded.length], [[], undefined, 1]);
    }
  });

  it("waits five seconds for a memory that never answers", async () => {
    const clock = new TestClock();
    const asked = Promise.withResolvers<void>();
    const memory = memoryOf({
      promptSection: () => {
        asked.resolve();
        return new Promise<string[]>(() => undefined);
      },
    });
    const given = give(
      slotOf(() => memory),
      { clock },
    );
    await asked.promise;
    clock.move(5_000);
    assert.match((await given).degraded[0]?.reason ?? "", /took longer than 5 s/);
  });

  it("is no degradation when the turn is aborted meanwhile", async () => {
    const turn = new AbortController();
    const memory = memoryOf({
      promptSection: () => {
        turn.abort();
        return new Promise<string[]>(() => undefined);
      },
    });
    assert.deepEqual(
      (
        await give(
          slotOf(() => memory),
          { signal: turn.signal },
        )
      ).degraded,
      [],
    );
  });
});

describe("memory_search", () => {
  it("shows path, line and text of each hit, and requests as many as the model wants", async () => {
    const asked: unknown[] = [];
    const memory = memoryOf({
      search: (query, { limit }) => {
        asked.push([query, limit]);
        const hits: MemoryHit[] = [
          { path: "a.md", line: 3, text: "found", score: 2 },
          { path: "b.md", line: 1, text: "x".repeat(3_000), score: 1 },
        ];
        return Promise.resolve(hits);
      },
    });
    const given = await give(slotOf(() => memory));
    const outcome = await call(given, { query: " q " });
    assert.equal(outcome.isError, false);
    assert.match(textOf(outcome), /^a\.md:3\nfound\n\nb\.md:1\nx{2000}…$/);
    await call(given, { query: "q", limit: 999 });
    assert.equal(textOf(await call(given, { query: "q", limit: 1 })), "a.md:3\nfound");
    assert.deepEqual(asked, [
      ["q", 6],
      ["q", 20],
      ["q", 1],
    ]);
  });

  it("reports when nothing matches, and when the query is empty", async () => {
    const given = await give(slotOf(() => memoryOf({ search: () => Promise.resolve([]) })));
    assert.match(textOf(await call(given, { query: "q" })), /Nothing in memory matches/);
    assert.equal((await call(given, { query: " " })).isError, true);
  });

  it("reports to the model why the memory failed", async () => {
    const failing = [
      () => Promise.reject(new Error("index gone")),
      () => Promise.resolve(undefined as unknown as MemoryHit[]),
      () => Promise.resolve([{}] as unknown as MemoryHit[]),
    ];
    for (const search of failing) {
      const outcome = await call(await give(slotOf(() => memoryOf({ search }))), { query: "q" });
      assert.equal(outcome.isError, true);
      assert.match(textOf(outcome), /^The memory could not be searched: /);
    }
  });

  it("ends with the call's signal", async () => {
    const controller = new AbortController();
    const memory = memoryOf({
      search: () => {
        controller.abort();
        return new Promise<MemoryHit[]>(() => undefined);
      },
    });
    await assert.rejects(call(await give(slotOf(() => memory)), { query: "q" }, controller.signal));
  });

  it("finds what is in the workspace's notes", async () => {
    await inWorkspace({ "memory/a.md": "The server is Kelp.\n" }, async (folder) => {
      const slot = new MemorySlot({ id: "files", factory: createFilesMemory });
      const given = await give(slot, { cwd: folder });
      assert.equal(textOf(await call(given, { query: "server" })), "memory/a.md:1\nThe server is Kelp.");
    });
  });
});
