import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage, AssistantMessage, ImagePart } from "../../packages/contract/src/message.ts";
import type { ToolSpec } from "../../packages/contract/src/harness/tool.ts";
import type { Protocol, ReplyStep } from "../servers/server.ts";
import { PROTOCOLS, requestOf, textOf, withServer } from "./calling.ts";
import { streamModel } from "../../packages/core/src/model/model-stream.ts";

const READ: ToolSpec = {
  name: "read",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const IMAGE: ImagePart = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };

const TOOL_STEP: ReplyStep = {
  thinking: { text: "I should read both files first.", signature: "SIGNATURE-1" },
  text: "Reading both files.",
  toolCalls: [
    { id: "call_a", name: "read", arguments: { path: "a.txt" }, signature: "CALL-SIGNATURE" },
    { id: "call_b", name: "read", arguments: { path: "b.txt" } },
  ],
  usage: { input: 900, output: 60, cacheRead: 100, cacheWrite: 0, reasoning: 20 },
};

function results(answer: AssistantMessage): AgentMessage[] {
  return [
    { role: "user", content: [{ type: "text", text: "Compare them." }, IMAGE] },
    answer,
    {
      role: "toolResult",
      toolCallId: "call_a",
      toolName: "read",
      content: [{ type: "text", text: "alpha" }],
      isError: false,
    },
    {
      role: "toolResult",
      toolCallId: "call_b",
      toolName: "read",
      content: [{ type: "text", text: "no such file" }],
      isError: true,
    },
  ];
}

/** Runs the tool turn and returns the bodies of its two requests. */
async function toolTurn(
  protocol: Protocol,
  check: (bodies: Record<string, unknown>[], answer: AssistantMessage) => void,
): Promise<void> {
  await withServer(protocol, [TOOL_STEP, { text: "They differ." }], async ({ server, call }) => {
    const first = results({ role: "assistant", content: [] }).slice(0, 1);
    const { message } = await call({
      messages: first,
      tools: [READ],
      thinking: "medium",
      cacheKey: "session-1",
    });
    const second = await call({
      messages: results(message),
      tools: [READ],
      thinking: "medium",
      cacheKey: "session-1",
    });
    assert.equal(textOf(second.message), "They differ.");
    check(
      server.requests.map((request) => request.body),
      message,
    );
  });
}

for (const protocol of PROTOCOLS) {
  test(`${protocol}: text and thinking stream as deltas, and the message holds the whole answer`, async () => {
    await withServer(protocol, [TOOL_STEP], async ({ call }) => {
      const { parts, message } = await call({ tools: [READ], thinking: "low" });
      const streamed = (type: "text" | "thinking"): string =>
        parts.map((part) => (part.type === type ? part.delta : "")).join("");
      assert.equal(streamed("text"), "Reading both files.");
      assert.equal(streamed("thinking"), "I should read both files first.");
      assert.deepEqual(
        message.content.map((part) => part.type),
        ["thinking", "text", "toolCall", "toolCall"],
      );
      const calls = message.content.filter((part) => part.type === "toolCall");
      assert.deepEqual(
        calls.map(({ id, name, arguments: args }) => [id, name, args]),
        [
          ["call_a", "read", { path: "a.txt" }],
          ["call_b", "read", { path: "b.txt" }],
        ],
      );
      assert.equal(message.stopReason, "toolUse");
      assert.equal(message.provider, "local");
      assert.equal(message.model, "m-1");
      assert.equal(typeof message.timestamp, "number");
    });
  });

  test(`${protocol}: the provider's counts become usage with the catalog's cost`, async () => {
    await withServer(protocol, [TOOL_STEP], async ({ call }) => {
      const { usage } = (await call({ tools: [READ] })).message;
      assert.equal(usage?.input, 900);
      assert.equal(usage?.cacheRead, 100);
      assert.equal(usage?.output, 60);
      assert.equal(usage?.totalTokens, 1_060);
      assert.ok(Math.abs((usage?.cost ?? 0) - (900 * 2 + 100 * 0.2 + 60 * 10) / 1e6) < 1e-12);
    });
  });

  test(`${protocol}: the same request gives the same bytes`, async () => {
    await withServer(protocol, [{ text: "a" }, { text: "b" }], async ({ server, call }) => {
      await call({ tools: [READ], thinking: "high", cacheKey: "s" });
      await call({ tools: [READ], thinking: "high", cacheKey: "s" });
      assert.equal(server.requests[0]?.text, server.requests[1]?.text);
    });
  });

  test(`${protocol}: entry ids, timestamps and other host data never reach the wire`, async () => {
    await withServer(protocol, [{ text: "ok" }], async ({ server, call }) => {
      await call({
        messages: [{ role: "user", content: "Hi", entryId: "entry-secret", timestamp: 1_234_567 }],
      });
      assert.doesNotMatch(server.requests[0]?.text ?? "", /entry-secret|1234567/);
    });
  });
}

// Google sends the arguments of a call in one piece, so they are never cut.
for (const protocol of PROTOCOLS.filter((name) => name !== "google")) {
  test(`${protocol}: an answer at the output limit has the stop reason length, and its half tool call has no arguments to run (finding F12)`, async () => {
    const cut: ReplyStep = { ...TOOL_STEP, rawArguments: '{"path": "b.t', stop: "length" };
    await withServer(protocol, [cut], async ({ call }) => {
      const { message } = await call({ tools: [READ] });
      assert.equal(message.stopReason, "length");
      const calls = message.content.filter((part) => part.type === "toolCall");
      assert.deepEqual(calls.at(-1)?.arguments, { __refused_arguments: "were cut at the output limit" });
    });
  });
}

test("openai-responses: true roles, paired results, an image, the reasoning item, and nothing stored", async () => {
  await toolTurn("openai-responses", ([first, second], answer) => {
    assert.equal(first?.["store"], false);
    assert.equal(first?.["prompt_cache_key"], "session-1");
    assert.deepEqual(first?.["include"], ["reasoning.encrypted_content"]);
    assert.deepEqual(first?.["reasoning"], { effort: "medium", summary: "auto" });
    assert.deepEqual(first?.["tools"], [{ type: "function", ...READ, strict: false }]);
    const thinking = answer.content[0];
    assert.ok(thinking?.type === "thinking");
    assert.deepEqual(JSON.parse(thinking.signature ?? ""), { id: "rs_0_0", encrypted: "SIGNATURE-1" });
    assert.deepEqual(second?.["input"], [
      { role: "developer", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "Compare them." },
          { type: "input_image", image_url: `data:image/png;base64,${IMAGE.data}` },
        ],
      },
      {
        type: "reasoning",
        id: "rs_0_0",
        encrypted_content: "SIGNATURE-1",
        summary: [{ type: "summary_text", text: "I should read both files first." }],
      },
      { role: "assistant", content: "Reading both files." },
      { type: "function_call", call_id: "call_a", name: "read", arguments: '{"path":"a.txt"}' },
      { type: "function_call", call_id: "call_b", name: "read", arguments: '{"path":"b.txt"}' },
      { type: "function_call_output", call_id: "call_a", output: "alpha" },
      { type: "function_call_output", call_id: "call_b", output: "no such file" },
    ]);
  });
});

test("openai-completions: true roles, paired results, an image, and no thinking sent back", async () => {
  await toolTurn("openai-completions", ([first, second]) => {
    assert.deepEqual(first?.["stream_options"], { include_usage: true });
    assert.equal(first?.["max_tokens"], undefined);
    const { name, description, parameters } = READ;
    assert.deepEqual(first?.["tools"], [{ type: "function", function: { name, description, parameters } }]);
    assert.deepEqual(second?.["messages"], [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Compare them." },
          { type: "image_url", image_url: { url: `data:image/png;base64,${IMAGE.data}` } },
        ],
      },
      {
        role: "assistant",
        content: "Reading both files.",
        tool_calls: [
          { id: "call_a", type: "function", function: { name: "read", arguments: '{"path":"a.txt"}' } },
          { id: "call_b", type: "function", function: { name: "read", arguments: '{"path":"b.txt"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_a", content: "alpha" },
      { role: "tool", tool_call_id: "call_b", content: "no such file" },
    ]);
  });
});

test("anthropic-messages: true roles, paired results with is_error, an image, the signed thinking", async () => {
  await toolTurn("anthropic-messages", ([first, second], answer) => {
    assert.equal(first?.["max_tokens"], 8_192 + 1_229);
    assert.deepEqual(first?.["tools"], [
      {
        name: "read",
        description: READ.description,
        input_schema: READ.parameters,
        cache_control: { type: "ephemeral" },
      },
    ]);
    assert.deepEqual(answer.content[0], {
      type: "thinking",
      thinking: "I should read both files first.",
      signature: "SIGNATURE-1",
    });
    assert.deepEqual(second?.["messages"], [
      {
        role: "user",
        content: [
          { type: "text", text: "Compare them." },
          { type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE.data } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I should read both files first.", signature: "SIGNATURE-1" },
          { type: "text", text: "Reading both files." },
          { type: "tool_use", id: "call_a", name: "read", input: { path: "a.txt" } },
          { type: "tool_use", id: "call_b", name: "read", input: { path: "b.txt" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_a", content: "alpha" },
          {
            type: "tool_result",
            tool_use_id: "call_b",
            content: "no such file",
            is_error: true,
            cache_control: { type: "ephemeral" },
          },
        ],
      },
    ]);
  });
});

test("google: true roles, paired results, an image, the thought signatures of thinking and call", async () => {
  await toolTurn("google", ([first, second]) => {
    assert.deepEqual(first?.["systemInstruction"], { parts: [{ text: "Be brief." }] });
    const config = first?.["generationConfig"] as { thinkingConfig: { includeThoughts: boolean } };
    assert.equal(config.thinkingConfig.includeThoughts, true);
    assert.deepEqual(second?.["contents"], [
      {
        role: "user",
        parts: [{ text: "Compare them." }, { inlineData: { mimeType: "image/png", data: IMAGE.data } }],
      },
      {
        role: "model",
        parts: [
          { text: "I should read both files first.", thought: true, thoughtSignature: "SIGNATURE-1" },
          { text: "Reading both files." },
          {
            functionCall: { id: "call_a", name: "read", args: { path: "a.txt" } },
            thoughtSignature: "CALL-SIGNATURE",
          },
          { functionCall: { id: "call_b", name: "read", args: { path: "b.txt" } } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "call_a", name: "read", response: { name: "read", content: "alpha" } } },
          {
            functionResponse: {
              id: "call_b",
              name: "read",
              response: { name: "read", content: "no such file" },
            },
          },
        ],
      },
    ]);
  });
});

test("anthropic-messages: redacted thinking is kept and sent back unchanged", async () => {
  const script: ReplyStep[] = [
    { thinking: { text: "", signature: "ENCRYPTED", redacted: true }, text: "Done." },
    { text: "ok" },
  ];
  await withServer("anthropic-messages", script, async ({ server, call }) => {
    const { message } = await call({ thinking: "low" });
    assert.deepEqual(message.content[0], {
      type: "thinking",
      thinking: "",
      signature: "ENCRYPTED",
      redacted: true,
    });
    await call({ messages: [{ role: "user", content: "Hi" }, message, { role: "user", content: "Go on" }] });
    const messages = server.requests[1]?.body["messages"] as { content: unknown[] }[];
    assert.deepEqual(messages[1]?.content[0], { type: "redacted_thinking", data: "ENCRYPTED" });
  });
});

test("openai-responses: reasoning without a summary is kept encrypted and sent back", async () => {
  const script: ReplyStep[] = [{ thinking: { text: "", signature: "ENC" }, text: "Done." }, { text: "ok" }];
  await withServer("openai-responses", script, async ({ server, call }) => {
    const { message } = await call({ thinking: "low" });
    const [thinking] = message.content;
    assert.ok(thinking?.type === "thinking" && thinking.redacted);
    await call({ messages: [{ role: "user", content: "Hi" }, message, { role: "user", content: "Go on" }] });
    const input = server.requests[1]?.body["input"] as unknown[];
    assert.deepEqual(input[2], { type: "reasoning", id: "rs_0_0", encrypted_content: "ENC", summary: [] });
  });
});

for (const protocol of PROTOCOLS) {
  test(`${protocol}: thinking of another model, or without a signature, is never sent`, async () => {
    const foreign: AssistantMessage = {
      role: "assistant",
      provider: "other",
      model: "m-1",
      content: [
        { type: "thinking", thinking: "FOREIGN", signature: "X" },
        { type: "text", text: "Earlier." },
        {
          type: "toolCall",
          id: "weird/id:0 with spaces",
          name: "read",
          arguments: {},
          signature: "FOREIGN-CALL",
        },
      ],
    };
    const unsigned: AssistantMessage = {
      role: "assistant",
      provider: "local",
      model: "m-1",
      content: [
        { type: "thinking", thinking: "UNSIGNED" },
        { type: "text", text: "Later." },
      ],
    };
    const onlyThinking: AssistantMessage = {
      ...unsigned,
      content: [{ type: "thinking", thinking: "ALONE", signature: "{}" }],
    };
    await withServer(protocol, [{ text: "ok" }], async ({ server, call }) => {
      const toolCallId = "weird/id:0 with spaces";
      await call({
        tools: [READ],
        thinking: "medium",
        messages: [
          { role: "user", content: "Hi" },
          foreign,
          { role: "toolResult", toolCallId, toolName: "read", content: [], isError: false },
          unsigned,
          { role: "user", content: "Next" },
          onlyThinking,
          { role: "user", content: "Last" },
        ],
      });
      const text = server.requests[0]?.text ?? "";
      assert.doesNotMatch(text, /FOREIGN|UNSIGNED|ALONE/);
      assert.doesNotMatch(text, /weird\/id/);
      assert.equal(text.match(/call_[0-9a-f]{24}/g)?.length, 2);
      assert.match(text, /\(no output\)/);
    });
  });
}

test("openai-completions: images of tool results follow the results as a user message", async () => {
  await withServer("openai-completions", [{ text: "ok" }], async ({ server, call }) => {
    const answer: AssistantMessage = {
      role: "assistant",
      content: ["call_a", "call_b"].map((id) => ({ type: "toolCall", id, name: "read", arguments: {} })),
    };
    const result = (toolCallId: string): AgentMessage => ({
      role: "toolResult",
      toolCallId,
      toolName: "read",
      content: [{ type: "text", text: `of ${toolCallId}` }, IMAGE],
      isError: false,
    });
    const messages = [{ role: "user", content: "Look" } as const, answer, result("call_a"), result("call_b")];
    await call({ messages: [...messages, { role: "user", content: "Well?" }] });
    const sent = server.requests[0]?.body["messages"] as { role: string; content: unknown }[];
    assert.deepEqual(
      sent.map(({ role }) => role),
      ["system", "user", "assistant", "tool", "tool", "user"],
    );
    assert.equal(sent[3]?.content, "of call_a");
    const parts = sent[5]?.content as { type: string; text?: string }[];
    assert.deepEqual(
      parts.map(({ type }) => type),
      ["text", "image_url", "image_url", "text"],
    );
    assert.equal(parts[3]?.text, "Well?");
  });
});

test("a model that reads no images gets a note in their place", async () => {
  const overrides = { model: { input: ["text" as const] } };
  await withServer(
    "openai-completions",
    [{ text: "ok" }],
    async ({ server, call }) => {
      await call({ messages: [{ role: "user", content: [{ type: "text", text: "See" }, IMAGE] }] });
      const text = server.requests[0]?.text ?? "";
      assert.doesNotMatch(text, /iVBORw0KGgo/);
      assert.match(text, /image\/png\) left out/);
    },
    overrides,
  );
});

test("openai-completions: user messages in a row become one, because chat templates refuse two", async () => {
  await withServer("openai-completions", [{ text: "ok" }], async ({ server, call }) => {
    await call({
      messages: [
        { role: "user", content: "One" },
        { role: "user", content: "Two" },
      ],
    });
    assert.deepEqual(server.requests[0]?.body["messages"], [
      { role: "system", content: "Be brief." },
      { role: "user", content: "One\n\nTwo" },
    ]);
  });
});

// Google sends a call as a whole.
for (const protocol of PROTOCOLS.filter((each) => each !== "google")) {
  test(`${protocol}: the beginning of a call is reported while its arguments are still missing`, async () => {
    const step: ReplyStep = {
      toolCalls: [{ id: "call_a", name: "read", arguments: { path: "a".repeat(4_000) } }],
      hangAfterChunks: 8,
    };
    await withServer(protocol, [step], async ({ model }) => {
      const controller = new AbortController();
      const request = requestOf({
        tools: [READ],
        signal: controller.signal,
        onCall: () => controller.abort(),
      });
      const stream = async (): Promise<void> => {
        for await (const part of streamModel(model, request)) assert.notEqual(part.type, "finish");
      };
      await assert.rejects(stream(), { code: "turn_aborted" });
    });
  });
}

for (const protocol of PROTOCOLS) {
  test(`${protocol}: a sent request is reported while no byte of its answer has come`, async () => {
    await withServer(protocol, [{ text: "Never sent.", hangAfterChunks: 0 }], async ({ model }) => {
      const controller = new AbortController();
      const request = requestOf({ signal: controller.signal, onSent: () => controller.abort() });
      const stream = async (): Promise<void> => {
        for await (const part of streamModel(model, request)) assert.fail(`the answer has a ${part.type}`);
      };
      await assert.rejects(stream(), { code: "turn_aborted" });
    });
  });
}
