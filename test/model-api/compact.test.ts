/** Compactions that a client asks for: what it gets continues its conversation, for any engine and any model. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Protocol } from "../servers/server.ts";
import { ApiBench } from "./setting.ts";

type Item = Record<string, unknown>;

const PROTOCOLS: readonly Protocol[] = ["openai-responses", "openai-completions", "anthropic-messages"];
const LOSSLESS = { trigger: 2_000, headTokens: 500, tailTokens: 500 };
const SUMMARY = "The keys of the berths are 700 to 703, and the keeper of the quay wrote down every ship.";
const MORE = "The keeper of the quay wrote down which ships had come. ".repeat(30);

/** Whether the engine asks for a summary, or we ask for it in the client's place. */
function asksSummary(text: string): boolean {
  return text.includes("<transcript>") || text.includes("Summarize the conversation so far");
}

describe("a compaction that a client asks for", () => {
  let bench: ApiBench;
  let input: Item[];
  afterEach(() => bench.end());

  async function open(protocol: Protocol, engine: string): Promise<void> {
    let answers = 0;
    bench = await ApiBench.open(
      protocol,
      ({ text }) => ({ text: asksSummary(text) ? SUMMARY : `Answer ${(answers += 1)}.` }),
      {},
      engine,
      { entries: { lossless: { config: LOSSLESS } } },
    );
    input = [];
  }

  async function post(path: string, body: object, token = "one"): Promise<Item> {
    const headers = { authorization: `Bearer ${token}` };
    const { status, json, text } = await bench.post(path, { model: "test/model", ...body }, headers);
    assert.equal(status, 200, text);
    return json;
  }

  async function say(content: string, token?: string): Promise<string> {
    input.push({ role: "user", content });
    const output = (await post("/responses", { input }, token))["output"] as Item[];
    input.push(...output);
    return output.map(({ content: parts }) => (parts as { text: string }[])[0]?.text).join("");
  }

  async function fourTurns(): Promise<void> {
    for (let turn = 0; turn < 4; turn += 1) await say(`Berth ${turn} has the key 70${turn}. ${MORE}`);
  }

  /** Replaces the client's conversation by what the endpoint returns. */
  async function compact(): Promise<void> {
    const { object, output } = await post("/responses/compact", { input });
    assert.equal(object, "response.compaction");
    assert.deepEqual(
      (output as Item[]).map(({ type }) => type),
      ["compaction"],
    );
    input = [...(output as Item[])];
  }

  const last = (): string => bench.model.requests.filter(({ text }) => !asksSummary(text)).at(-1)?.text ?? "";

  for (const engine of ["lossless", "legacy"])
    for (const protocol of PROTOCOLS)
      it(`by the endpoint leaves its session, with the engine ${engine} and a model of ${protocol}`, async () => {
        await open(protocol, engine);
        await fourTurns();
        await compact();
        assert.equal(await say("Which key has berth 2?"), "Answer 5.");
        assert.match(last(), /Which key has berth 2\?/);
        assert.match(last(), /70[0-3]/, "with what was before");
        assert.doesNotMatch(last(), /pagurus:summary/);
        assert.equal(await say("And berth 3?"), "Answer 6.");
        const [key = "", ...others] = bench.sessionKeys();
        assert.deepEqual(others, []);
        const words = await bench.words(key);
        const questions = words.filter((_, index) => index % 2 === 0).map((text) => text.slice(0, 7));
        assert.deepEqual(questions, ["Berth 0", "Berth 1", "Berth 2", "Berth 3", "Which k", "And ber"]);
        const answers = words.filter((_, index) => index % 2 === 1);
        assert.deepEqual(
          answers,
          [1, 2, 3, 4, 5, 6].map((answer) => `Answer ${answer}.`),
        );
      });

  for (const protocol of PROTOCOLS)
    it(`by a trigger in the input is one streamed element, for a model of ${protocol}`, async () => {
      await open(protocol, "legacy");
      await say("Berth 0 has the key 700.");
      const asked = { model: "test/model", stream: true, input: [...input, { type: "compaction_trigger" }] };
      const { text } = await bench.post("/responses", asked, { authorization: "Bearer one" });
      const items = text
        .split("\n")
        .filter((line) => line.startsWith('data: {"type":"response.output_item.done"'))
        .map((line) => (JSON.parse(line.slice(6)) as { item: Item }).item);
      assert.deepEqual(
        items.map(({ type }) => type),
        ["compaction"],
      );
      input = items;
      await say("Which key has berth 0?");
      assert.match(last(), /The keys of the berths are 700 to 703/);
      assert.equal(bench.sessionKeys().length, 1);
    });

  it("continues after a restart, and an edit after it is a fork", async () => {
    await open("openai-responses", "lossless");
    await fourTurns();
    await compact();
    await bench.stop();
    await bench.start();
    const compacted = [...input];
    await say("First?");
    assert.equal(bench.sessionKeys().length, 1);
    input = compacted;
    await say("Second?");
    assert.equal(bench.sessionKeys().length, 2);
    assert.match(last(), /Second\?/);
    assert.doesNotMatch(last(), /First\?/);
    await say("Third?");
    assert.equal(bench.sessionKeys().length, 2, "the fork is continued");
  });

  it("of another token is no way into its session", async () => {
    await open("openai-responses", "lossless");
    await fourTurns();
    await compact();
    await say("And now?", "other");
    const [first = "", second = "", ...others] = bench
      .sessionKeys()
      .toSorted((one) => (one.startsWith("api/one/") ? -1 : 1));
    assert.deepEqual(others, []);
    assert.equal((await bench.words(first)).length, 8);
    assert.deepEqual(await bench.words(second), ["And now?", "Answer 5."]);
  });
});
