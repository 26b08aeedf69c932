/** A compaction that moves the session while a turn has already compacted, or has volatile messages. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { join } from "node:path";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type {
  CompactParams,
  CompactResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { contextOverflowReply, type ReplyScript } from "../../servers/server.ts";
import { Bench, eventsOf } from "../in-process.ts";
import type { WireBody } from "../wire-bodies.ts";
import { ROTATED_SUMMARY, rotator } from "./rotating.ts";
import { filler } from "./setting.ts";

const OVERFLOW = contextOverflowReply("openai-completions");
const SUMMARIZER = "You write the summary";
const SUMMARY = "## Goal\ng\n## State\ns\n## Decisions and constraints\nd\n## Open asks\no";

function engineOf(compact: (params: CompactParams) => Promise<CompactResult>, owns = false): ContextEngine {
  return {
    info: { id: "moving", name: "Moving", ownsCompaction: owns },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
    compact,
  };
}

function tool(name: string, text: string): (api: PluginApi) => void {
  return (api) =>
    api.registerTool({
      name,
      description: "Looks something up.",
      parameters: { type: "object", properties: {} },
      execute: async () => ({ content: [{ type: "text", text }], isError: false }),
    });
}

describe("a rotation inside a turn", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  /** Bodies of the turns' own requests. */
  const bodies = (): WireBody[] =>
    bench.server.requests
      .map((_request, index) => bench.body(index))
      .filter(({ system }) => !system.includes(SUMMARIZER));

  const texts = (body: WireBody | undefined): string[] => body?.messages.map(({ text }) => text) ?? [];

  it("moves the input and every round, also after another compaction of the turn", async () => {
    let step = 0;
    const script: ReplyScript = (request) => {
      if (JSON.stringify(request.body).includes(SUMMARIZER)) return { text: SUMMARY };
      step += 1;
      if (step <= 2) return { text: "ok" };
      if (step <= 9) return { toolCalls: [{ id: `c${step}`, name: "big", arguments: {} }] };
      return step === 10 ? OVERFLOW : { text: "done" };
    };
    bench = await Bench.with(script);
    const pagurus = await bench.host({
      engine: engineOf(rotator(join(bench.root, "made"))),
      model: { contextWindow: 32_000 },
      plugin: tool("big", filler(3_000, "tool")),
    });
    await bench.ask(pagurus, "first question");
    await bench.ask(pagurus, "second question");
    const events = await bench.ask(pagurus, "THE LIVE INPUT: do it");
    const lanes = events.flatMap((event) => (event.type === "compaction.completed" ? [event.lane] : []));
    assert.deepEqual(lanes, ["in-attempt", "queued"]);
    const retry = texts(bodies().at(-1));
    assert.ok(
      retry.some((text) => text.includes("THE LIVE INPUT")),
      "the input is in the retry",
    );
    assert.ok(retry.some((text) => text.includes(ROTATED_SUMMARY)));
    const reader = pagurus.sessions().openReader("main");
    const contents: string[] = [];
    for await (const entry of reader.cursor.forward())
      if (entry.type === "message") contents.push(JSON.stringify(entry.message.content));
    reader.close();
    assert.equal(contents.filter((text) => text.includes("THE LIVE INPUT")).length, 1);
  });

  it("leaves nothing of the former generation when the input is then taken back", async () => {
    let step = 0;
    bench = await Bench.with(() => {
      step += 1;
      if (step === 4) return OVERFLOW;
      return step === 5 ? { status: 400 } : { text: `answer ${step}` };
    });
    const rotate = rotator(join(bench.root, "made"));
    let asked = 0;
    const compact = async (params: CompactParams): Promise<CompactResult> => {
      asked += 1;
      if (asked > 1) return rotate(params);
      const users: string[] = [];
      for await (const entry of params.runtimeContext?.transcript.forward() ?? [])
        if (entry.type === "message" && entry.message.role === "user") users.push(entry.id);
      const firstKeptEntryId = users.at(-2) ?? "";
      return {
        ok: true,
        compacted: true,
        result: { summary: "FORMER", firstKeptEntryId, tokensBefore: 30_000 },
      };
    };
    const pagurus = await bench.host({ engine: engineOf(compact, true), model: { contextWindow: 32_000 } });
    await bench.ask(pagurus, filler(9_000, "one"));
    await bench.ask(pagurus, filler(4_000, "two"));
    await bench.ask(pagurus, "three");
    const events = await eventsOf(pagurus.run({ prompt: filler(12_000, "big"), cwd: bench.root }));
    assert.equal(events.at(-1)?.type, "turn.failed");
    const triggers = events.flatMap((event) =>
      event.type === "compaction.completed" ? [event.trigger] : [],
    );
    assert.deepEqual(triggers, ["threshold", "overflow"]);
    await bench.ask(pagurus, "after");
    const next = texts(bodies().at(-1));
    assert.ok(
      next.some((text) => text.includes(ROTATED_SUMMARY)),
      "the successor's summary stands",
    );
    assert.ok(
      next.some((text) => text.includes("three")),
      "and the turn that it kept",
    );
    assert.ok(next.every((text) => !text.includes("FORMER")));
    assert.ok(next.every((text) => !text.includes("big")));
  });

  it("keeps a subagent's result at its place", async () => {
    let step = 0;
    bench = await Bench.with((request) => {
      const text = JSON.stringify(request.body);
      if (text.includes("CHILD TASK") && !text.includes("LIVE INPUT")) return { text: "CHILD ANSWER" };
      step += 1;
      if (step <= 2) return { text: "ok" };
      if (step === 3) return { toolCalls: [{ id: "t1", name: "look", arguments: {} }] };
      if (step === 4)
        return { toolCalls: [{ id: "s1", name: "spawn_agent", arguments: { task: "CHILD TASK" } }] };
      if (step === 5) return { text: "waiting" };
      if (step === 6) return { toolCalls: [{ id: "t2", name: "look", arguments: {} }] };
      return step === 7 ? OVERFLOW : { text: "done" };
    });
    const pagurus = await bench.host({
      engine: engineOf(rotator(join(bench.root, "made")), true),
      plugin: tool("look", "seen"),
    });
    await bench.ask(pagurus, "first");
    await bench.ask(pagurus, "second");
    await bench.ask(pagurus, "LIVE INPUT");
    const own = bodies().filter((body) => texts(body).some((text) => text.includes("LIVE INPUT")));
    const order = (body: WireBody | undefined): number[] => {
      const all = body?.messages.map((message) => JSON.stringify(message)) ?? [];
      return ["s1", "waiting", "CHILD ANSWER", "t2"].map((word) =>
        all.findIndex((text) => text.includes(word)),
      );
    };
    for (const body of own.slice(-2)) {
      const places = order(body);
      assert.ok(!places.includes(-1), JSON.stringify(places));
      assert.deepEqual(
        places,
        places.toSorted((left, right) => left - right),
      );
    }
  });
});
