import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openAi, type ChatMessage, type OpenAi } from "./packages.ts";
import { all, CALLS, PNG, QUESTION, SCHEMA } from "./samples.ts";
import { placesOf, Targets } from "./targets.ts";

const TOOL = { type: "function", function: { name: "weather", description: "Weather.", parameters: SCHEMA } };
const HELLO = [
  { role: "system", content: "Be short." },
  { role: "user", content: "Hello." },
];

let targets: Targets;
before(async () => {
  targets = await Targets.open();
});
after(() => targets.end());

for (const place of placesOf("openai-completions"))
  describe(`chat completions of the openai package against ${place.name}`, () => {
    let client: OpenAi;
    let model: string;
    before(async () => {
      const target = place.of(targets);
      client = await openAi(target);
      ({ model } = target);
    });

    it("gets an answer that is not streamed", async () => {
      targets.script({ text: "Hi.", usage: { input: 11, output: 3 } });
      const { object, choices, usage } = await client.chat.completions.create({ model, messages: HELLO });
      assert.equal(object, "chat.completion");
      assert.equal(choices.length, 1);
      assert.deepEqual(
        [choices[0]?.message.role, choices[0]?.message.content, choices[0]?.finish_reason],
        ["assistant", "Hi.", "stop"],
      );
      assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [11, 3, 14]);
      assert.match(targets.asked[0]?.text ?? "", /Be short\./);
    });

    it("gets a streamed answer", async () => {
      targets.script({ text: "A longer answer, in several pieces.", usage: { input: 11, output: 3 } });
      const asked = { model, messages: HELLO, stream: true, stream_options: { include_usage: true } };
      const chunks = await all(await client.chat.completions.create(asked));
      const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
      assert.equal(text, "A longer answer, in several pieces.");
      const reasons = chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
      assert.deepEqual(
        reasons.filter((reason) => reason !== null),
        ["stop"],
      );
      assert.equal(chunks.at(-1)?.usage?.total_tokens, 14);
    });

    it("gets a streamed answer with the helper", async () => {
      targets.script({ text: "Hi.", usage: { input: 11, output: 3 } });
      const options = { stream_options: { include_usage: true } };
      const stream = client.chat.completions.stream({ model, messages: HELLO, ...options });
      const { choices } = await stream.finalChatCompletion();
      assert.equal(choices[0]?.message.content, "Hi.");
      assert.equal((await stream.totalUsage()).total_tokens, 14);
    });

    it("has its tool called, and sends the result back", async () => {
      targets.script(CALLS, { text: "Sunny." });
      const messages: (ChatMessage | object)[] = [{ role: "user", content: QUESTION }];
      const asked = { model, messages, tools: [TOOL] };
      const [choice] = (await client.chat.completions.create(asked)).choices;
      assert.ok(choice);
      assert.equal(choice.finish_reason, "tool_calls");
      const [call, ...others] = choice.message.tool_calls ?? [];
      assert.ok(call && others.length === 0);
      assert.equal(call.function.name, "weather");
      assert.deepEqual(JSON.parse(call.function.arguments), { city: "Bern" });
      messages.push(choice.message, { role: "tool", tool_call_id: call.id, content: "sunny" });
      const second = await client.chat.completions.create(asked);
      assert.equal(second.choices[0]?.message.content, "Sunny.");
      assert.match(targets.asked[1]?.text ?? "", /sunny/);
    });

    for (const stream of [false, true])
      it(`runs its tools by itself, ${stream ? "streamed" : "not streamed"}`, async () => {
        targets.script(CALLS, { text: "Sunny." });
        const seen: unknown[] = [];
        const run = (city: unknown): string => (seen.push(city), "sunny");
        const runnable = { ...TOOL.function, function: run, parse: JSON.parse };
        const tools = [{ type: "function", function: runnable }];
        const messages = [{ role: "user", content: QUESTION }];
        const runner = client.chat.completions.runTools({ model, messages, tools, stream });
        assert.equal(await runner.finalContent(), "Sunny.");
        assert.deepEqual(seen, [{ city: "Bern" }]);
        assert.equal(targets.asked.length, 2);
      });

    it("sends an image", async () => {
      targets.script({ text: "Red." });
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
      const content = [{ type: "text", text: "Which colour?" }, image];
      const answer = await client.chat.completions.create({ model, messages: [{ role: "user", content }] });
      assert.equal(answer.choices[0]?.message.content, "Red.");
      assert.ok(targets.asked[0]?.text.includes(PNG));
    });

    it("lists the model", async () => {
      const listed = await all(client.models.list());
      assert.ok(listed.some(({ id }) => id === model));
    });
  });
