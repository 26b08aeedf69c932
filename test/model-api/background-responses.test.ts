/** Responses that are made without their client. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { openModelApiDatabase } from "../../packages/server/src/model-api/database.ts";
import { ApiBench } from "./setting.ts";
import { eventsOf, lastResponse, outputText, sentWords } from "./responses-setting.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

/** A step that waits until it is released. */
class Gate {
  release: () => void = () => undefined;
  readonly opened = new Promise<void>((resolve) => {
    this.release = resolve;
  });
}

describe("background responses", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function begin(asked: object): Promise<Record<string, unknown>> {
    const { status, json, text } = await bench.post("/responses", {
      model: "test/model",
      background: true,
      ...asked,
    });
    assert.equal(status, 200, text);
    return json;
  }

  /** The response once it has this status. */
  async function reaches(id: unknown, status: string): Promise<Record<string, unknown>> {
    let found: Record<string, unknown> = {};
    await until(async () => {
      const { json } = await bench.call("GET", `/responses/${String(id)}`);
      found = json;
      if (json["status"] === status) return true;
      assert.ok(json["status"] === "queued" || json["status"] === "in_progress", JSON.stringify(json));
      return false;
    });
    return found;
  }

  it("is answered at once, continues without the client, and can be continued once it is complete", async () => {
    const gate = new Gate();
    bench = await ApiBench.open("openai-responses", async (_, index) => {
      if (index === 0) await gate.opened;
      return { text: `Answer ${index}.` };
    });
    const begun = await begin({ input: "Hello." });
    assert.equal(begun["background"], true);
    const early = await bench.post("/responses", {
      model: "test/model",
      input: "x",
      previous_response_id: begun["id"],
    });
    assert.match(early.text, /has not ended yet/);
    await until(() => bench.model.requests.length !== 0);
    bench.api.prune();
    gate.release();
    assert.equal(outputText(await reaches(begun["id"], "completed")), "Answer 0.");
    const next = await begin({ input: "More.", previous_response_id: begun["id"] });
    await reaches(next["id"], "completed");
    assert.deepEqual(sentWords(bench.model, 1), ["Hello.", "Answer 0.", "More."]);
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("a client that lost its stream follows it from the last event that it has", async () => {
    bench = await ApiBench.open("openai-responses", [{ text: "One two three four." }]);
    const whole = await bench.post("/responses", {
      model: "test/model",
      background: true,
      stream: true,
      input: "Hello.",
    });
    const events = eventsOf(whole.text);
    const id = String(events.at(-1)?.response?.["id"]);
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, at) => at),
    );
    const rest = await bench.call("GET", `/responses/${id}?stream=true&starting_after=2`);
    assert.deepEqual(eventsOf(rest.text), events.slice(3));
    await bench.stop();
    await bench.start();
    const later = await bench.call("GET", `/responses/${id}?stream=true`);
    assert.deepEqual(eventsOf(later.text), events);
  });

  it("is cancelled while the model answers, and stays cancelled", async () => {
    const gate = new Gate();
    bench = await ApiBench.open("openai-responses", async () => {
      await gate.opened;
      return { text: "Too late." };
    });
    const begun = await begin({ input: "Hello." });
    const cancelled = await bench.post(`/responses/${String(begun["id"])}/cancel`, {});
    assert.equal(cancelled.json["status"], "cancelled");
    gate.release();
    await turns();
    const { json } = await bench.call("GET", `/responses/${String(begun["id"])}`);
    assert.equal(json["status"], "cancelled");
    assert.deepEqual(json["output"], []);
  });

  it("ends as failed when the model's server refuses it", async () => {
    bench = await ApiBench.open("openai-responses", [{ status: 400 }]);
    const begun = await begin({ input: "Hello." });
    const failed = await reaches(begun["id"], "failed");
    assert.match(String((failed["error"] as { message?: unknown }).message), /scripted status 400/);
  });

  it("runs again after a stop, in the same session, and its events are numbered above those of the first run", async () => {
    const gate = new Gate();
    bench = await ApiBench.open("openai-responses", async (_, index) => {
      if (index === 0) await gate.opened;
      return { text: `Answer ${index}.` };
    });
    const begun = await begin({ input: "Hello.", stream: false });
    await until(() => bench.model.requests.length !== 0);
    await bench.stop();
    gate.release();
    await bench.start();
    bench.api.resume();
    assert.equal(outputText(await reaches(begun["id"], "completed")), "Answer 1.");
    assert.equal(bench.sessionKeys().length, 1);
    assert.deepEqual(await bench.words(bench.sessionKeys()[0] ?? ""), ["Hello.", "Answer 1."]);
  });

  it("of an earlier process can be followed and cancelled before it runs again", async () => {
    const gate = new Gate();
    bench = await ApiBench.open("openai-responses", async () => {
      await gate.opened;
      return { text: "An answer." };
    });
    const cancelled = await begin({ input: "Cancel this." });
    const asked = { model: "test/model", background: true, stream: true, input: "Follow this." };
    const cut = bench.post("/responses", asked).catch(() => undefined);
    await until(() => bench.model.requests.length >= 2);
    await bench.stop();
    await cut;
    gate.release();
    const db = openModelApiDatabase(bench.setting.home);
    const row = db.get<{ id: string }>("SELECT id FROM responses WHERE id <> ?", String(cancelled["id"]));
    db.close();
    await bench.start();
    const ready = new Gate();
    bench.api.resume(ready.opened);
    const { json } = await bench.post(`/responses/${String(cancelled["id"])}/cancel`, {});
    assert.equal(json["status"], "cancelled");
    const following = bench.call("GET", `/responses/${row?.id}?stream=true&starting_after=0`);
    await turns();
    assert.equal(bench.model.requests.length, 2, "nothing runs before");
    ready.release();
    assert.equal(outputText(lastResponse((await following).text)), "An answer.");
    const { json: later } = await bench.call("GET", `/responses/${String(cancelled["id"])}`);
    assert.equal(later["status"], "cancelled");
    assert.equal(bench.model.requests.length, 3);
  });

  it("of an earlier process comes before the next request of its conversation", async () => {
    const gate = new Gate();
    bench = await ApiBench.open("openai-responses", async (_, index) => {
      if (index === 0) await gate.opened;
      return { text: `Answer ${index}.` };
    });
    const { json } = await bench.post("/conversations", {});
    const conversation = json["id"];
    await begin({ input: "First.", conversation });
    await until(() => bench.model.requests.length !== 0);
    await bench.stop();
    gate.release();
    await bench.start();
    const ready = new Gate();
    bench.api.resume(ready.opened);
    const next = bench.post("/responses", { model: "test/model", conversation, input: "Second." });
    await turns();
    ready.release();
    assert.equal((await next).status, 200);
    assert.deepEqual(sentWords(bench.model, 2), ["First.", "Answer 1.", "Second."]);
  });

  it("cannot be refused for a field later: the client learns it at once", async () => {
    bench = await ApiBench.open("openai-completions", []);
    const { status, text } = await bench.post("/responses", {
      model: "test/model",
      background: true,
      input: "Hello.",
      prompt: { id: "x" },
    });
    assert.equal(status, 400);
    assert.match(text, /\\"prompt\\"/);
  });
});
