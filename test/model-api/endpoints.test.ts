import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { FIELDS } from "../../packages/server/src/model-api/fields.ts";
import { ApiBench } from "./setting.ts";

const TOOL = { type: "object", properties: { city: { type: "string" } } };
const SCRIPT = [
  { toolCalls: [{ id: "call_1", name: "weather", arguments: { city: "Bern" } }] },
  { text: "It is sunny." },
];

describe("the endpoints of the model API", () => {
  let bench: ApiBench | undefined;
  afterEach(async () => {
    await bench?.end();
    bench = undefined;
  });

  it("Messages to a model of another protocol: the client's tool is returned to it, and its result continues the turn", async () => {
    bench = await ApiBench.open("openai-completions", SCRIPT);
    const tools = [{ name: "weather", description: "Weather.", input_schema: TOOL }];
    const messages: unknown[] = [{ role: "user", content: "Weather in Bern?" }];
    const body = { model: "test/model", max_tokens: 500, system: "Be short.", tools, messages };
    const first = await bench.post("/messages", body);
    assert.equal(first.status, 200, first.text);
    assert.equal(first.json["stop_reason"], "tool_use");
    const [call] = first.json["content"] as { type: string; id: string; name: string }[];
    assert.equal(call?.name, "weather");
    messages.push({ role: "assistant", content: first.json["content"] });
    messages.push({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call?.id, content: "sunny" }],
    });
    const second = await bench.post("/messages", body);
    assert.equal(second.status, 200, second.text);
    assert.match(second.text, /It is sunny\./);
    assert.equal(bench.sessionKeys().length, 1);
    assert.match(bench.model.requests[1]?.text ?? "", /Be short\./);
  });

  it("Responses to a model of another protocol, not streamed, from a text", async () => {
    bench = await ApiBench.open("anthropic-messages", [{ text: "Hi." }, { text: "Sure." }]);
    const body = { model: "test/model", input: "Hello." };
    const { status, json, text } = await bench.post("/responses", body);
    assert.equal(status, 200, text);
    assert.equal(json["object"], "response");
    assert.match(text, /"Hi\."/);
    const input = [
      { role: "user", content: "Hello." },
      ...(json["output"] as []),
      { role: "user", content: "More?" },
    ];
    assert.match(
      (await bench.post("/responses", { ...body, input, stream: true })).text,
      /response\.completed/,
    );
    assert.equal(bench.sessionKeys().length, 1);
    assert.equal((bench.model.requests[1]?.body["messages"] as unknown[] | undefined)?.length, 3);
  });

  it("requests of all sessions share connections to the model, those that count tokens too", async () => {
    bench = await ApiBench.open("anthropic-messages", () => ({ text: "Yes." }));
    const body = { model: "test/model", max_tokens: 9 };
    for (let at = 0; at < 4; at++) {
      const messages = [{ role: "user", content: `Question ${at}.` }];
      assert.equal((await bench.post("/messages", { ...body, messages })).status, 200);
      assert.equal(
        (await bench.post("/messages/count_tokens", { model: "test/model", messages })).status,
        200,
      );
    }
    assert.equal(bench.sessionKeys().length, 4);
    assert.equal(bench.model.connections, 1);
  });

  it("an unknown model is an error of the dialect that names the models there are", async () => {
    bench = await ApiBench.open("openai-completions", []);
    const chat = await bench.post("/chat/completions", { model: "test/none", messages: [] });
    assert.equal(chat.status, 404);
    assert.match(
      (chat.json["error"] as { message: string }).message,
      /"test\/none"; there are: .*test\/model/,
    );
    const messages = await bench.post("/messages", { model: "none", messages: [] });
    assert.equal(messages.json["type"], "error");
    const list = (await (await fetch(`${bench.url}/models`)).json()) as { data: { id: string }[] };
    assert.ok(list.data.some(({ id }) => id === "test/model"));
  });

  it("a field that is not honoured is an error that names it", async () => {
    bench = await ApiBench.open("openai-completions", [{ text: "Hi." }]);
    const messages = [{ role: "user", content: "Hello." }];
    const asked = (more: object): object => ({ model: "test/model", messages, ...more });
    for (const more of [{ n: 2 }, { functions: [{ name: "x" }] }]) {
      const { status, text } = await bench.post("/chat/completions", asked(more));
      assert.equal(status, 400);
      assert.ok(text.includes(Object.keys(more)[0] ?? "-"), text);
    }
    const other = await bench.post("/messages", { ...asked({ container: "c" }), max_tokens: 9 });
    assert.match(other.text, /container/);
    const prompt = await bench.post("/responses", { model: "test/model", input: "a", prompt: { id: "p" } });
    assert.match(prompt.text, /\\"prompt\\"/);
    assert.equal(bench.model.requests.length, 0);
  });

  it("the client's credentials and our header are not sent to the provider", async () => {
    bench = await ApiBench.open("openai-completions", [{ text: "Hi." }]);
    await bench.chat(["Hello."], "client-secret", { "x-pagurus-session": "mine" });
    const sent = JSON.stringify(bench.model.requests[0]?.headers);
    assert.ok(!sent.includes("client-secret") && !sent.includes("mine"), sent);
    assert.equal(bench.model.requests[0]?.body["model"], "model");
  });

  it("one model is shown by its id, with its slash as it is or encoded", async () => {
    bench = await ApiBench.open("openai-completions", []);
    for (const path of ["/models/test%2Fmodel", "/models/test/model"]) {
      const { status, json } = await bench.call("GET", path);
      assert.equal(status, 200);
      assert.deepEqual([json["id"], json["object"], json["type"]], ["test/model", "model", "model"]);
    }
    const none = await bench.call("GET", "/models/test/none");
    assert.equal(none.status, 404);
    assert.match(none.text, /test\/none/);
  });

  it("tokens are counted for a model of any protocol, also where its provider has no endpoint for that", async () => {
    for (const protocol of ["openai-responses", "anthropic-messages", "openai-completions"] as const) {
      bench = await ApiBench.open(protocol, []);
      const input = await bench.post("/responses/input_tokens", {
        model: "test/model",
        input: "Hello there.",
      });
      assert.equal(input.status, 200, input.text);
      assert.equal(input.json["object"], "response.input_tokens");
      assert.ok(Number(input.json["input_tokens"]) > 0, input.text);
      const messages = [{ role: "user", content: "Hello there." }];
      const counted = await bench.post("/messages/count_tokens", { model: "test/model", messages });
      assert.ok(Number(counted.json["input_tokens"]) > 0, counted.text);
      assert.deepEqual(bench.sessionKeys(), []);
      await bench.end();
    }
    bench = undefined;
  });

  it("a message thread that is continued is answered as lost, so that its client sends everything", async () => {
    bench = await ApiBench.open("anthropic-messages", [{ text: "Hi." }]);
    const asked = { model: "test/model", max_tokens: 9, messages: [{ role: "user", content: "Hello." }] };
    assert.equal((await bench.post("/messages", { ...asked, thread: { type: "create" } })).status, 200);
    assert.ok(!("thread" in (bench.model.requests[0]?.body ?? {})));
    const thread = { type: "continue", previous_message_id: "msg_1" };
    const { status, json } = await bench.post("/messages", { ...asked, thread });
    assert.equal(status, 404);
    const { details } = json["error"] as { details: unknown };
    assert.deepEqual(details, { error_code: "thread_not_found" });
  });

  it("a half of a surrogate pair is replaced before it is stored or sent", async () => {
    bench = await ApiBench.open("openai-completions", [{ text: "Hi." }]);
    const body = `{"model":"test/model","messages":[{"role":"user","content":"Half \\ud83d here, whole \\ud83d\\ude00."}]}`;
    const response = await fetch(`${bench.url}/chat/completions`, { method: "POST", body });
    assert.equal(response.status, 200);
    const expected = "Half \ufffd here, whole \u{1f600}.";
    const sent = bench.model.requests[0]?.body["messages"] as { content: string }[] | undefined;
    assert.equal(sent?.[0]?.content, expected);
    assert.equal((await bench.words(bench.sessionKeys()[0] ?? ""))[0], expected);
  });

  it("a request that is no turn is refused with its real reason", async () => {
    bench = await ApiBench.open("openai-completions", []);
    for (const [path, message, reason] of [
      ["/chat/completions", { role: "oracle", content: "x" }, /unknown role \\"oracle\\"/],
      ["/messages", { role: "assistant", content: "x" }, /no message of a user/],
    ] as const) {
      const { status, text } = await bench.post(path, {
        model: "test/model",
        max_tokens: 9,
        messages: [message],
      });
      assert.equal(status, 400);
      assert.match(text, reason);
    }
  });

  it("the guide has the table of the fields of each endpoint", () => {
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/model-api.md"), "utf8");
    for (const [endpoint, fields] of Object.entries(FIELDS)) {
      const section = guide.split(`### POST /v1${endpoint}\n`)[1]?.split("\n### ")[0] ?? "";
      const rows = [...section.matchAll(/^\| `(\w+)` +\| (\w+) +\|$/gm)].map(([, name, how]) => [name, how]);
      assert.deepEqual(rows, [...fields]);
    }
  });
});
