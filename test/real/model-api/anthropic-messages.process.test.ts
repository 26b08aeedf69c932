import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { anthropic, type Anthropic, type MessageAnswer } from "./packages.ts";
import { all, CALLS, PNG, QUESTION, SCHEMA } from "./samples.ts";
import { placesOf, Targets } from "./targets.ts";

const TOOL = { name: "weather", description: "Weather.", input_schema: SCHEMA };
const HELLO = { max_tokens: 500, system: "Be short.", messages: [{ role: "user", content: "Hello." }] };

function textOf({ content }: MessageAnswer): string {
  return content.map(({ text = "" }) => text).join("");
}

let targets: Targets;
before(async () => {
  targets = await Targets.open();
});
after(() => targets.end());

for (const place of placesOf("anthropic-messages"))
  describe(`messages of the Anthropic package against ${place.name}`, () => {
    let client: Anthropic;
    let model: string;
    before(async () => {
      const target = place.of(targets);
      client = await anthropic(target);
      ({ model } = target);
    });

    it("gets an answer that is not streamed", async () => {
      targets.script({ text: "Hi.", usage: { input: 11, output: 3 } });
      const answer = await client.messages.create({ model, ...HELLO });
      assert.deepEqual([answer.type, answer.role, answer.stop_reason], ["message", "assistant", "end_turn"]);
      assert.equal(textOf(answer), "Hi.");
      assert.deepEqual([answer.usage.input_tokens, answer.usage.output_tokens], [11, 3]);
      assert.match(targets.asked[0]?.text ?? "", /Be short\./);
    });

    it("gets a streamed answer", async () => {
      targets.script({ text: "A longer answer, in several pieces." });
      const events = await all(await client.messages.create({ model, ...HELLO, stream: true }));
      const text = events.map(({ delta }) => delta?.text ?? "").join("");
      assert.equal(text, "A longer answer, in several pieces.");
      assert.equal(events[0]?.type, "message_start");
      assert.equal(events.find(({ type }) => type === "message_delta")?.delta?.stop_reason, "end_turn");
      assert.equal(events.at(-1)?.type, "message_stop");
    });

    it("gets a streamed answer with the helper", async () => {
      targets.script({ text: "Hi.", usage: { input: 11, output: 3 } });
      const final = await client.messages.stream({ model, ...HELLO }).finalMessage();
      assert.equal(textOf(final), "Hi.");
      assert.deepEqual([final.stop_reason, final.usage.output_tokens], ["end_turn", 3]);
    });

    for (const how of ["not streamed", "streamed"])
      it(`has its tool called, and sends the result back, ${how}`, async () => {
        targets.script(CALLS, { text: "Sunny." });
        const messages: object[] = [{ role: "user", content: QUESTION }];
        const ask = (): Promise<MessageAnswer> => {
          const asked = { model, max_tokens: 500, messages, tools: [TOOL] };
          return how === "streamed"
            ? client.messages.stream(asked).finalMessage()
            : client.messages.create(asked);
        };
        const { content, stop_reason } = await ask();
        assert.equal(stop_reason, "tool_use");
        const call = content.find(({ type }) => type === "tool_use");
        assert.ok(call);
        assert.equal(call.name, "weather");
        assert.deepEqual(call.input, { city: "Bern" });
        const result = { type: "tool_result", tool_use_id: call.id, content: "sunny" };
        messages.push({ role: "assistant", content }, { role: "user", content: [result] });
        assert.equal(textOf(await ask()), "Sunny.");
        assert.match(targets.asked[1]?.text ?? "", /sunny/);
      });

    it("sends an image", async () => {
      targets.script({ text: "Red." });
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
      const messages = [{ role: "user", content: [image, { type: "text", text: "Which colour?" }] }];
      assert.equal(textOf(await client.messages.create({ model, max_tokens: 500, messages })), "Red.");
      assert.ok(targets.asked[0]?.text.includes(PNG));
    });

    it("counts tokens, more for a longer conversation, without a call of the model", async () => {
      targets.script();
      const { messages, system } = HELLO;
      const short = await client.messages.countTokens({ model, system, messages });
      const longer = [{ role: "user", content: "Hello. ".repeat(200) }];
      const long = await client.messages.countTokens({ model, system, messages: longer });
      assert.ok(Number.isInteger(short.input_tokens) && short.input_tokens > 0);
      assert.ok(long.input_tokens > short.input_tokens + 100);
      assert.equal(targets.asked.length, 0);
    });

    it("lists the model", async () => {
      const listed = await all(client.models.list());
      assert.ok(listed.some(({ id }) => id === model));
    });
  });
