import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";
import type { ToolSpec } from "../../packages/contract/src/harness/tool.ts";
import { completeOnce } from "../../packages/core/src/model/complete.ts";
import { withServer } from "./calling.ts";

interface Block {
  type: string;
  text?: string;
  cache_control?: unknown;
}
interface Body {
  system?: Block[];
  tools?: (Block & { name: string })[];
  messages: { role: string; content: Block[] }[];
}

const TOOLS: ToolSpec[] = ["read", "write"].map((name) => ({
  name,
  description: name,
  parameters: { type: "object", properties: {} },
}));

const HISTORY: AgentMessage[] = [
  { role: "user", content: "First" },
  { role: "assistant", content: [{ type: "text", text: "Answer one" }] },
  { role: "user", content: "Second" },
  { role: "assistant", content: [{ type: "text", text: "Answer two" }] },
];

/** Places of the marks: `system`, `tool read`, the texts of marked blocks. */
function marks(body: Body): string[] {
  const found: string[] = [];
  for (const block of body.system ?? []) if (block.cache_control) found.push("system");
  for (const tool of body.tools ?? []) if (tool.cache_control) found.push(`tool ${tool.name}`);
  for (const { content } of body.messages) {
    for (const block of content) if (block.cache_control) found.push(block.text ?? block.type);
  }
  return found;
}

async function marksOf(messages: readonly AgentMessage[], stableCount: number): Promise<string[]> {
  let found: string[] = [];
  await withServer("anthropic-messages", [{ text: "ok" }], async ({ server, call }) => {
    await call({ messages, stableCount, tools: TOOLS });
    found = marks(server.requests[0]?.body as unknown as Body);
  });
  return found;
}

test("anthropic-messages: system, last tool, end of the stable history and last message are marked", async () => {
  const messages: AgentMessage[] = [...HISTORY, { role: "user", content: "Third" }];
  assert.deepEqual(await marksOf(messages, 4), ["system", "tool write", "Answer two", "Third"]);
});

test("anthropic-messages: the mark of the stable history stays while a tool loop grows after it", async () => {
  const loop: AgentMessage[] = [{ role: "user", content: "Third" }];
  for (let round = 1; round <= 3; round++) {
    const id = `call_${round}`;
    loop.push(
      { role: "assistant", content: [{ type: "toolCall", id, name: "read", arguments: {} }] },
      {
        role: "toolResult",
        toolCallId: id,
        toolName: "read",
        content: [{ type: "text", text: "x" }],
        isError: false,
      },
    );
    assert.deepEqual(await marksOf([...HISTORY, ...loop], 4), [
      "system",
      "tool write",
      "Answer two",
      "tool_result",
    ]);
  }
});

test("anthropic-messages: a round of many calls keeps the mark where the request before it ended", async () => {
  const round = (number: number, calls: number): AgentMessage[] => {
    const ids = Array.from({ length: calls }, (_, index) => `call_${number}_${index}`);
    return [
      {
        role: "assistant",
        content: ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} })),
      },
      ...ids.map((id): AgentMessage => ({
        role: "toolResult",
        toolCallId: id,
        toolName: "read",
        content: [{ type: "text", text: "x" }],
        isError: false,
      })),
    ];
  };
  const live: AgentMessage[] = [...HISTORY, { role: "user", content: "Third" }];
  const few = await marksOf([...live, ...round(1, 7)], 4);
  assert.deepEqual(few, ["system", "tool write", "Answer two", "tool_result"]);
  const many = await marksOf([...live, ...round(1, 12)], 4);
  assert.deepEqual(many, ["system", "Answer two", "Third", "tool_result"]);
  const second = await marksOf([...live, ...round(1, 2), ...round(2, 12)], 4);
  assert.deepEqual(second, ["system", "Answer two", "tool_result", "tool_result"]);
  const noHistory = await marksOf([...live, ...round(1, 12)], 0);
  assert.deepEqual(noHistory, ["system", "tool write", "Third", "tool_result"]);
});

test("anthropic-messages: a summary is sent in parts, and the part that the next one keeps is marked", async () => {
  const summary = (...parts: string[]): AgentMessage => ({
    role: "user",
    content: renderSummary(parts.join("\n\n")),
  });
  const end = "# At the end\n## Answers\n- Last said: all";
  const live: AgentMessage[] = [...HISTORY, { role: "user", content: "Third" }];
  const one = await marksOf([summary("Base", "# Since then\nOne", end), ...live], 5);
  assert.deepEqual(one, ["system", "# Since then\nOne\n\n", "Answer two", "Third"]);
  const two = [summary("Base", "# Since then\nOne", "# Since then\nTwo", end), ...live];
  assert.deepEqual(await marksOf(two, 5), ["system", "# Since then\nTwo\n\n", "Answer two", "Third"]);
  await withServer("anthropic-messages", [{ text: "ok" }], async ({ server, call }) => {
    await call({ messages: two, stableCount: 5, tools: TOOLS });
    const body = server.requests[0]?.body as unknown as Body | undefined;
    const texts = body?.messages[0]?.content.map(({ text }) => text) ?? [];
    assert.deepEqual(texts.slice(1, 3), ["# Since then\nOne\n\n", "# Since then\nTwo\n\n"]);
    assert.equal(texts.slice(0, 4).join(""), two[0]?.content);
  });
});

test("anthropic-messages: a summary and a round of many calls take four marks together", async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `call_${index}`);
  const content = renderSummary("Base\n\n# At the end\n## Answers\n- Last said: all");
  const messages: AgentMessage[] = [
    { role: "user", content },
    ...HISTORY,
    { role: "user", content: "Third" },
    {
      role: "assistant",
      content: ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} })),
    },
    ...ids.map((toolCallId): AgentMessage => ({
      role: "toolResult",
      toolCallId,
      toolName: "read",
      content: [{ type: "text", text: "x" }],
      isError: false,
    })),
  ];
  const found = await marksOf(messages, 5);
  assert.deepEqual(found, ["system", "<conversation_summary>\nBase\n\n", "Third", "tool_result"]);
});

test("anthropic-messages: without a stable history, or with nothing after it, there is one mark fewer", async () => {
  assert.deepEqual(await marksOf([{ role: "user", content: "First" }], 0), ["system", "tool write", "First"]);
  assert.deepEqual(await marksOf([{ role: "user", content: "First" }], 1), ["system", "tool write", "First"]);
});

test("anthropic-messages: a model without marks in its catalog entry gets none", async () => {
  const overrides = { model: { promptCache: "none" as const } };
  await withServer(
    "anthropic-messages",
    [{ text: "ok" }],
    async ({ server, call }) => {
      await call({ messages: HISTORY.slice(0, 3), stableCount: 2, tools: TOOLS });
      assert.doesNotMatch(server.requests[0]?.text ?? "", /cache_control/);
    },
    overrides,
  );
});

test("anthropic-messages: a one-off prompt, such as a summary, is not written to the cache", async () => {
  await withServer("anthropic-messages", [{ text: "ok" }], async ({ server, model }) => {
    const messages = [{ role: "user" as const, content: "Summarize." }];
    const { text } = await completeOnce(model, {
      messages,
      systemPrompt: "Rules.",
      signal: new AbortController().signal,
    });
    assert.equal(text, "ok");
    assert.match(server.requests[0]?.text ?? "", /Rules\./);
    assert.doesNotMatch(server.requests[0]?.text ?? "", /cache_control/);
  });
});

test("anthropic-messages: cache reads and writes are counted and priced", async () => {
  const usage = { input: 10, output: 5, cacheRead: 1_000, cacheWrite: 200 };
  await withServer("anthropic-messages", [{ text: "ok", usage }], async ({ call }) => {
    const reported = (await call({})).message.usage;
    assert.deepEqual(
      [reported?.input, reported?.output, reported?.cacheRead, reported?.cacheWrite, reported?.totalTokens],
      [10, 5, 1_000, 200, 1_215],
    );
    const expected = (10 * 2 + 5 * 10 + 1_000 * 0.2 + 200 * 2.5) / 1e6;
    assert.ok(Math.abs((reported?.cost ?? 0) - expected) < 1e-12);
  });
});

test("anthropic-messages: a tool loop that another model began is continued without thinking", async () => {
  const messages: AgentMessage[] = [
    { role: "user", content: "Go" },
    { role: "assistant", content: [{ type: "toolCall", id: "call_1", name: "read", arguments: {} }] },
    { role: "toolResult", toolCallId: "call_1", toolName: "read", content: [], isError: false },
  ];
  await withServer("anthropic-messages", [{ text: "ok" }, { text: "ok" }], async ({ server, call }) => {
    await call({ messages, thinking: "medium", tools: TOOLS });
    await call({
      messages: [...messages, { role: "user", content: "And?" }],
      thinking: "medium",
      tools: TOOLS,
    });
    const types = server.requests.map(({ body }) => (body["thinking"] as { type: string }).type);
    assert.deepEqual(types, ["disabled", "enabled"]);
  });
});
