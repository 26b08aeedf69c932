import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveModel } from "../../packages/core/src/model/resolve.ts";
import { startServer } from "../servers/server.ts";
import { collect } from "./calling.ts";

test("OpenAI in the Chat Completions API stores nothing, gets its own option names, and users' messages one by one", async () => {
  const server = await startServer({ protocol: "openai-completions", script: [{ text: "ok" }] });
  try {
    const provider = { api: "openai-completions" as const, baseUrl: server.url, apiKey: "test-key" };
    const model = resolveModel("openai/gpt-5.5", { models: { providers: { openai: provider } } }, {});
    await collect(model, {
      messages: [
        { role: "user", content: "One" },
        { role: "user", content: "Two" },
      ],
      maxOutputTokens: 500,
      cacheKey: "conversation-1",
    });
    const {
      messages,
      store,
      max_completion_tokens: most,
      prompt_cache_key: key,
    } = server.requests[0]?.body ?? {};
    assert.deepEqual([store, most, key], [false, 500, "conversation-1"]);
    assert.deepEqual(
      (messages as { content: unknown }[]).slice(1).map(({ content }) => content),
      ["One", "Two"],
    );
  } finally {
    await server.close();
  }
});
