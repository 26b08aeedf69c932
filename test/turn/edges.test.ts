import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import type { TurnRun } from "../../packages/contract/src/host/run.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { contextOverflowReply, type ReplyStep } from "../servers/server.ts";
import { Bench, eventsOf, words } from "./in-process.ts";
import { outline } from "./wire-bodies.ts";

const OVERFLOW = contextOverflowReply("openai-completions");
const call = (id: string): ReplyStep => ({ toolCalls: [{ id, name: "glob", arguments: { pattern: "*" } }] });

function engine(
  members: Omit<Partial<ContextEngine>, "info"> & { info?: Partial<ContextEngine["info"]> },
): ContextEngine {
  return {
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 0 }),
    compact: () => Promise.resolve({ ok: true, compacted: false, reason: "nothing" }),
    ...members,
    info: { id: "edge", name: "Edge", ...members.info },
  };
}

describe("at the edges of a turn", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("reads the whole history although its lines are long with images", async () => {
    bench = await Bench.with([{ text: "Reply 0." }, { text: "Reply 1." }, { text: "Reply 2." }]);
    const pagurus = await bench.host({ model: { contextWindow: 100_000, input: ["text", "image"] } });
    await bench.ask(pagurus, "One");
    const data = Buffer.alloc(1_500_000, 7).toString("base64");
    await bench.ask(pagurus, "Look", { parts: [{ type: "image", data, mimeType: "image/png" }] });
    await bench.ask(pagurus, "Three");
    assert.deepEqual(outline(bench.body(2)), [
      "user:One",
      "assistant:Reply 0.",
      "user:Look",
      "assistant:Reply 1.",
      "user:Three",
    ]);
  });

  it("never lets an engine's cut take the user's input away", async () => {
    let calls = 0;
    bench = await Bench.with((_request, index) =>
      index < 2
        ? { text: `Step ${index}.`, ...call(`c${index}`) }
        : index === 2
          ? OVERFLOW
          : { text: "Done." },
    );
    const cut: ContextEngine = engine({
      info: { ownsCompaction: true },
      async compact({ runtimeContext }): Promise<CompactResult> {
        calls += 1;
        const ids: string[] = [];
        for await (const entry of runtimeContext?.transcript.backward() ?? [])
          if (entry.type === "message") ids.push(entry.id);
        return {
          ok: true,
          compacted: true,
          result: { summary: "Goal: go on.", firstKeptEntryId: ids[1] ?? "", tokensBefore: 9 },
        };
      },
    });
    const pagurus = await bench.host({ engine: cut });
    await bench.ask(pagurus, "The question");
    assert.equal(calls, 1);
    const shown = outline(bench.body(3));
    assert.equal(shown.filter((line) => line.includes("The question")).length, 1);
    assert.ok(
      shown.findIndex((line) => line.includes("The question")) <=
        shown.findIndex((line) => line.includes("<conversation_summary>")),
    );
  });

  const unusable = {
    "whose first kept entry is not on the path": { firstKeptEntryId: "0000nosuchentry0" },
    "whose details cannot be written": { details: 1n },
  };
  for (const [what, wrong] of Object.entries(unusable)) {
    it(`refuses a summary ${what}`, async () => {
      bench = await Bench.with([{ text: "Reply." }]);
      const pagurus = await bench.host({
        engine: engine({
          async compact({ runtimeContext }) {
            let firstKeptEntryId = "";
            for await (const entry of runtimeContext?.transcript.forward() ?? [])
              firstKeptEntryId ||= entry.id;
            return {
              ok: true,
              compacted: true,
              result: { summary: "S", firstKeptEntryId, tokensBefore: 1, ...wrong },
            };
          },
        }),
      });
      await bench.ask(pagurus, "One");
      const outcome = await pagurus.compact({ cwd: bench.root });
      assert.equal(outcome.compacted, false);
    });
  }

  it("respects a gate without a reason, for prompts and for steering", async () => {
    let run: TurnRun | undefined;
    bench = await Bench.with((_request, index) => {
      if (index > 0) return { text: "Done." };
      run?.steer("secret steer");
      run?.steer("open steer");
      return call("c1");
    });
    const pagurus = await bench.host({
      plugin: (api) =>
        api.on("user_prompt", ({ prompt }) =>
          prompt.includes("secret") ? { block: true, reason: "" } : undefined,
        ),
    });
    const blocked = (await eventsOf(pagurus.run({ prompt: "secret", cwd: bench.root }))).at(-1);
    assert.ok(blocked?.type === "turn.failed" && blocked.error.code === "prompt_blocked");
    run = pagurus.run({ prompt: "One", cwd: bench.root });
    const events = await eventsOf(run);
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "input_blocked"));
    assert.deepEqual(outline(bench.body(1)).slice(-1), ["user:open steer"]);
    assert.ok(!bench.server.requests[1]?.text.includes("secret steer"));
  });

  for (const way of ["out of steps", "aborted"]) {
    it(`never loses accepted steering when the turn ends ${way}`, async () => {
      let run: TurnRun | undefined;
      let accepted = false;
      bench = await Bench.with((_request, index) => {
        if (index > 0) return { text: "Seen." };
        accepted = run?.steer("And the fog?") ?? false;
        if (way === "aborted") run?.abort();
        return call("c1");
      });
      const pagurus = await bench.host({ defaults: { maxSteps: 1 } });
      run = pagurus.run({ prompt: "One", cwd: bench.root });
      const events = await eventsOf(run);
      assert.equal(accepted, true);
      assert.equal(events.filter((event) => event.type === "steered").length, 1);
      const reader = pagurus.sessions().openReader("main");
      const shown = reader.contextMessages().messages.map(words);
      reader.close();
      assert.equal(shown.filter((text) => text === "And the fog?").length, 1);
    });
  }

  it("keeps the transcript's text when an engine changes the messages it received", async () => {
    bench = await Bench.with((_request, index) => ({ text: `Reply ${index}.` }));
    const pagurus = await bench.host({
      engine: engine({
        assemble({ messages }) {
          for (const message of messages) if (message.role === "user") message.content = "[elided]";
          throw new Error("after the damage");
        },
      }),
    });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    assert.deepEqual(outline(bench.body(1)), ["user:One", "assistant:Reply 0.", "user:Two"]);
  });

  it("recovers from an overflow again when the compaction before it had worked", async () => {
    const overflowAt = new Set([3, 7]);
    bench = await Bench.with((request, index) => {
      if (!request.text.includes('"tools"')) return { text: "Goal: count. Done: some steps." };
      if (overflowAt.has(index)) return OVERFLOW;
      return index < 11
        ? { text: "A step with some words to it. ".repeat(60), ...call(`c${index}`) }
        : { text: "Done." };
    });
    const pagurus = await bench.host({ defaults: { compaction: { keepRecentTokens: 1_000 } } });
    const events = await bench.ask(pagurus, "Count");
    assert.equal(events.filter((event) => event.type === "compaction.completed").length, 2);
  });

  it("offers turns in order: while an earlier one is refused, later ones wait", async () => {
    bench = await Bench.with((_request, index) => ({ text: `Reply ${index}.` }));
    const offered: string[] = [];
    let refuse = true;
    const pagurus = await bench.host({
      engine: engine({
        afterTurn({ messages, prePromptMessageCount }) {
          offered.push(words(messages[prePromptMessageCount] as AgentMessage));
          return refuse ? Promise.reject(new Error("not now")) : Promise.resolve();
        },
      }),
    });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    assert.deepEqual(offered, ["One", "One"]);
    refuse = false;
    await bench.ask(pagurus, "Three");
    assert.deepEqual(offered, ["One", "One", "One", "Two", "Three"]);
  });

  it("sends the input once when an engine appends the prompt itself, images or not", async () => {
    bench = await Bench.with([{ text: "Seen." }]);
    const pagurus = await bench.host({
      model: { input: ["text", "image"] },
      engine: engine({
        assemble: ({ messages, prompt }) =>
          Promise.resolve({
            messages: [...messages, { role: "user", content: prompt ?? "" }],
            estimatedTokens: 0,
          }),
      }),
    });
    await bench.ask(pagurus, "What is it?", {
      parts: [{ type: "image", data: "aGk=", mimeType: "image/png" }],
    });
    assert.equal(outline(bench.body(0)).filter((line) => line.includes("What is it?")).length, 1);
    assert.ok(bench.server.requests[0]?.text.includes("aGk="));
  });

  it("tries a refused compaction once a turn, not before every model call", async () => {
    let calls = 0;
    bench = await Bench.with((_request, index) => (index < 5 ? call(`c${index}`) : { text: "Done." }));
    const pagurus = await bench.host({
      model: { contextWindow: 12_000 },
      engine: engine({
        info: { assembleScope: "call", ownsCompaction: true },
        compact: () => {
          calls += 1;
          return Promise.resolve({ ok: true, compacted: false, reason: "no" });
        },
      }),
    });
    const events = await bench.ask(pagurus, "tide and wall ".repeat(2_500));
    assert.equal(calls, 1);
    assert.equal(events.filter((event) => event.type === "compaction.failed").length, 1);
  });

  it("reports that /compact used an extract because the model failed, and status keeps it", async () => {
    bench = await Bench.with((request, index) =>
      JSON.stringify(request.body).includes("You write the summary")
        ? { status: 400 }
        : { text: `Reply ${index}. ${"tide and wall ".repeat(400)}` },
    );
    const pagurus = await bench.host();
    for (const prompt of ["One", "Two", "Three"]) await bench.ask(pagurus, prompt);
    const { compacted, degraded } = await pagurus.compact({ cwd: bench.root });
    assert.equal(compacted, true);
    assert.match(degraded[0]?.reason ?? "", /the summary is an extract/);
    const status = await pagurus.status({ cwd: bench.root });
    assert.ok(status.degraded.some(({ stage, reason }) => stage === "compact" && /extract/.test(reason)));
  });

  it("trims a tool's result to fit a small window", async () => {
    bench = await Bench.with([
      { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "seq 1 9000" } }] },
      { text: "Done." },
    ]);
    const pagurus = await bench.host({ model: { contextWindow: 8_192, maxTokens: 1_000 } });
    await bench.ask(pagurus, "Count");
    const result = bench.body(1).messages.at(-1)?.results[0]?.text ?? "";
    assert.ok(result.length > 6_000 && result.length <= 8_192, `${result.length} characters`);
  });

  it("offers a heartbeat again as a heartbeat", async () => {
    const offered: (boolean | undefined)[] = [];
    bench = await Bench.with([{ text: "Beat." }, { text: "Reply." }]);
    const pagurus = await bench.host({
      engine: engine({
        afterTurn: ({ isHeartbeat }) => {
          offered.push(isHeartbeat);
          return offered.length === 1 ? Promise.reject(new Error("not now")) : Promise.resolve();
        },
      }),
    });
    await bench.ask(pagurus, "Tick", { heartbeat: true });
    await bench.ask(pagurus, "Hello");
    assert.deepEqual(offered, [true, true, false]);
  });

  it("passes each tool call through all hooks that rewrite it", async () => {
    bench = await Bench.with([
      { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo secret" } }] },
      { text: "Done." },
    ]);
    const pagurus = await bench.host({
      plugin: (api) => {
        api.on("before_tool_call", ({ params }) => ({
          params: { command: String(params["command"]).replace("secret", "hidden") },
        }));
        api.on("before_tool_call", ({ params }) => ({
          params: { command: `${String(params["command"])} twice` },
        }));
      },
    });
    await bench.ask(pagurus, "One");
    assert.match(bench.body(1).messages.at(-1)?.results[0]?.text ?? "", /hidden twice/);
  });

  it("takes an input back that failed before any answer, and keeps its text in the transcript", async () => {
    bench = await Bench.with((_request, index) =>
      index === 1 ? { status: 400 } : { text: `Reply ${index}.` },
    );
    const pagurus = await bench.host();
    await bench.ask(pagurus, "One");
    const events = await eventsOf(pagurus.run({ prompt: "Poison", cwd: bench.root }));
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "input_taken_back"));
    const last = events.at(-1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "model_bad_request");
    await bench.ask(pagurus, "Three");
    assert.deepEqual(outline(bench.body(2)), ["user:One", "assistant:Reply 0.", "user:Three"]);
    const [hit] = pagurus.sessions().search("Poison");
    assert.equal(hit?.onPath, false, "searchable, off the path");
    const status = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(status.interruptedTurns, []);
  });

  it("counts the cost of a summary, in the turn and on its entry", async () => {
    let refused = false;
    bench = await Bench.with((request) => {
      if (!request.text.includes('"tools"'))
        return { text: "Goal: count. Done: some steps.", usage: { input: 5_000, output: 50 } };
      if (refused || !request.text.includes("Last"))
        return { text: "Words of some length. ".repeat(100), usage: { input: 10, output: 1 } };
      refused = true;
      return OVERFLOW;
    });
    const model = { contextWindow: 100_000, cost: { input: 1_000, output: 1_000 } };
    const pagurus = await bench.host({ model, defaults: { compaction: { keepRecentTokens: 500 } } });
    for (const prompt of ["One", "Two", "Three"]) await bench.ask(pagurus, prompt);
    const last = (await bench.ask(pagurus, "Last")).at(-1);
    assert.ok(last?.type === "turn.completed");
    assert.equal(last.usage.input, 5_010);
    assert.ok((last.usage.cost ?? 0) > 5);
    const status = await pagurus.status({ cwd: bench.root });
    assert.ok((status.cost?.session ?? 0) > 5, `status shows ${status.cost?.session}`);
    const receipts = await pagurus.context.receipts({});
    assert.deepEqual(
      receipts.map(({ request, purpose, usage }) => [request, purpose, usage?.input]),
      [
        [0, undefined, undefined],
        [1, "compaction", 5_000],
        [2, undefined, 10],
      ],
    );
  });

  it("reports that images were left out for a model that takes none", async () => {
    bench = await Bench.with([{ text: "Reply." }]);
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "Look", {
      parts: [{ type: "image", data: "aGk=", mimeType: "image/png" }],
    });
    const degraded = events.find((event) => event.type === "context.degraded");
    assert.ok(
      degraded?.type === "context.degraded" && degraded.reason.includes("models.providers.test.models"),
    );
  });

  it("runs nothing while a required plugin is missing", async () => {
    bench = await Bench.with([]);
    const pagurus = await bench.host({
      plugin: () => {
        throw new Error("the guard is broken");
      },
    });
    const last = (await eventsOf(pagurus.run({ prompt: "One", cwd: bench.root }))).at(-1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "plugin_failed");
    assert.match(last.error.message, /hooks failed: the guard is broken/);
    assert.equal(bench.server.requests.length, 0);
    const status = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(
      status.problems.map(({ code }) => code),
      ["plugin_failed"],
    );
  });

  it("prompts once for a permission granted always, in every turn of the process", async () => {
    let asked = 0;
    bench = await Bench.with((_request, index) =>
      index % 2 === 0
        ? { toolCalls: [{ id: `c${index}`, name: "shell", arguments: { command: "echo hi" } }] }
        : { text: "Done." },
    );
    const pagurus = await bench.host({
      defaults: { permission: { mode: "ask" } },
      more: {
        askPermission: () => {
          asked += 1;
          return Promise.resolve("always" as const);
        },
      },
    });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    assert.equal(asked, 1);
  });

  it("detects a served window that stays full while the conversation grows", async () => {
    bench = await Bench.with(() => ({ text: "Reply.", usage: { input: 4_096, output: 2 } }));
    const pagurus = await bench.host({ model: { truncatesSilently: true } });
    const counts: number[] = [];
    for (const prompt of ["tide and wall ".repeat(1_150), "harbour ".repeat(260), "lantern ".repeat(260)]) {
      const events = await bench.ask(pagurus, prompt);
      counts.push(events.filter((event) => event.type === "context.degraded").length);
    }
    assert.deepEqual(counts, [0, 1, 1]);
  });

  it("treats an abort inside a gate as an abort", async () => {
    bench = await Bench.with([]);
    let run: TurnRun | undefined;
    const pagurus = await bench.host({
      plugin: (api) =>
        api.on("user_prompt", () => {
          run?.abort();
          return new Promise(() => undefined);
        }),
    });
    run = pagurus.run({ prompt: "One", cwd: bench.root });
    const last = (await eventsOf(run)).at(-1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "turn_aborted", JSON.stringify(last));
    assert.deepEqual(last.degraded, []);
    assert.equal(pagurus.sessions().find("main"), undefined);
  });
});
