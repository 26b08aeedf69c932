/** The conversations of the Responses API: their routes, and requests that name one. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { ApiBench } from "./setting.ts";
import { lastResponse, outputText, sentWords } from "./responses-setting.ts";

const numbered = (_: unknown, index: number): { text: string } => ({ text: `Answer ${index}.` });
const user = (content: string): object => ({ type: "message", role: "user", content });

describe("conversations of the Responses API", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function made(body: object = {}): Promise<string> {
    const { status, json, text } = await bench.post("/conversations", body);
    assert.equal(status, 200, text);
    return String(json["id"]);
  }

  async function ask(
    conversation: string,
    input: unknown,
    more: object = {},
  ): Promise<Record<string, unknown>> {
    const asked = { model: "test/model", stream: true, conversation, input, ...more };
    const { status, text } = await bench.post("/responses", asked);
    assert.equal(status, 200, text);
    return lastResponse(text);
  }

  async function texts(id: string): Promise<string[]> {
    const { json } = await bench.call("GET", `/conversations/${id}/items?order=asc&limit=100`);
    const items = json["data"] as { content: { text: string }[] }[];
    return items.map(({ content }) => content[0]?.text ?? "");
  }

  it("keeps what its requests say and get, in one session", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const id = await made({ items: [user("We are at sea.")], metadata: { topic: "sea" } });
    const first = await ask(id, "Hello.");
    assert.deepEqual(first["conversation"], { id });
    await ask(id, [user("More.")]);
    assert.deepEqual(sentWords(bench.model, 1), ["We are at sea.", "Hello.", "Answer 0.", "More."]);
    assert.deepEqual(await texts(id), [...sentWords(bench.model, 1), "Answer 1."]);
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("is shown, described, changed item by item and deleted", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const id = await made();
    const path = `/conversations/${id}`;
    assert.deepEqual((await bench.call("GET", path)).json["metadata"], {});
    const described = await bench.post(path, { metadata: { topic: "land" } });
    assert.deepEqual(described.json["metadata"], { topic: "land" });
    const added = await bench.post(`${path}/items`, { items: [user("One."), user("Two.")] });
    const [one, two] = added.json["data"] as { id: string; type: string }[];
    assert.deepEqual((await bench.call("GET", `${path}/items/${one?.id}`)).json, one);
    assert.equal((await bench.call("DELETE", `${path}/items/${two?.id}`)).json["id"], id);
    assert.equal((await bench.call("GET", `${path}/items/${two?.id}`)).status, 404);
    assert.deepEqual(await texts(id), ["One."]);
    assert.equal((await bench.call("GET", path, undefined, { authorization: "Bearer two" })).status, 404);
    assert.equal((await bench.call("DELETE", path)).json["deleted"], true);
    assert.equal((await bench.call("GET", path)).status, 404);
    assert.match((await bench.post(path, {})).text, /no conversation/);
  });

  it("a deleted answer is out of what the model gets, and the session forks there", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const id = await made();
    await ask(id, "Hello.");
    const { json } = await bench.call("GET", `/conversations/${id}/items`);
    const [answer] = json["data"] as { id: string; role: string }[];
    assert.equal(answer?.role, "assistant");
    await bench.call("DELETE", `/conversations/${id}/items/${answer.id}`);
    await ask(id, "Again.");
    assert.deepEqual(sentWords(bench.model, 1), ["Hello.", "Again."]);
  });

  it("requests at once take turns, and each continues the one before it", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const id = await made();
    const answers = await Promise.all(["One.", "Two.", "Three."].map((words) => ask(id, words)));
    assert.deepEqual(new Set(answers.map(outputText)), new Set(["Answer 0.", "Answer 1.", "Answer 2."]));
    assert.equal((await texts(id)).length, 6);
    assert.equal(sentWords(bench.model, 2).length, 5);
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("of two with equal words each has its own session", async () => {
    bench = await ApiBench.open("openai-responses", () => ({ text: "Same." }));
    const ids = [await made(), await made()];
    for (const id of ids) await ask(id, "Hello.");
    for (const id of ids) await ask(id, "More.");
    assert.equal(bench.sessionKeys().length, 2);
  });

  it("a request that fails adds nothing, and one that is not stored does add", async () => {
    bench = await ApiBench.open("openai-responses", [{ status: 400 }, { text: "Better." }]);
    const id = await made();
    const failed = await bench.post("/responses", { model: "test/model", conversation: id, input: "Hello." });
    assert.equal(failed.status, 400);
    assert.deepEqual(await texts(id), []);
    await ask(id, "Hello again.", { store: false });
    assert.deepEqual(await texts(id), ["Hello again.", "Better."]);
  });

  it("refuses unknown fields, too many items and metadata that is not text", async () => {
    bench = await ApiBench.open("openai-responses", numbered);
    const tooMany = Array.from({ length: 21 }, (_, at) => user(`${at}`));
    for (const [body, problem] of [
      [{ title: "x" }, /do not know the field \\"title\\"/],
      [{ items: tooMany }, /at most 20 items/],
      [{ items: [{}] }, /neither a type nor a role/],
      [{ metadata: { a: 1 } }, /texts as its values/],
    ] as const) {
      const { status, text } = await bench.post("/conversations", body);
      assert.equal(status, 400);
      assert.match(text, problem);
    }
  });
});
