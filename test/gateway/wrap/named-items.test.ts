/** Requests of the Responses API that name earlier items and responses, through the gateway. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Governor } from "../../../packages/gateway/src/governor/governor.ts";
import { NamedItems } from "../../../packages/gateway/src/wrap/named-items.ts";
import { Bench, type Answer } from "../exchange-bench.ts";

type Item = Record<string, unknown>;

const PATH = { path: "/responses" };
const user = (content: string): Item => ({ role: "user", content });

/** Answers with a text, and a call in the first answer, under ids that count the requests. */
const counted: Answer = (response, { body }) => {
  const count = (JSON.parse(body) as { input: Item[] }).input.filter(({ role }) => role === "user").length;
  const text = { type: "output_text", text: `answer ${count}`, annotations: [] };
  const output: Item[] = [
    { type: "reasoning", id: `rs_${count}`, summary: [] },
    { type: "message", id: `msg_${count}`, role: "assistant", status: "completed", content: [text] },
  ];
  const events = [
    ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    {
      type: "response.completed",
      response: { id: `resp_${count}`, object: "response", status: "completed", output },
    },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
};

describe("a request that names what has passed before", () => {
  let bench: Bench;
  const read: string[][] = [];
  const main: Governor["main"] = async ({ items }) => {
    const words = items.flatMap(({ messages }) => messages.map((message) => JSON.stringify(message.content)));
    read.push(words);
    return undefined;
  };
  const ask = async (body: Item): Promise<Item> => {
    const response = await bench.ask(JSON.stringify({ model: "m", stream: true, ...body }), PATH);
    assert.equal(response.status, 200);
    await response.text();
    return JSON.parse(bench.seen.at(-1)?.body ?? "") as Item;
  };
  afterEach(() => {
    read.length = 0;
    return bench.end();
  });

  it("by the ids of items has these items, for the engine and for the upstream", async () => {
    bench = new Bench("openai-responses", { named: new NamedItems() });
    await bench.open({ main }, counted);
    await ask({ input: [user("one")] });
    const reference = (id: string): Item => ({ type: "item_reference", id });
    const sent = await ask({ input: [user("one"), reference("rs_1"), reference("msg_1"), user("two")] });
    assert.match(read[1]?.[1] ?? "", /answer 1/);
    assert.equal(read[1]?.length, 3);
    const [, answer] = sent["input"] as Item[];
    assert.deepEqual(
      [answer?.["type"], answer?.["id"], (sent["input"] as Item[]).length],
      ["message", undefined, 3],
    );
  });

  it("by the response before has the whole conversation, over many turns", async () => {
    bench = new Bench("openai-responses", { named: new NamedItems() });
    await bench.open({ main }, counted);
    const first = await ask({ input: "one" });
    assert.deepEqual(first["input"], [user("one")], "a text is a list of one item, and so a turn");
    await ask({ input: "two", previous_response_id: "resp_1" });
    const sent = await ask({ input: [user("three")], previous_response_id: "resp_2" });
    assert.equal(sent["previous_response_id"], undefined);
    const words = JSON.stringify(sent["input"]);
    assert.match(words, /one.*answer 1.*two.*answer 2.*three/);
    assert.equal(read[2]?.length, 5);
  });

  it("that the gateway has not seen stays as it is, and is answered by the program's provider", async () => {
    bench = new Bench("openai-responses", { named: new NamedItems() });
    await bench.open({ main }, counted);
    const input = [user("one"), { type: "item_reference", id: "msg_none" }, user("two")];
    assert.deepEqual((await ask({ input }))["input"], input);
    const sent = await ask({ input: [user("two")], previous_response_id: "resp_none" });
    assert.equal(sent["previous_response_id"], "resp_none");
  });
});
