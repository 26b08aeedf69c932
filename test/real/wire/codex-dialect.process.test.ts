/** The Responses dialect's output, sent to the real Codex. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssistantMessage, Usage } from "../../../packages/contract/src/message.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { ModelPart } from "../../../packages/core/src/model/provider-types.ts";
import { CodexWire, type Asked, type CodexSettings, type Reply } from "./codex-wire-bench.ts";

const SMALL: Usage = { input: 100, output: 10, totalTokens: 110 };
const FULL: Usage = { input: 9_000, output: 10, totalTokens: 9_010 };
const SMALL_WINDOW = { top: ["model_auto_compact_token_limit = 5000"] };

function read({ path, headers, body }: Asked): WireRequest {
  return responsesDialect.read(path.replace(/^\/v1/, ""), headers, body);
}

/** A whole answer of a model, in pieces. */
function replyOf(request: WireRequest, message: Pick<AssistantMessage, "content">, usage: Usage): Reply {
  const writer = responsesDialect.writer(request);
  const deltas = message.content.flatMap((part): ModelPart[] => {
    if (part.type === "toolCall") return [];
    const text = part.type === "text" ? part.text : part.thinking;
    const half = Math.ceil(text.length / 2);
    const type = part.type === "text" ? "text" : "thinking";
    return [text.slice(0, half), text.slice(half)].map((delta) => ({ type, delta }));
  });
  const stopReason = message.content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
  const finish: ModelPart = { type: "finish", message: { role: "assistant", ...message, usage, stopReason } };
  return { ...writer.head, body: [...deltas, finish].map((part) => writer.write(part)) };
}

function texts(text: string): Pick<AssistantMessage, "content"> {
  return { content: [{ type: "text", text }] };
}

function summary(request: WireRequest, text: string): Reply {
  const { body, ...head } = responsesDialect.answer(request, text, SMALL);
  return { ...head, body: [body] };
}

async function withCodex(
  answer: (request: WireRequest, index: number) => Reply,
  settings: CodexSettings,
  use: (codex: CodexWire) => Promise<void>,
): Promise<void> {
  const codex = await CodexWire.start((asked, index) => answer(read(asked), index), settings);
  try {
    await codex.connect();
    await use(codex);
  } finally {
    await codex.end();
  }
}

/** The user's and the assistant's messages. */
function words({ items }: WireRequest): string[] {
  return items.flatMap(({ messages }) =>
    messages.map(({ role, content }) => {
      const parts = typeof content === "string" ? [] : content;
      return `${role}: ${parts.map((part) => (part.type === "text" ? part.text : part.type)).join(" ")}`;
    }),
  );
}

describe("Codex and the Responses dialect", { timeout: 240_000 }, () => {
  it("takes an answer of text, thinking and parallel calls, and sends it back verbatim", async () => {
    const call = (id: string, cmd: string) =>
      ({ type: "toolCall", id, name: "exec_command", arguments: { cmd } }) as const;
    const content: AssistantMessage["content"] = [
      { type: "thinking", thinking: "Two looks: é😀." },
      { type: "text", text: "I look twice." },
      call("call_a", "echo first"),
      call("call_b", "echo second"),
    ];
    const answer = (request: WireRequest, index: number) =>
      replyOf(request, index === 0 ? { content } : texts("Seen."), SMALL);
    await withCodex(answer, {}, async (codex) => {
      const turn = await codex.turn(await codex.thread(), "Look.");
      assert.equal(turn["status"], "completed", JSON.stringify(turn));
      assert.equal(codex.asked.length, 2);
      const [, second] = codex.asked.map(read);
      assert.ok(second);
      const [input, ...back] = second.items.slice(second.liveFrom).flatMap(({ messages }) => messages);
      assert.deepEqual(input, { role: "user", content: [{ type: "text", text: "Look." }] });
      const ours = back.flatMap((message) => (message.role === "assistant" ? message.content : []));
      assert.deepEqual(ours, content);
      const results = back.filter(({ role }) => role === "toolResult");
      assert.deepEqual(
        results.map((message) => (message.role === "toolResult" ? message.toolCallId : "")),
        ["call_a", "call_b"],
      );
      assert.match(JSON.stringify(results[0]), /first/);
      assert.match(JSON.stringify(results[1]), /second/);
    });
  });

  for (const [way, provider] of [
    ["in words", "mock"],
    ["by a trigger", "OpenAI"],
  ] as const)
    it(`continues from a compaction ${way} that no model was called for`, async () => {
      const kinds: string[] = [];
      const answer = (request: WireRequest, index: number) => {
        kinds.push(request.kind);
        if (request.kind === "compaction") return summary(request, `SUMMARY of ${words(request).join(", ")}`);
        return replyOf(request, texts(`Reply ${index}.`), index === 0 ? FULL : SMALL);
      };
      await withCodex(answer, { ...SMALL_WINDOW, provider }, async (codex) => {
        const thread = await codex.thread();
        for (const text of ["First.", "Second."])
          assert.equal((await codex.turn(thread, text))["status"], "completed");
        assert.equal((await codex.compact(thread))["status"], "completed");
        assert.equal((await codex.turn(thread, "Third."))["status"], "completed");
        const before = kinds.indexOf("compaction");
        assert.deepEqual(kinds.slice(0, before + 2), ["main", "compaction", "main"]);
        assert.equal(kinds.at(-1), "main");
        const [, compaction, second] = codex.asked.map(read);
        assert.deepEqual(compaction?.compaction, { trigger: "auto" });
        const last = codex.asked.map(read).at(-1);
        assert.ok(compaction && second && last);
        assert.deepEqual(words(compaction), ["user: First.", "assistant: Reply 0."]);
        assert.notEqual(compaction.native.window, second.native.window);
        for (const request of [second, last]) {
          const left = request.items.filter(({ isPassing }) => isPassing);
          assert.equal(left.length, 1);
          const own = request.body.toString("utf8", left[0]?.start, left[0]?.end);
          const inWords = left[0]?.replacement?.toString() ?? own;
          assert.match(inWords, /^\{"type":"message".*SUMMARY of user: First\./);
          assert.equal(provider === "OpenAI", left[0]?.replacement !== undefined);
        }
        assert.deepEqual(words(second).at(-1), "user: Second.");
        assert.deepEqual(words(last).at(-1), "user: Third.");
        assert.equal(last.liveFrom, last.items.length - 1);
      });
    });

  it("reports a fault of the gateway in its own words", async () => {
    const answer = (_: WireRequest, index: number) => {
      const fault = index === 0 ? "context_overflow" : "overloaded";
      const { body, ...head } = responsesDialect.fault(fault, `The gateway says ${fault}.`);
      return { ...head, body: [body] };
    };
    await withCodex(answer, {}, async (codex) => {
      const failures: unknown[] = [];
      for (const text of ["One.", "Two."]) {
        const { status, error } = await codex.turn(await codex.thread(), text);
        assert.equal(status, "failed");
        failures.push((error as Record<string, unknown>)["codexErrorInfo"]);
      }
      assert.deepEqual(failures, ["contextWindowExceeded", "serverOverloaded"]);
    });
  });

  it("is notified of a failure in the middle of an answer", async () => {
    const answer = (request: WireRequest) => {
      const writer = responsesDialect.writer(request);
      const body = [writer.write({ type: "text", delta: "half" }), writer.fail("prompt is too long")];
      return { ...writer.head, body };
    };
    await withCodex(answer, {}, async (codex) => {
      const { status, error } = await codex.turn(await codex.thread(), "One.");
      assert.equal(status, "failed");
      assert.equal((error as Record<string, unknown>)["codexErrorInfo"], "contextWindowExceeded");
    });
  });
});
