import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import {
  contextOverflowReply,
  startServer,
  type ModelServer,
  type Protocol,
  type ReplyScript,
} from "../servers/server.ts";
import { makeSetting, modelConfig, run, start, type ModelOptions, type Setting } from "./setting.ts";
import { outline, readBody, type WireBody } from "./wire-bodies.ts";
import { firstOf, longTest } from "../runner/long-tests.ts";

const PROTOCOLS: Protocol[] = ["openai-responses", "openai-completions", "anthropic-messages", "google"];
const LONG = "The harbour wall was built in 1871 and rebuilt twice since. ".repeat(120);

for (const protocol of firstOf(PROTOCOLS)) {
  describe(`a turn as a process over ${protocol}`, () => {
    let server: ModelServer | undefined;
    let setting: Setting | undefined;

    async function prepare(
      script: ReplyScript,
      model?: ModelOptions,
      more?: Record<string, unknown>,
    ): Promise<{ server: ModelServer; setting: Setting; body: (index: number) => WireBody }> {
      const made = await startServer({ protocol, script });
      server = made;
      setting = makeSetting(modelConfig(protocol, made.url, model, more));
      return {
        server: made,
        setting,
        body: (index) => {
          const request = made.requests[index];
          assert.ok(request, `request ${index} reached the endpoint`);
          return readBody(protocol, request);
        },
      };
    }

    afterEach(async () => {
      await server?.close();
      setting?.remove();
    });

    it("runs several steps with tools and sends every result to the model", async () => {
      const { setting, body } = await prepare([
        {
          toolCalls: [
            { id: "call_write", name: "write", arguments: { path: "note.txt", content: "tide at noon\n" } },
          ],
        },
        {
          text: "Reading it back.",
          toolCalls: [{ id: "call_read", name: "read", arguments: { path: "note.txt" } }],
        },
        { text: "The note says: tide at noon." },
      ]);
      const { code, last, stderr } = await run(setting, "Write a note and read it back.");
      assert.equal(code, 0, stderr);
      assert.equal(last?.type, "turn.completed");
      assert.equal(readFileSync(join(setting.workspace, "note.txt"), "utf8"), "tide at noon\n");

      assert.deepEqual(outline(body(0)), ["user:Write a note and read it back."]);
      assert.deepEqual(outline(body(1)), ["user:Write a note and read it back.", "call:write", "result"]);
      const third = body(2);
      assert.deepEqual(outline(third), [
        "user:Write a note and read it back.",
        "call:write",
        "result",
        "assistant:Reading it back.",
        "call:read",
        "result",
      ]);
      const read = third.messages.flatMap((message) => message.results).at(-1);
      assert.match(read?.text ?? "", /tide at noon/);
      assert.ok(third.tools.includes("shell") && third.tools.includes("edit"));
      assert.equal(body(0).system, third.system, "the system part is the same in every request");
    });

    it("runs the commands of one answer one after the other and answers each call once, in the order of the calls", async () => {
      const { setting, body } = await prepare([
        {
          toolCalls: [
            { id: "call_a", name: "shell", arguments: { command: "sleep 0.3; echo first" } },
            { id: "call_b", name: "shell", arguments: { command: "echo second" } },
            { id: "call_c", name: "glob", arguments: { pattern: "*.txt" } },
          ],
        },
        { text: "Both ran." },
      ]);
      const { code, events } = await run(setting, "Run both.");
      assert.equal(code, 0);
      const results = body(1).messages.flatMap((message) => message.results);
      assert.equal(results.length, 3);
      assert.match(results[0]?.text ?? "", /first/);
      assert.match(results[1]?.text ?? "", /second/);
      const order = events.flatMap((event) => (event.type === "tool.completed" ? [event.toolCallId] : []));
      assert.deepEqual(order, ["call_a", "call_b", "call_c"]);
    });

    it("closes the socket when the turn is aborted mid-stream, and keeps what had arrived", async () => {
      const { server, setting, body } = await prepare((_request, index) =>
        index === 0 ? { text: `It begins here. ${LONG}`, hangAfterChunks: 12 } : { text: "Going on." },
      );
      const running = start(setting, ["run", "--json", "Tell me at length."]);
      await running.seen("text.delta");
      running.child.kill("SIGINT");
      const close = await server.clientClosed();
      assert.equal(close.request, 0);
      const { code, last } = await running.finished;
      assert.equal(code, 130);
      assert.ok(last?.type === "turn.completed" && last.stopReason === "aborted");

      const next = await run(setting, "Go on.");
      assert.equal(next.code, 0, next.stderr);
      const lines = outline(body(1));
      assert.equal(lines[0], "user:Tell me at length.");
      assert.match(lines[1] ?? "", /^assistant:It begins/);
      assert.equal(lines.at(-1), "user:Go on.");
    });

    it("retries after a 429 and after a cut stream, with the same request", async () => {
      const { server, setting } = await prepare([
        { status: 429, headers: { "retry-after": "0" } },
        { text: LONG, cutAfterChunks: 6 },
        { text: "Here it is, whole." },
      ]);
      const { code, events, stderr } = await run(setting, "Answer me.");
      assert.equal(code, 0, stderr);
      assert.equal(server.requests.length, 3);
      assert.equal(server.requests[0]?.text, server.requests[2]?.text);
      assert.equal(events.filter((event) => event.type === "model.retry").length, 2);
      const answers = events.flatMap((event) =>
        event.type === "message" && event.message.role === "assistant" ? [event.message.content] : [],
      );
      assert.deepEqual(answers, [[{ type: "text", text: "Here it is, whole." }]]);
    });

    longTest("never runs a tool twice when the stream after it is cut", async () => {
      const { server, setting, body } = await prepare([
        { toolCalls: [{ id: "call_once", name: "shell", arguments: { command: "echo x >> ran.txt" } }] },
        { text: LONG, cutAfterChunks: 4 },
        { text: "Done." },
      ]);
      const { code } = await run(setting, "Append once.");
      assert.equal(code, 0);
      assert.equal(server.requests.length, 3);
      assert.equal(readFileSync(join(setting.workspace, "ran.txt"), "utf8"), "x\n");
      assert.equal(body(2).messages.flatMap((message) => message.results).length, 1);
    });

    it("compacts on a context overflow and answers the same prompt, with the recorded tool results", async () => {
      let overflowed = false;
      const { server, setting, body } = await prepare(
        (request) => {
          const wire = readBody(protocol, request);
          const prompt = wire.messages.findLast((message) => message.role === "user")?.text ?? "";
          if (wire.tools.length === 0)
            return {
              text: "Goal: learn about the harbour wall, built in 1871.\nDone: four long questions answered.",
            };
          if (!prompt.endsWith("And the last one?")) return { text: `Answer. ${LONG}` };
          if (!wire.messages.some((message) => message.calls.length > 0)) {
            return {
              toolCalls: [{ id: "call_side", name: "shell", arguments: { command: "echo y >> side.txt" } }],
            };
          }
          if (!overflowed) {
            overflowed = true;
            return contextOverflowReply(protocol);
          }
          return { text: "It still stands." };
        },
        { contextWindow: 60_000 },
        { agents: { defaults: { compaction: { keepRecentTokens: 3_000 } } } },
      );
      for (const prompt of ["One?", "Two?", "Three?", "Four?"])
        assert.equal((await run(setting, prompt)).code, 0);

      const { code, events, stderr } = await run(setting, "And the last one?");
      assert.equal(code, 0, stderr);
      assert.ok(
        events.some((event) => event.type === "compaction.completed" && event.trigger === "overflow"),
      );
      assert.equal(readFileSync(join(setting.workspace, "side.txt"), "utf8"), "y\n");
      const last = body(server.requests.length - 1);
      const lines = outline(last);
      assert.match(lines[0] ?? "", /^user:<conversation_summary>/);
      assert.deepEqual(lines.slice(-3), ["user:And the last one?", "call:shell", "result"]);
      assert.equal(lines.filter((line) => line.includes("And the last one?")).length, 1);
      assert.ok(!lines.some((line) => line === "user:One?"), "what was summarized is not sent again");
    });

    it("ends with a clear error when the context overflows a second time", async () => {
      const { setting } = await prepare(
        (request) => {
          const wire = readBody(protocol, request);
          if (wire.tools.length === 0) return { text: "Goal: none. Done: one answer." };
          const prompt = wire.messages.findLast((message) => message.role === "user")?.text;
          return prompt?.endsWith("Too much") ? contextOverflowReply(protocol) : { text: LONG };
        },
        { contextWindow: 60_000 },
        { agents: { defaults: { compaction: { keepRecentTokens: 1_000 } } } },
      );
      for (const prompt of ["One?", "Two?", "Three?"]) assert.equal((await run(setting, prompt)).code, 0);
      const { code, last } = await run(setting, "Too much");
      assert.equal(code, 1);
      assert.ok(last?.type === "turn.failed" && last.error.code === "context_overflow", JSON.stringify(last));
      assert.equal((await run(setting, "Fine again?")).code, 0, "the session goes on");
    });

    it("refuses a wrong key with one sentence and never prints the key", async () => {
      const { setting } = await prepare([{ status: 401 }]);
      const { code, last, stdout, stderr } = await run(setting, "Hello");
      assert.equal(code, 1);
      assert.ok(last?.type === "turn.failed" && last.error.code === "model_auth");
      assert.ok(!`${stdout}${stderr}`.includes("test-key-0123456789"));
      const log = join(setting.home, "logs", "pagurus.log");
      if (existsSync(log)) assert.ok(!readFileSync(log, "utf8").includes("test-key-0123456789"));
    });

    it("sends an image of the prompt as an image", async () => {
      const { server, setting } = await prepare([{ text: "A dot." }], { input: ["text", "image"] });
      const dot =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
      writeFileSync(join(setting.workspace, "dot.png"), Buffer.from(dot, "base64"));
      const { code, stderr } = await run(setting, "What is this?", "--image", "dot.png");
      assert.equal(code, 0, stderr);
      assert.ok(server.requests[0]?.text.includes(dot.slice(0, 60)));
    });
  });
}
