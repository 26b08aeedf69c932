/**
 * Cache misses under `pagurus wire`, of a program with the official `@anthropic-ai/sdk` package: the host's finding in the receipts, the
 * provider's beside it, and the question for it in requests that the gateway changes anyway.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { it } from "node:test";
import type { RecordedRequest } from "../../servers/server.ts";
import { packageFile } from "../programs.ts";
import { WrapRun } from "./wrap-bench.ts";

const MORE = "The keeper of the quay wrote down which ships had come. ".repeat(60);
const TURNS = 8;
/** The tools change in the last turn. */
const AGENT = (library: string): string => `
import Anthropic from ${JSON.stringify(library)};
const client = new Anthropic({ maxRetries: 0 });
const tool = (name) => ({ name, description: "Looks.", input_schema: { type: "object" } });
const messages = [];
for (let turn = 0; turn < ${TURNS}; turn += 1) {
  messages.push({ role: "user", content: "Berth " + turn + " is taken. " + ${JSON.stringify(MORE)} });
  const tools = [tool("look"), ...(turn === ${TURNS - 1} ? [tool("count")] : [])];
  const { content } = await client.messages.stream({ model: "claude-x", max_tokens: 900, system: "You keep berths.", tools, messages }).finalMessage();
  messages.push({ role: "assistant", content });
}
`;

function isOfConversation({ text }: RecordedRequest): boolean {
  return !text.includes("<transcript>");
}

function askedIn({ body }: RecordedRequest): unknown {
  return (body["diagnostics"] as Record<string, unknown> | undefined)?.["previous_message_id"];
}

it("requests changed by the gateway name the answer before, and receipts have both findings", async () => {
  const missed = { cache_miss_reason: { type: "tools_changed", cache_missed_input_tokens: 777 } };
  const run = await WrapRun.with("anthropic-messages", (request, index) => {
    if (!isOfConversation(request)) return { text: "Ships of the quay." };
    const isChanged = JSON.stringify(request.body["tools"] ?? []).includes('"count"');
    const cacheDiagnostics = isChanged ? missed : null;
    return { text: `Answer ${index}.`, ...(askedIn(request) ? { cacheDiagnostics } : {}) };
  });
  try {
    mkdirSync(run.home, { recursive: true });
    const lossless = { config: { trigger: 4_000, headTokens: 900, tailTokens: 900 } };
    const models = [{ id: "claude-x", contextWindow: 200_000, maxTokens: 4_000 }];
    const quay = {
      api: "anthropic-messages",
      baseUrl: run.server.url,
      apiKey: "key-of-host",
      cacheDiagnostics: true,
      models,
    };
    const config = { models: { providers: { quay } }, plugins: { entries: { lossless } } };
    writeFileSync(join(run.home, "pagurus.json"), JSON.stringify(config));
    const script = join(run.root, "agent.mjs");
    writeFileSync(script, AGENT(pathToFileURL(packageFile("@anthropic-ai/sdk", "index.mjs")).href));
    const options = { api: "messages", session: "berths", model: "quay/claude-x" };
    const env = { ANTHROPIC_API_KEY: "key-of-test" };
    const ended = await run.run(options, env, process.execPath, script);
    assert.equal(ended.code, 0, ended.stderr);
    const mains = run.server.requests.filter(isOfConversation);
    assert.equal(mains.length, TURNS);
    const asked = mains.filter(({ body }) => "diagnostics" in body);
    assert.equal(askedIn(asked[0] ?? assert.fail("no request asked")), null, "nothing to compare with yet");
    const ids = asked.slice(1).map(askedIn);
    assert.ok(ids.length > 0 && ids.every((id) => /^msg_\d+$/.test(String(id))), String(ids));
    const receipts = await run.look((pagurus) => pagurus.context.receipts({ sessionKey: "berths" }));
    const last = receipts.findLast(({ purpose }) => purpose === undefined);
    assert.equal(last?.cache?.miss?.cause, "tools");
    assert.deepEqual(last.cache.diagnosis, { reason: "tools_changed", missedTokens: 777 });
  } finally {
    await run.end();
  }
});
