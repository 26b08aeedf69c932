/**
 * `POST /responses/compact` under `pagurus wire`, called by a program with the official `openai` package: the engine answers it, and
 * the conversation continues in the same session.
 */
import assert from "node:assert/strict";
import { writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, describe, it } from "node:test";
import type { RecordedRequest } from "../../servers/server.ts";
import { conversation } from "../codex/codex-bench.ts";
import { packageFile } from "../programs.ts";
import { WrapRun } from "./wrap-bench.ts";

const MORE = "The keeper of the quay wrote down which ships had come. ".repeat(60);

/** Six turns, a compaction, and one turn more with what it returned. */
const AGENT = (library: string): string => `
import OpenAI from ${JSON.stringify(library)};
const client = new OpenAI({ maxRetries: 0 });
let input = [];
const ask = async (content) => {
  input.push({ type: "message", role: "user", content });
  const stream = client.responses.stream({ model: "m1", instructions: "You keep the berths.", input, store: false });
  const { output, output_text } = await stream.finalResponse();
  input.push(...output);
  return output_text;
};
for (let turn = 0; turn < 6; turn += 1) await ask("Berth " + turn + " has the key number 70" + turn + ". " + ${JSON.stringify(MORE)});
const compacted = await client.responses.compact({ model: "m1", instructions: "You keep the berths.", input });
console.log(JSON.stringify({ object: compacted.object, types: compacted.output.map(({ type }) => type), usage: compacted.usage !== undefined }));
input = [...compacted.output];
console.log(await ask("Which key has berth 2?"));
`;

let run: WrapRun;

before(async () => {
  run = await WrapRun.with("openai-responses", (request, index) => ({
    text: request.text.includes("<transcript>") ? "Keys of the berths." : `Answer ${index}.`,
  }));
  mkdirSync(run.home, { recursive: true });
  const lossless = { config: { trigger: 5_000, headTokens: 900, tailTokens: 900 } };
  writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ plugins: { entries: { lossless } } }));
});
after(() => run.end());

describe("a program of the openai package that compacts by the endpoint", () => {
  it("is answered by the engine, and continues in its session with the whole of it", async () => {
    const script = join(run.root, "agent.mjs");
    writeFileSync(script, AGENT(pathToFileURL(packageFile("openai", "index.mjs")).href));
    const env = { OPENAI_BASE_URL: run.server.url, OPENAI_API_KEY: "key-of-test" };
    const options = { api: "responses", session: "berths" };
    const ended = await run.run(options, env, process.execPath, script);
    assert.equal(ended.code, 0, ended.stderr);
    const [compacted = "", answer = ""] = ended.stdout.trim().split("\n");
    assert.deepEqual(JSON.parse(compacted), {
      object: "response.compaction",
      types: ["compaction"],
      usage: true,
    });
    assert.match(answer, /^Answer \d+\.$/);
    const last = mains(run.server.requests).at(-1);
    assert.ok(last && last.path === "/v1/responses", "the provider was asked for no compaction");
    assert.deepEqual(conversation(last).at(-1), "user: Which key has berth 2?");
    assert.match(last.text, /Keys of the berths|70[0-5]/, "with what the engine kept");
    assert.doesNotMatch(last.text, /pagurus:summary/);
    const messages = await run.transcript("berths");
    assert.ok(messages.length > 0);
    const found = await run.look((pagurus) =>
      pagurus
        .sessions()
        .list()
        .map(({ sessionKey }) => sessionKey),
    );
    assert.deepEqual(found, ["berths"]);
  });
});

function mains(requests: readonly RecordedRequest[]): RecordedRequest[] {
  return requests.filter(({ text }) => !text.includes("<transcript>"));
}
