import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { ApiBench, streamedText } from "./setting.ts";

describe("an agent as a model", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  const ask = (messages: unknown[], more: object = {}): object => ({
    model: "agent/main",
    messages,
    ...more,
  });

  it("answers by a turn with the host's tools, whose calls the client does not see, and only the newest input enters", async () => {
    const script = [
      { toolCalls: [{ id: "call_1", name: "read", arguments: { path: "note.txt" } }] },
      { text: "It says heron." },
      { text: "You asked before." },
    ];
    bench = await ApiBench.open("openai-completions", script);
    writeFileSync(join(bench.setting.workspace, "note.txt"), "heron");
    const messages: unknown[] = [{ role: "user", content: "Read the note." }];
    const first = await bench.post("/chat/completions", ask(messages, { stream: true }));
    assert.equal(first.status, 200, first.text);
    assert.equal(streamedText(first.text), "It says heron.");
    assert.ok(!first.text.includes("tool_calls"));
    assert.match(bench.model.requests[1]?.text ?? "", /heron/);
    messages.push({ role: "assistant", content: "It says heron." }, { role: "user", content: "And now?" });
    const second = await bench.post("/messages", ask(messages, { max_tokens: 99 }));
    assert.match(second.text, /You asked before\./);
    assert.ok(Number((second.json["usage"] as { output_tokens?: number } | undefined)?.output_tokens) > 0);
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("gets the client's rules as instructions besides its own, whole and wherever they are", async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
    const rules = Array.from({ length: 400 }, (_, at) => `Rule ${at}: be kind to crab ${at}.`).join("\n");
    const user = { role: "user", content: "Hello." };
    const requests: [string, object][] = [
      ["/chat/completions", ask([{ role: "system", content: rules }, user])],
      ["/messages", ask([user], { max_tokens: 9, system: [{ type: "text", text: rules }] })],
      ["/responses", { model: "agent/main", instructions: rules, input: "Hello." }],
    ];
    for (const [path, body] of requests) {
      const { status, text } = await bench.post(path, body);
      assert.equal(status, 200, text);
      const sent = bench.model.requests.at(-1)?.text ?? "";
      for (const at of [0, 57, 199, 399]) assert.ok(sent.includes(`be kind to crab ${at}.`), `${path} ${at}`);
      assert.match(sent, /client instructions 001/);
    }
    assert.equal((await bench.words(bench.sessionKeys()[0] ?? "")).length, 2, "they are no messages");
  });

  it("ignores fields that it decides itself, and names them", async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
    const body = JSON.stringify(
      ask([{ role: "user", content: "Hello." }], { reasoning_effort: "low", chat_id: "x", tools: [] }),
    );
    const response = await fetch(`${bench.url}/chat/completions`, { method: "POST", body });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get("x-pagurus-ignored-fields"), "reasoning_effort, chat_id");
  });

  it("refuses tools, a format and a history that its session does not have", async () => {
    bench = await ApiBench.open("openai-completions", []);
    const user = { role: "user", content: "Hello." };
    const refused = async (body: object): Promise<string> => {
      const { status, text } = await bench.post("/chat/completions", body);
      assert.equal(status, 400, text);
      return text;
    };
    const tools = [{ type: "function", function: { name: "look" } }];
    assert.match(await refused(ask([user], { tools })), /\\"tools\\"/);
    const format = { type: "json_object" };
    assert.match(await refused(ask([user], { response_format: format })), /\\"response_format\\"/);
    assert.match(await refused(ask([user, { role: "assistant", content: "Hi." }, user])), /earlier messages/);
    assert.equal(bench.model.requests.length, 0);
  });

  it("a turn that fails is an error in the dialect", async () => {
    bench = await ApiBench.open("openai-completions", [{ status: 401 }]);
    const reply = await bench.post(
      "/messages",
      ask([{ role: "user", content: "Hello." }], { max_tokens: 9 }),
    );
    assert.ok(reply.status >= 400, reply.text);
    assert.equal(reply.json["type"], "error");
  });

  it("is in the list of models", async () => {
    bench = await ApiBench.open("openai-completions", []);
    const list = (await (await fetch(`${bench.url}/models`)).json()) as { data: { id: string }[] };
    assert.ok(list.data.some(({ id }) => id === "agent/main"));
  });
});
