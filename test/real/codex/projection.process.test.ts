/** Seam `projection`: the specified text around the prompt, on a thread that sends nothing twice. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { projectContextEngineAssemblyForCodex } from "../../../packages/runtimes/src/codex/codex-projection.ts";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";

/** A PNG of one pixel, Base64. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Part = Record<string, unknown> & { type: string; text?: string };

/** Parts of the user's messages of a request, without Codex's own. */
function userContent({ body }: RecordedRequest): Part[] {
  const items = body["input"] as { type: string; role?: string; content?: Part[] }[];
  const own = /^<(?:environment_context|user_instructions)/;
  return items
    .filter(({ type, role }) => type === "message" && role === "user")
    .flatMap(({ content = [] }) => content)
    .filter(({ text }) => !own.test(text ?? ""));
}

/** An engine that names no epochs and keeps only its input. */
function plainEngine(calls: string[], assembled: AgentMessage[][]): ContextEngine {
  return {
    info: { id: "plain", name: "Plain" },
    bootstrap: async () => {
      calls.push("bootstrap");
      return { bootstrapped: true };
    },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages, prompt, availableTools }) => {
      calls.push(`assemble ${prompt} ${availableTools?.has("shell")} ${availableTools?.has("web_fetch")}`);
      assembled.push([...messages]);
      return { messages, estimatedTokens: 10, systemPromptAddition: `Addition ${assembled.length}.` };
    },
    afterTurn: async ({ messages, prePromptMessageCount }) => {
      calls.push(`afterTurn ${messages.length} ${prePromptMessageCount}`);
    },
    maintain: async () => {
      calls.push("maintain");
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    },
    compact: async () => ({ ok: true, compacted: false }),
  };
}

describe("an engine without epochs on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("has its context sent as text before the prompt, once, with its addition in the developer instructions", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? {
            text: "I look.",
            toolCalls: [{ id: "c1", name: "exec_command", arguments: { cmd: "echo harbour" } }],
          }
        : { text: `Answer ${index}.` },
    );
    const calls: string[] = [];
    const assembled: AgentMessage[][] = [];
    const pagurus = await bench.host({ engine: plainEngine(calls, assembled) });
    const events = await bench.ask(pagurus, "First?");
    assert.ok(
      events.every((event) => event.type !== "context.degraded"),
      JSON.stringify(events),
    );
    await bench.ask(pagurus, "Second?");
    const lines = conversation(bench.request(2));
    const expected = projectContextEngineAssemblyForCodex({
      assembledMessages: assembled[1] ?? [],
      originalHistoryMessages: assembled[1] ?? [],
      prompt: "Second?",
    }).promptText;
    assert.deepEqual(lines, [`user: ${expected}`]);
    assert.equal(expected.split("First?").length, 2, "the past is sent once");
    assert.match(
      expected,
      /^Pagurus assembled context for this turn:\n\n<conversation_context>\n\[user\]\nFirst\?/,
    );
    assert.ok(expected.endsWith("</conversation_context>\n\nCurrent user request:\nSecond?"));
    const instructions = developerTexts(bench.request(2)).filter((text) => text.includes("Addition"));
    assert.equal(instructions.length, 1);
    assert.match(instructions[0] ?? "", /Addition 2\./);
    assert.doesNotMatch(instructions[0] ?? "", /Addition 1\./);
    assert.deepEqual(calls, [
      "assemble First? false true",
      "afterTurn 4 0",
      "maintain",
      "assemble Second? false true",
      "afterTurn 6 4",
      "maintain",
    ]);
  });

  it("shows the images of earlier turns as images, below the numbers that the text has for them", async () => {
    bench = await CodexBench.with(() => ({ text: "Seen." }));
    const hostFor = (input: string[]): Promise<Pagurus> => {
      const engine = plainEngine([], []);
      const config = structuredClone(bench.config({ engine })) as {
        models: { providers: { local: { models: object[] } } };
      };
      config.models.providers.local.models = [{ id: "unknown-model", contextWindow: 200_000, input }];
      return bench.host({ engine, more: { config } });
    };
    const parts = [{ type: "image" as const, data: PIXEL, mimeType: "image/png" }];
    const sees = await hostFor(["text", "image"]);
    await bench.ask(sees, "What is this?", { parts });
    const events = await bench.ask(sees, "And its colour?");
    assert.deepEqual(
      events.filter(({ type }) => type === "context.degraded"),
      [],
    );
    const content = userContent(bench.request(1));
    const at = content.findIndex(({ type }) => type === "input_image");
    assert.ok(at > 0, JSON.stringify(content));
    assert.equal(content[at]?.["image_url"], `data:image/png;base64,${PIXEL}`);
    const texts = content.map(({ text }) => text ?? "");
    assert.ok(texts.slice(0, at).includes("[image 1]"), "its number comes before it");
    assert.match(
      texts.at(-1) ?? "",
      /What is this\?\n\[image 1\][^]*Current user request:\nAnd its colour\?$/,
    );
    await sees.close();

    const blind = await hostFor(["text"]);
    const reported = await bench.ask(blind, "And its size?");
    assert.ok(userContent(bench.request(2)).every(({ type }) => type === "input_text"));
    assert.match(
      JSON.stringify(reported),
      /1 image of earlier messages is only named in the text: local.unknown-model is not known to take images/,
    );
  });

  it("is bootstrapped for a session that exists, and called with all parameters of a turn", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const calls: string[] = [];
    const first = await bench.host({ engine: plainEngine(calls, []) });
    await bench.ask(first, "First?");
    await first.close();
    calls.length = 0;
    const asked: Parameters<ContextEngine["assemble"]>[0][] = [];
    const engine = plainEngine(calls, []);
    const { assemble } = engine;
    const pagurus = await bench.host({
      engine: {
        ...engine,
        assemble: (params) => {
          asked.push(params);
          return assemble(params);
        },
      },
    });
    await bench.ask(pagurus, "Second?");
    assert.equal(calls[0], "bootstrap");
    const [params] = asked;
    assert.equal(params?.prompt, "Second?");
    assert.equal(params.model, "unknown-model");
    assert.equal(params.citationsMode, "auto");
    assert.ok((params.tokenBudget ?? 0) > 100_000);
    assert.deepEqual(
      params.messages.map(({ role }) => role),
      ["user", "assistant"],
    );
    assert.equal(params.runtimeContext?.agentHarnessId, "codex");
  });

  it("without afterTurn gets the turn's messages as a batch, or one by one", async () => {
    for (const kind of ["batch", "single"] as const) {
      bench = await CodexBench.with(() => ({ text: "Answer." }));
      const calls: string[] = [];
      const { afterTurn: _, ...engine } = plainEngine(calls, []);
      const taken: string[] = [];
      const pagurus = await bench.host({
        engine: {
          ...engine,
          ingest: async ({ message }) => {
            taken.push(message.role);
            return { ingested: true };
          },
          ...(kind === "single"
            ? {}
            : {
                ingestBatch: async ({ messages }) => {
                  taken.push(...messages.map(({ role }) => `batch ${role}`));
                  return { ingestedCount: messages.length };
                },
              }),
        },
      });
      await bench.ask(pagurus, "First?");
      const mark = kind === "batch" ? "batch " : "";
      assert.deepEqual(taken, [`${mark}user`, `${mark}assistant`]);
      if (kind === "batch") await bench.end();
    }
  });

  it("is not called to maintain after a turn that failed or was aborted", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? { status: 400 }
        : { text: "A long answer that never ends.", hangAfterChunks: 8, chunkSize: 6 },
    );
    const calls: string[] = [];
    const pagurus = await bench.host({ engine: plainEngine(calls, []) });
    for await (const event of pagurus.run({ prompt: "First?", cwd: bench.cwd }))
      assert.notEqual(event.type, "turn.completed");
    const run = pagurus.run({ prompt: "Second?", cwd: bench.cwd });
    for await (const event of run) if (event.type === "text.delta") run.abort();
    assert.equal(calls.filter((call) => call === "maintain").length, 0);
    assert.ok(
      calls.some((call) => call.startsWith("afterTurn")),
      "the messages are ingested",
    );
  });
});
