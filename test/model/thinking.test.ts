import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage, AssistantMessage } from "../../packages/contract/src/message.ts";
import type { ModelRequest } from "../../packages/core/src/model/provider-types.ts";
import type { Protocol, ReplyStep } from "../servers/server.ts";
import { textOf, withServer } from "./calling.ts";

function conversation(model: string, signature: string): AgentMessage[] {
  const answer: AssistantMessage = {
    role: "assistant",
    provider: "local",
    model,
    content: [
      { type: "thinking", thinking: "EARLIER-THOUGHT", signature },
      { type: "text", text: "Earlier answer." },
    ],
  };
  return [{ role: "user", content: "One" }, answer, { role: "user", content: "Two" }];
}

/** The body of one request to a Claude model. */
async function bodyOf(
  id: string,
  request: Partial<ModelRequest>,
): Promise<{ text: string; thinking: unknown; beta: unknown }> {
  let found = { text: "", thinking: undefined as unknown, beta: undefined as unknown };
  await withServer(
    "anthropic-messages",
    [{ text: "ok" }],
    async ({ server, call }) => {
      await call(request);
      const [sent] = server.requests;
      found = {
        text: sent?.text ?? "",
        thinking: sent?.body["thinking"],
        beta: sent?.headers["anthropic-beta"],
      };
    },
    { model: { id } },
  );
  return found;
}

const DROP = { prefix_mismatch_behavior: "drop_block" };

test("Claude with adaptive thinking is asked to show summaries of it", async () => {
  const { thinking } = await bodyOf("claude-opus-4-7", { thinking: "high" });
  assert.deepEqual(thinking, { type: "adaptive", display: "summarized" });
  assert.equal((await bodyOf("claude-opus-4-7", {})).thinking, undefined);
  assert.deepEqual((await bodyOf("claude-opus-4-7", { thinking: "off" })).thinking, { type: "disabled" });
});

test("Claude with bound thinking: what a compaction has invalidated is dropped by the server", async () => {
  for (const thinking of [undefined, "medium"] as const) {
    const id = "claude-sonnet-5-5";
    const sent = await bodyOf(id, { messages: conversation(id, "S"), ...(thinking ? { thinking } : {}) });
    assert.deepEqual(sent.thinking, { type: "adaptive", display: "summarized", block_binding: DROP });
    assert.match(String(sent.beta), /thinking-binding-controls/);
    assert.match(sent.text, /EARLIER-THOUGHT/);
  }
});

test("Claude with bound thinking: with thinking off, it is not sent at all", async () => {
  const id = "claude-sonnet-5-5";
  const sent = await bodyOf(id, { messages: conversation(id, "S"), thinking: "off" });
  assert.deepEqual(sent.thinking, { type: "between_tools" });
  assert.doesNotMatch(sent.text, /EARLIER-THOUGHT|block_binding/);
  assert.match(sent.text, /Earlier answer/);
});

const REFUSALS: Partial<Record<Protocol, string>> = {
  "anthropic-messages": "messages.1.content.0: Invalid `signature` in `thinking` block",
  "openai-responses": "The encrypted content for item rs_1 could not be verified.",
  google: "Thought signature is not valid.",
};
for (const [protocol, message] of Object.entries(REFUSALS) as [Protocol, string][]) {
  const signature = protocol === "openai-responses" ? JSON.stringify({ id: "rs_1", encrypted: "E" }) : "S";
  const refusal: ReplyStep = {
    status: 400,
    errorBody: { error: { message, type: "invalid_request_error", code: 400 } },
  };

  test(`${protocol}: thinking that the provider can no longer read is left out, and the call is repeated`, async () => {
    await withServer(protocol, [refusal, { text: "Answer." }], async ({ server, call }) => {
      const { parts, message: answer } = await call({
        messages: conversation("m-1", signature),
        thinking: "low",
      });
      assert.equal(textOf(answer), "Answer.");
      assert.equal(parts[0]?.type, "retry");
      assert.match(server.requests[0]?.text ?? "", /EARLIER-THOUGHT/);
      assert.doesNotMatch(server.requests[1]?.text ?? "", /EARLIER-THOUGHT/);
      assert.match(server.requests[1]?.text ?? "", /Earlier answer/);
    });
  });

  test(`${protocol}: the same refusal without any thinking to leave out is an error at once`, async () => {
    await withServer(protocol, [refusal], async ({ server, call }) => {
      await assert.rejects(call({}), { code: "model_bad_request" });
      assert.equal(server.requests.length, 1);
    });
  });
}
