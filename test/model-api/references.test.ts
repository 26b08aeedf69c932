/** Input items that name other items, as the Vercel AI SDK sends each earlier answer. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Protocol } from "../servers/server.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { lastResponse } from "./responses-setting.ts";
import { ApiBench } from "./setting.ts";

const numbered = (_: unknown, index: number): { text: string } => ({ text: `Answer ${index}.` });
const PROTOCOLS: readonly Protocol[] = ["openai-completions", "openai-responses", "anthropic-messages"];
const TURNS = 6;

function idOf(response: Record<string, unknown>): string {
  return (response["output"] as { id: string }[])[0]?.id ?? "";
}

describe("an item that names another one", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function ask(asked: object): Promise<Record<string, unknown>> {
    const { status, text } = await bench.post("/responses", { model: "test/model", stream: true, ...asked });
    assert.equal(status, 200, text);
    return lastResponse(text);
  }

  for (const protocol of PROTOCOLS)
    it(`is replaced by the earlier answer for a model of ${protocol}, and the chat is one session`, async () => {
      bench = await ApiBench.open(protocol, numbered);
      const input: object[] = [];
      for (let turn = 0; turn < TURNS; turn++) {
        input.push({ role: "user", content: `Question ${turn}.` });
        input.push({ type: "item_reference", id: idOf(await ask({ input })) });
      }
      const last = bench.model.requests.at(-1);
      assert.ok(last);
      const words = readBody(protocol, last).messages.map(({ text }) => text);
      const expected = Array.from({ length: TURNS }, (_, at) => [`Question ${at}.`, `Answer ${at}.`]).flat();
      assert.deepEqual(words, expected.slice(0, -1));
      const [key = "", ...others] = bench.sessionKeys();
      assert.deepEqual(others, []);
      assert.deepEqual(await bench.words(key), expected);
    });

  it("may name an item of a conversation or of an input, also without a type", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const made = await bench.post("/conversations", {
      items: [{ role: "user", content: "The word is crab." }],
    });
    const items = await bench.call("GET", `/conversations/${String(made.json["id"])}/items`);
    const [placed] = items.json["data"] as { id: string }[];
    const first = await ask({ input: "Hello." });
    const listed = await bench.call("GET", `/responses/${String(first["id"])}/input_items`);
    const [own] = listed.json["data"] as { id: string }[];
    await ask({ input: [{ id: placed?.id }, { type: "item_reference", id: own?.id }] });
    const sent = bench.model.requests.at(-1)?.text ?? "";
    assert.match(sent, /The word is crab\./);
    assert.match(sent, /Hello\./);
  });

  it("is refused with its id if this token has no such item", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const id = idOf(await ask({ input: "Hello." }));
    const input = [
      { type: "item_reference", id },
      { role: "user", content: "More." },
    ];
    for (const [asked, headers] of [
      [{ input: [{ type: "item_reference", id: "msg_made_up" }] }, {}],
      [{ input }, { authorization: "Bearer another" }],
    ] as const) {
      const body = { model: "test/model", ...asked };
      for (const path of ["/responses", "/responses/input_tokens", "/responses/compact"]) {
        const { status, text } = await bench.post(path, body, headers);
        assert.equal(status, 400, text);
        assert.ok(text.includes(asked.input[0]?.id ?? "-"), text);
      }
    }
    assert.equal(bench.model.requests.length, 1);
  });

  it("is unknown once its response was deleted", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const first = await ask({ input: "Hello." });
    await bench.call("DELETE", `/responses/${String(first["id"])}`);
    const { status } = await bench.post("/responses", {
      model: "test/model",
      input: [{ type: "item_reference", id: idOf(first) }],
    });
    assert.equal(status, 400);
  });
});

describe("ids of answers", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  it("are unique in equal chats of each endpoint", async () => {
    bench = await ApiBench.open("google", () => ({ text: "Yes." }));
    const messages = [{ role: "user", content: "Hello." }];
    const ids: string[] = [];
    for (let chat = 0; chat < 6; chat++) {
      const asked = { model: "test/model", max_tokens: 9 };
      const replies = [
        await bench.post("/chat/completions", { ...asked, messages }),
        await bench.post("/messages", { ...asked, messages }),
        await bench.post("/responses", { model: "test/model", input: "Hello." }),
      ];
      for (const { json } of replies) ids.push(String(json["id"]));
      ids.push(idOf(replies[2]?.json ?? {}));
    }
    assert.equal(new Set(ids).size, ids.length, ids.join(" "));
  });
});
