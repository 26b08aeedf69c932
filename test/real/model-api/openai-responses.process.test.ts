import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openAi, type OpenAi, type ResponseItem } from "./packages.ts";
import { all, CALLS, PNG, QUESTION, SCHEMA } from "./samples.ts";
import { placesOf, Targets } from "./targets.ts";

const TOOL = {
  type: "function",
  name: "weather",
  description: "Weather.",
  parameters: SCHEMA,
  strict: false,
};
const HELLO = { instructions: "Be a pirate.", input: [{ role: "user", content: "Hello." }] };

let targets: Targets;
before(async () => {
  targets = await Targets.open();
});
after(() => targets.end());

for (const [index, place] of placesOf("openai-responses").entries())
  describe(`responses of the openai package against ${place.name}`, () => {
    let client: OpenAi;
    let model: string;
    before(async () => {
      const target = place.of(targets);
      client = await openAi(target);
      ({ model } = target);
    });

    it("gets an answer that is not streamed", async () => {
      targets.script({ text: "Arr.", usage: { input: 11, output: 3 } });
      const { object, status, output, output_text, usage } = await client.responses.create({
        model,
        ...HELLO,
      });
      assert.deepEqual([object, status, output_text], ["response", "completed", "Arr."]);
      assert.deepEqual(
        output.map(({ type }) => type),
        ["message"],
      );
      assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.total_tokens], [11, 3, 14]);
      assert.match(targets.asked[0]?.text ?? "", /Be a pirate\./);
    });

    it("gets a streamed answer", async () => {
      targets.script({ text: "A longer answer, in several pieces." });
      const events = await all(await client.responses.create({ model, ...HELLO, stream: true }));
      const deltas = events.filter(({ type }) => type === "response.output_text.delta");
      assert.equal(deltas.map(({ delta }) => delta).join(""), "A longer answer, in several pieces.");
      assert.equal(events[0]?.type, "response.created");
      assert.equal(events.at(-1)?.type, "response.completed");
    });

    it("gets a streamed answer with the helper", async () => {
      targets.script({ text: "Hi.", usage: { input: 11, output: 3 } });
      const final = await client.responses.stream({ model, input: "Hello." }).finalResponse();
      assert.deepEqual([final.status, final.output_text], ["completed", "Hi."]);
      assert.equal(final.usage.total_tokens, 14);
    });

    for (const how of ["not streamed", "streamed"])
      it(`has its tool called, and sends the result back, ${how}`, async () => {
        targets.script(CALLS, { text: "Sunny." });
        const input: (ResponseItem | object)[] = [{ role: "user", content: QUESTION }];
        const ask = ():
          | ReturnType<OpenAi["responses"]["create"]>
          | Promise<{ output: ResponseItem[]; output_text: string }> => {
          const asked = { model, input, tools: [TOOL] };
          return how === "streamed"
            ? client.responses.stream(asked).finalResponse()
            : client.responses.create(asked);
        };
        const { output } = await ask();
        const call = output.find(({ type }) => type === "function_call");
        assert.ok(call);
        assert.equal(call.name, "weather");
        assert.deepEqual(JSON.parse(call.arguments ?? ""), { city: "Bern" });
        input.push(...output, { type: "function_call_output", call_id: call.call_id, output: "sunny" });
        assert.equal((await ask()).output_text, "Sunny.");
        assert.match(targets.asked[1]?.text ?? "", /sunny/);
      });

    it("sends the arguments of a call in pieces", async () => {
      targets.script(CALLS);
      const input = [{ role: "user", content: QUESTION }];
      const events = await all(client.responses.stream({ model, input, tools: [TOOL] }));
      const deltas = events.filter(({ type }) => type === "response.function_call_arguments.delta");
      assert.deepEqual(JSON.parse(deltas.map(({ delta }) => delta).join("")), { city: "Bern" });
    });

    it("sends an image", async () => {
      targets.script({ text: "Red." });
      const image = { type: "input_image", image_url: `data:image/png;base64,${PNG}`, detail: "auto" };
      const content = [{ type: "input_text", text: "Which colour?" }, image];
      const { output_text } = await client.responses.create({ model, input: [{ role: "user", content }] });
      assert.equal(output_text, "Red.");
      assert.ok(targets.asked[0]?.text.includes(PNG));
    });

    it("continues a conversation that it sends again", async () => {
      targets.script({ text: "Hi Ada." }, { text: "Ada." });
      const input: (ResponseItem | object)[] = [{ role: "user", content: "I am Ada." }];
      const first = await client.responses.create({ model, input });
      input.push(...first.output, { role: "user", content: "My name?" });
      assert.equal((await client.responses.create({ model, input })).output_text, "Ada.");
      assert.match(targets.asked[1]?.text ?? "", /Hi Ada\./);
    });

    // The scripted provider does not compact.
    if (index > 0)
      it("compacts a conversation, and continues with what that returns", async () => {
        // The summary may be the engine's own, without a call.
        targets.script({ text: "Hi Ada." }, { text: "Ada." }, { text: "Ada." });
        const input: (ResponseItem | object)[] = [{ role: "user", content: "I am Ada." }];
        const first = await client.responses.create({ model, input });
        input.push(...first.output);
        const compacted = await client.responses.compact({ model, input });
        assert.equal(compacted.object, "response.compaction");
        const next = [...compacted.output, { role: "user", content: "My name?" }];
        const { output_text } = await client.responses.create({ model, input: next });
        assert.equal(output_text, "Ada.");
        assert.match(targets.asked.at(-1)?.text ?? "", /Ada[^]*My name\?/);
      });
  });
