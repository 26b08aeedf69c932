import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { startServer, type ModelServer, type ReplyScript } from "../../servers/server.ts";
import { packageFile } from "../programs.ts";
import { ApiBench } from "../../model-api/setting.ts";

/** The parts of the package that this file uses: it is installed for these tests only. */
interface Item {
  type: string;
  name?: string;
  arguments?: string;
  call_id?: string;
  content?: { type: string; text?: string }[];
}
interface Answer {
  output: Item[];
}
interface Client {
  responses: {
    create(asked: object): Promise<AsyncIterable<{ type: string; response?: Answer }>>;
  };
}
type Library = { default: new (options: { apiKey: string; baseURL: string; maxRetries: number }) => Client };

async function clientOf(apiKey: string, baseURL: string): Promise<Client> {
  const library = (await import(pathToFileURL(packageFile("openai", "index.mjs")).href)) as Library;
  return new library.default({ apiKey, baseURL, maxRetries: 0 });
}

const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CALL = { toolCalls: [{ id: "call_1", name: "weather", arguments: { city: "Bern" } }] };
const TOOLS = [
  {
    type: "function",
    name: "weather",
    description: "Weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    strict: false,
  },
];

interface Target {
  client: Client;
  model: string;
  server: ModelServer;
  end(): Promise<void>;
}

async function direct(script: ReplyScript): Promise<Target> {
  const server = await startServer({ protocol: "openai-responses", script });
  const client = await clientOf("key", server.url);
  return { client, model: "model", server, end: () => server.close() };
}

async function through(script: ReplyScript): Promise<Target> {
  const bench = await ApiBench.open("openai-responses", script, { input: ["text", "image"] });
  const client = await clientOf("token", bench.url);
  return { client, model: "test/model", server: bench.model, end: () => bench.end() };
}

async function streamed({ client, model }: Target, asked: object): Promise<Answer> {
  const stream = await client.responses.create({ ...asked, model, stream: true });
  for await (const event of stream)
    if (event.type === "response.completed" && event.response) return event.response;
  throw new Error("the stream has no completed response");
}

function textOf({ output }: Answer): string {
  const parts = output.flatMap((item) => item.content ?? []);
  return parts.map((part) => part.text ?? "").join("");
}

for (const [name, open] of Object.entries({ "the provider's shape": direct, "the model API": through }))
  describe(`the openai package's responses against ${name}`, () => {
    let target: Target;
    afterEach(() => target.end());

    it("streaming: basic text", async () => {
      target = await open([{ text: "Hi." }]);
      assert.equal(textOf(await streamed(target, { input: "Hello." })), "Hi.");
    });

    it("system prompt", async () => {
      target = await open([{ text: "Arr." }]);
      await streamed(target, { instructions: "Be a pirate.", input: [{ role: "user", content: "Hello." }] });
      assert.match(target.server.requests[0]?.text ?? "", /Be a pirate\./);
    });

    it("tool calling, streaming", async () => {
      target = await open([CALL, { text: "Sunny." }]);
      const input: object[] = [{ role: "user", content: "Weather in Bern?" }];
      const { output } = await streamed(target, { tools: TOOLS, input });
      const call = output.find((item) => item.type === "function_call");
      assert.ok(call);
      assert.equal(call.name, "weather");
      assert.deepEqual(JSON.parse(call.arguments ?? ""), { city: "Bern" });
      input.push(call, { type: "function_call_output", call_id: call.call_id, output: "sunny" });
      assert.equal(textOf(await streamed(target, { tools: TOOLS, input })), "Sunny.");
    });

    it("image input", async () => {
      target = await open([{ text: "Red." }]);
      const content = [
        { type: "input_text", text: "Which colour?" },
        { type: "input_image", image_url: IMAGE, detail: "auto" },
      ];
      assert.equal(textOf(await streamed(target, { input: [{ role: "user", content }] })), "Red.");
      assert.ok(target.server.requests[0]?.text.includes(IMAGE.slice(30)));
    });

    it("multi-turn", async () => {
      target = await open([{ text: "Hi Ada." }, { text: "Ada." }]);
      const input: object[] = [{ role: "user", content: "I am Ada." }];
      const first = await streamed(target, { input });
      input.push({ role: "assistant", content: textOf(first) }, { role: "user", content: "My name?" });
      assert.equal(textOf(await streamed(target, { input })), "Ada.");
      assert.match(target.server.requests[1]?.text ?? "", /Hi Ada\./);
    });
  });
