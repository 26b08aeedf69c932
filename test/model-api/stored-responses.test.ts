/** Responses that a client continues, reads and deletes by their ids. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { openSqlite } from "../../packages/core/src/data/sqlite.ts";
import { ApiBench, type Reply } from "./setting.ts";
import { lastResponse, outputText, sentWords } from "./responses-setting.ts";

const byText = (one: string[], other: string[]): number => one.join(" ").localeCompare(other.join(" "));
const numbered = (_: unknown, index: number): { text: string } => ({ text: `Answer ${index}.` });

describe("stored responses", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function ask(asked: object, token = "one"): Promise<Record<string, unknown>> {
    const reply = await bench.post(
      "/responses",
      { model: "test/model", stream: true, ...asked },
      { authorization: `Bearer ${token}` },
    );
    assert.equal(reply.status, 200, reply.text);
    return lastResponse(reply.text);
  }

  async function refused(asked: object, token = "one"): Promise<Reply> {
    return bench.post(
      "/responses",
      { model: "test/model", stream: true, ...asked },
      { authorization: `Bearer ${token}` },
    );
  }

  it("a response that names the previous one continues its session with all earlier words", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const first = await ask({ input: "Hello." });
    const second = await ask({ input: "More.", previous_response_id: first["id"] });
    const third = await ask({ input: "Even more.", previous_response_id: second["id"] });
    assert.equal(third["previous_response_id"], second["id"]);
    assert.deepEqual(sentWords(bench.model, 2), ["Hello.", "Answer 0.", "More.", "Answer 1.", "Even more."]);
    assert.equal(bench.sessionKeys().length, 1);
    assert.deepEqual(await bench.words(bench.sessionKeys()[0] ?? ""), [
      ...sentWords(bench.model, 2),
      "Answer 2.",
    ]);
  });

  it("two responses that continue the same one are two sessions that share what was before", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const first = await ask({ input: "Hello." });
    await ask({ input: "This way.", previous_response_id: first["id"] });
    await ask({ input: "That way.", previous_response_id: first["id"] });
    assert.equal(bench.sessionKeys().length, 2);
    const words = await Promise.all(bench.sessionKeys().map((key) => bench.words(key)));
    assert.deepEqual(words.toSorted(byText), [
      ["Hello.", "Answer 0.", "That way.", "Answer 2."],
      ["Hello.", "Answer 0.", "This way.", "Answer 1."],
    ]);
  });

  it("of two conversations with the same words each response continues its own", async () => {
    bench = await ApiBench.open("openai-responses", [
      { text: "Hi." },
      { text: "Hi." },
      { text: "One." },
      { text: "Two." },
    ]);
    const one = await ask({ input: "Hello." });
    const two = await ask({ input: "Hello." });
    await ask({ input: "First.", previous_response_id: one["id"] });
    await ask({ input: "Second.", previous_response_id: two["id"] });
    const words = await Promise.all(bench.sessionKeys().map((key) => bench.words(key)));
    assert.deepEqual(words.toSorted(byText), [
      ["Hello.", "Hi.", "First.", "One."],
      ["Hello.", "Hi.", "Second.", "Two."],
    ]);
  });

  it("instructions are not inherited, and a tool's result continues its call", async () => {
    bench = await ApiBench.open("openai-responses", [
      { toolCalls: [{ id: "call_1", name: "weather", arguments: { city: "Bern" } }] },
      { text: "Sunny." },
    ]);
    const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }];
    const first = await ask({ input: "Weather?", instructions: "Be a pirate.", tools });
    const [call] = first["output"] as { call_id: string }[];
    const result = { type: "function_call_output", call_id: call?.call_id, output: "sun" };
    const second = await ask({ input: [result], previous_response_id: first["id"], tools });
    assert.equal(outputText(second), "Sunny.");
    assert.match(bench.model.requests[0]?.text ?? "", /pirate/);
    assert.doesNotMatch(bench.model.requests[1]?.text ?? "", /pirate/);
    assert.match(bench.model.requests[1]?.text ?? "", /function_call_output/);
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("is read by its id after a restart, with its input, and is gone once it is deleted", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const first = await ask({ input: "Hello." });
    const second = await ask({
      input: "More.",
      previous_response_id: first["id"],
      metadata: { kind: "test" },
    });
    await bench.stop();
    await bench.start();
    const path = `/responses/${String(second["id"])}`;
    assert.deepEqual((await bench.call("GET", path)).json, second);
    assert.deepEqual(second["metadata"], { kind: "test" });
    const { json } = await bench.call("GET", `${path}/input_items?order=asc`);
    const items = json["data"] as { id: string; content: { text: string }[] }[];
    assert.deepEqual(
      items.map(({ content }) => content[0]?.text),
      ["Hello.", "Answer 0.", "More."],
    );
    const page = await bench.call("GET", `${path}/input_items?limit=2`);
    assert.deepEqual(page.json["data"], items.toReversed().slice(0, 2));
    assert.equal(page.json["has_more"], true);
    const rest = await bench.call("GET", `${path}/input_items?after=${String(page.json["last_id"])}`);
    assert.deepEqual(rest.json["data"], items.slice(0, 1));

    assert.equal((await bench.call("DELETE", path)).json["deleted"], true);
    assert.equal((await bench.call("GET", path)).status, 404);
    assert.equal((await refused({ input: "x", previous_response_id: second["id"] })).status, 404);
  });

  it("a deleted response that others continue keeps serving them", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const first = await ask({ input: "Hello." });
    const second = await ask({ input: "More.", previous_response_id: first["id"] });
    await bench.call("DELETE", `/responses/${String(first["id"])}`);
    await ask({ input: "Last.", previous_response_id: second["id"] });
    assert.deepEqual(sentWords(bench.model, 2), ["Hello.", "Answer 0.", "More.", "Answer 1.", "Last."]);
  });

  it("is not found by another token, nor when it was not to be stored, nor when its session is deleted", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const kept = await ask({ input: "Hello." });
    const other = { authorization: "Bearer two" };
    assert.equal((await bench.call("GET", `/responses/${String(kept["id"])}`, undefined, other)).status, 404);
    assert.equal((await refused({ input: "x", previous_response_id: kept["id"] }, "two")).status, 404);
    const unkept = await ask({ input: "Bye.", store: false });
    assert.equal(unkept["store"], false);
    assert.equal((await bench.call("GET", `/responses/${String(unkept["id"])}`)).status, 404);
    await bench.stop();
    await bench.start();
    for (const key of bench.sessionKeys()) bench.pagurus.sessions("main").delete(key);
    bench.api.prune();
    assert.equal((await bench.call("GET", `/responses/${String(kept["id"])}`)).status, 404);
  });

  it("of another agent is kept while its session is there, and gone with it", async () => {
    bench = await ApiBench.open("openai-responses", numbered, {}, "legacy", {}, [{ id: "other" }]);
    const conversation = (await bench.post("/conversations", {})).json["id"];
    const asked = { model: "agent/other", input: "Hello." };
    const paths = [await ask(asked), await ask({ ...asked, conversation })].map(
      ({ id }) => `/responses/${String(id)}`,
    );
    bench.api.prune();
    for (const path of paths) assert.equal((await bench.call("GET", path)).status, 200);
    const store = bench.pagurus.sessions("other");
    for (const { sessionKey } of store.list()) store.delete(sessionKey);
    bench.api.prune();
    for (const path of paths) assert.equal((await bench.call("GET", path)).status, 404);
  });

  it("is answered by an agent, whose session continues", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const first = await ask({ model: "agent/main", input: "Hello." });
    const second = await ask({ model: "agent/main", input: "More.", previous_response_id: first["id"] });
    assert.equal(outputText(second), "Answer 1.");
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("that cannot be stored is a cut for its client, and the server continues", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const db = openSqlite(join(bench.setting.home, "model-api.sqlite"));
    db.raw.exec("CREATE TRIGGER full BEFORE INSERT ON responses BEGIN SELECT RAISE(FAIL, 'full'); END");
    await assert.rejects(ask({ input: "Hello." }), /terminated/);
    await assert.rejects(ask({ input: "Hello.", stream: false }), /terminated/);
    db.raw.exec("DROP TRIGGER full");
    db.close();
    assert.equal(outputText(await ask({ input: "Hello." })), "Answer 2.");
  });

  it("asks no model when the fields contradict each other", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const twice = await refused({ input: "x", previous_response_id: "resp_1", conversation: "conv_1" });
    assert.match(twice.text, /names its conversation twice/);
    assert.match(
      (await refused({ input: "x", conversation: "conv_1" })).text,
      /no conversation \\"conv_1\\"/,
    );
    assert.match((await refused({ input: "x", background: true, store: false })).text, /has to be stored/);
    assert.match((await refused({ input: 5 })).text, /a text or a list/);
    assert.equal(bench.model.requests.length, 0);
  });
});
