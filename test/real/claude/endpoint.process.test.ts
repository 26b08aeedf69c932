/** Faulty responses of an endpoint: each ends the turn in one clear sentence, and the session continues. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { ClaudeBench, conversation } from "./claude-bench.ts";

let bench: ClaudeBench;
let pagurus: Pagurus;
let reply: ReplyStep = { text: "Fine." };

before(async () => {
  bench = await ClaudeBench.with(() => reply);
  pagurus = await bench.host();
});

after(async () => {
  await bench.end();
  await bench.nothingLeft();
});

const CASES: { what: string; reply: ReplyStep; code: string; says: RegExp }[] = [
  { what: "a refused key", reply: { status: 401 }, code: "model_auth", says: /HTTP 401.*check the key/ },
  {
    what: "a model that it does not have",
    reply: { status: 404 },
    code: "model_unknown",
    says: /HTTP 404.*name of the model/,
  },
  { what: "a request that it refuses", reply: { status: 400 }, code: "model_bad_request", says: /HTTP 400/ },
  {
    what: "a safety filter",
    reply: { text: "No.", stop: "refused" },
    code: "model_refused",
    says: /rephrase/,
  },
  {
    what: "an answer that breaks off again and again",
    reply: { text: "Half of the answer is here.", chunkSize: 4, cutAfterChunks: 6 },
    code: "model_stream_cut",
    says: /send the request again\.$/,
  },
];

describe("An endpoint that answers with", { timeout: 240_000 }, () => {
  for (const { what, reply: step, code, says } of CASES)
    it(`${what} ends the turn in one sentence, and the next one continues`, async () => {
      const sessionKey = code;
      reply = { text: "Fine." };
      await bench.ask(pagurus, "One?", { sessionKey });
      reply = step;
      const last = (await bench.turn(pagurus, "Two?", { sessionKey })).at(-1);
      assert.equal(last?.type, "turn.failed", JSON.stringify(last));
      assert.equal(last.error.code, code);
      assert.match(last.error.message, says);
      assert.ok(!last.error.message.includes("\n"));
      reply = { text: "Fine." };
      await bench.ask(pagurus, "Three?", { sessionKey });
      const shown = conversation(bench.request(-1));
      assert.deepEqual(shown.slice(0, 2), ["user: One?", "assistant: Fine."]);
      assert.deepEqual(shown.filter((line) => line === "user: Three?").length, 1);
    });

  it("an answer that is cut at the output limit ends the turn with that reason, without messages of Claude Code's own", async () => {
    const sessionKey = "length";
    reply = { text: "As long as may be.", stop: "length" };
    const last = (await bench.ask(pagurus, "One?", { sessionKey })).at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "length");
    reply = { text: "Fine." };
    await bench.ask(pagurus, "Two?", { sessionKey });
    assert.deepEqual(conversation(bench.request(-1)), [
      "user: One?",
      "assistant: As long as may be.",
      "user: Two?",
    ]);
  });
});
