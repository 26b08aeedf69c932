/**
 * Compactions of the Messages API under `pagurus wire`, requested by a program with the official `@anthropic-ai/sdk` package: the
 * engine answers them with a block, and the conversation continues in the same session.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, it } from "node:test";
import type { RecordedRequest } from "../../servers/server.ts";
import { packageFile } from "../programs.ts";
import { WrapRun } from "./wrap-bench.ts";

const MORE = "The keeper of the quay wrote down which ships had come. ".repeat(60);

/** Six turns, a compaction, and one turn more with the block. */
const AGENT = (library: string, compacts: string): string => `
import Anthropic from ${JSON.stringify(library)};
const client = new Anthropic({ maxRetries: 0 });
let messages = [];
const common = { model: "claude-opus-5-5", max_tokens: 900, system: "You keep the berths." };
const create = (more) => client.beta.messages.stream({ ...common, messages, ...more }).finalMessage();
const ask = async (content, more = {}) => {
  messages.push({ role: "user", content });
  const answer = await create(more);
  messages.push({ role: "assistant", content: answer.content });
  return answer;
};
const textOf = ({ content }) => content.map(({ text = "" }) => text).join("");
const say = (turn) => "Berth " + turn + " has the key number 70" + turn + ". " + ${JSON.stringify(MORE)};
const report = ({ stop_reason, content }) => console.log(JSON.stringify({ stop_reason, types: content.map(({ type }) => type), hasText: content.every(({ content: text }) => text !== "" && text !== null) }));
${compacts}
`;

const BY_MEMBER = `
for (let turn = 0; turn < 6; turn += 1) await ask(say(turn));
const compacted = await client.beta.messages.create({ ...common, messages, betas: ["compact-2026-09-04"], compaction: { type: "summarize" } });
report(compacted);
messages = [{ role: "assistant", content: compacted.content }];
console.log(textOf(await ask("Which key has berth 2?")));
`;

/** The edit pauses; the program asks again for the answer. */
const BY_EDIT = `
const edits = [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 3_000 }, pause_after_compaction: true }];
const edited = { betas: ["compact-2026-01-12"], context_management: { edits } };
for (let turn = 0; turn < 6; turn += 1) await ask(say(turn));
const compacted = await ask("Which key has berth 2?", edited);
report(compacted);
const answer = await create(edited);
messages.push({ role: "assistant", content: answer.content });
console.log(textOf(answer));
console.log(textOf(await ask("And berth 3?", edited)));
`;

function isOfConversation({ text }: RecordedRequest): boolean {
  return !text.includes("<transcript>");
}

async function play(
  compacts: string,
): Promise<{ lines: string[]; mains: RecordedRequest[]; inputs: string[]; keys: string[] }> {
  const run = await WrapRun.with("anthropic-messages", (request, index) => ({
    text: isOfConversation(request) ? `Answer ${index}.` : "Keys of the berths.",
  }));
  try {
    mkdirSync(run.home, { recursive: true });
    const lossless = { config: { trigger: 5_000, headTokens: 900, tailTokens: 900 } };
    writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ plugins: { entries: { lossless } } }));
    const script = join(run.root, "agent.mjs");
    const library = pathToFileURL(packageFile("@anthropic-ai/sdk", "index.mjs")).href;
    writeFileSync(script, AGENT(library, compacts));
    const env = { ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""), ANTHROPIC_API_KEY: "key-of-test" };
    const options = { api: "messages", session: "berths" };
    const ended = await run.run(options, env, process.execPath, script);
    assert.equal(ended.code, 0, ended.stderr);
    const messages = await run.transcript("berths");
    const keys = await run.look((pagurus) =>
      pagurus
        .sessions()
        .list()
        .map(({ sessionKey }) => sessionKey),
    );
    return {
      lines: ended.stdout.trim().split("\n"),
      mains: run.server.requests.filter(isOfConversation),
      inputs: messages.flatMap((message) =>
        message.role === "user" ? [JSON.stringify(message.content)] : [],
      ),
      keys,
    };
  } finally {
    await run.end();
  }
}

describe("a program of the Anthropic package that lets the API compact", () => {
  for (const [how, compacts, questions] of [
    ["by the member `compaction`", BY_MEMBER, ["Which key has berth 2?"]],
    ["by an edit that pauses", BY_EDIT, ["Which key has berth 2?", "And berth 3?"]],
  ] as const)
    it(`is answered by the engine, and continues in its session: ${how}`, async () => {
      const { lines, mains, inputs, keys } = await play(compacts);
      const [compacted = "", ...answers] = lines;
      assert.deepEqual(JSON.parse(compacted), {
        stop_reason: "compaction",
        types: ["compaction"],
        hasText: true,
      });
      assert.equal(answers.length, questions.length);
      for (const answer of answers) assert.match(answer, /^Answer \d+\.$/);
      assert.equal(mains.length, 6 + questions.length, "the provider was asked for no compaction");
      for (const [at, question] of questions.entries()) {
        const { text } = mains[6 + at] ?? assert.fail("no request");
        assert.equal(text.split(question).length, 2, "the question once");
        assert.match(text, /Keys of the berths|70[0-5]/, "with what the engine kept");
        assert.doesNotMatch(text, /pagurus:summary/);
      }
      assert.deepEqual(keys, ["berths"]);
      const after = inputs.slice(-questions.length);
      for (const [at, question] of questions.entries()) assert.ok(after[at]?.includes(question), after[at]);
    });
});
