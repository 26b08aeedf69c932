/** `POST /responses/compact`: read as a compaction of its whole input, and answered with the window that the client continues with. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";

const USAGE = { input: 100, output: 7, cacheRead: 0, cacheWrite: 0, totalTokens: 107 };
const INPUT = [
  { type: "message", role: "user", content: [{ type: "input_text", text: "The berth is number 9." }] },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "Noted." }] },
];

function read(input: unknown, path = "/responses/compact"): WireRequest {
  return responsesDialect.read(path, {}, Buffer.from(JSON.stringify({ model: "m1", input })));
}

describe("a compaction asked for by its address", () => {
  it("has its whole input as history, with no prompt in it", () => {
    const { kind, compaction, items, liveFrom } = read(INPUT);
    assert.equal(kind, "compaction");
    assert.deepEqual(compaction, { trigger: "manual", isWhole: true });
    assert.equal(liveFrom, items.length);
    assert.deepEqual(
      items.map(({ kind: of }) => of),
      ["message", "message"],
    );
  });

  it("passes if the conversation is not in its input", () => {
    const body = { model: "m1", input: INPUT, previous_response_id: "resp_1" };
    const { kind } = responsesDialect.read("/responses/compact", {}, Buffer.from(JSON.stringify(body)));
    assert.equal(kind, "unknown");
  });

  it("is answered with one compaction element, which the next request sends as the summary", () => {
    const named = { ...read(INPUT), native: { contentId: "first-words" } };
    const { status, headers, body } = responsesDialect.answer(named, "Berth 9 is taken.", USAGE);
    assert.equal(status, 200);
    assert.equal(headers["content-type"], "application/json");
    const answer = JSON.parse(body.toString()) as {
      object: string;
      output: { type: string }[];
      usage: unknown;
    };
    assert.equal(answer.object, "response.compaction");
    assert.deepEqual(
      answer.output.map(({ type }) => type),
      ["compaction"],
    );
    assert.ok(answer.usage);
    const next = read([...answer.output, ...INPUT.slice(0, 1)], "/responses");
    assert.equal(next.kind, "main");
    assert.equal(next.items[0]?.compactedFrom, "first-words");
    assert.match(next.items[0]?.replacement?.toString() ?? "", /Berth 9 is taken\./);
  });

  it("has the time of the answer", () => {
    const { body } = responsesDialect.answer(read(INPUT), "Berth 9.", USAGE);
    const { created_at: at } = JSON.parse(body.toString("utf8")) as { created_at: number };
    assert.ok(Math.abs(at - Date.now() / 1000) < 60, String(at));
  });
});
