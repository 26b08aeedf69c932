import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { AnswerUnits } from "../../../packages/core/src/model/surfaces/answer-units.ts";

/** The units of an answer that comes in pieces of each length. */
function unitsOf(type: string, text: string): object {
  const whole = new AnswerUnits(type);
  whole.take(Buffer.from(text));
  const { units } = whole;
  for (const length of [1, 7, 64]) {
    const pieces = new AnswerUnits(type);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += length) pieces.take(bytes.subarray(at, at + length));
    assert.deepEqual(pieces.units, units, `in pieces of ${length}`);
  }
  return units;
}

describe("the units of an answer", () => {
  it("are the tokens of embeddings, however long the vectors are", () => {
    const data = Array.from({ length: 3 }, () => ({
      embedding: Array.from({ length: 2_000 }, () => 0.123_456_789),
    }));
    const answer = { object: "list", data, usage: { prompt_tokens: 21, total_tokens: 21 } };
    assert.deepEqual(unitsOf("application/json; charset=utf-8", JSON.stringify(answer)), {
      inputTokens: 21,
      images: 3,
    });
  });

  it("are read before and after images as text, with brackets and quotes in texts", () => {
    const usage = { input_tokens: 12, output_tokens: 4_160, input_tokens_details: { text_tokens: 12 } };
    const data = [{ b64_json: "A".repeat(100_000), revised_prompt: 'a "crab" {[' }];
    for (const answer of [
      { usage, data },
      { data, usage },
    ])
      assert.deepEqual(unitsOf("application/json", JSON.stringify(answer)), {
        inputTokens: 12,
        outputTokens: 4_160,
        images: 1,
      });
  });

  it("are the seconds of a transcript, in each of its forms", () => {
    const verbose = { text: "x".repeat(5_000), duration: 8.5, segments: [{ id: 0, tokens: [1, 2] }] };
    assert.deepEqual(unitsOf("application/json", JSON.stringify(verbose)), { seconds: 8.5 });
    const plain = { text: "x", usage: { type: "duration", seconds: 9 } };
    assert.deepEqual(unitsOf("application/json", JSON.stringify(plain)), { seconds: 9 });
  });

  it("are the same for any other members, in pieces of any length", () => {
    const length = fc.integer({ min: 1, max: 40 });
    const others = fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(
        others,
        fc.array(length, { minLength: 1 }),
        fc.nat(1_000_000),
        (members, lengths, tokens) => {
          const { usage: _usage, duration: _duration, data: _data, ...rest } = members;
          const text = JSON.stringify({ ...rest, usage: { input_tokens: tokens, more: rest }, after: rest });
          const units = new AnswerUnits("application/json");
          const bytes = Buffer.from(text);
          for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
            const next = at + (lengths[turn % lengths.length] ?? 1);
            units.take(bytes.subarray(at, next));
            at = next;
          }
          assert.deepEqual(units.units, { inputTokens: tokens });
        },
      ),
    );
  });

  it("are those of the last event that has them", () => {
    const events = [
      { type: "transcript.text.delta", delta: "The" },
      { type: "transcript.text.done", text: "The crab", usage: { input_tokens: 30, output_tokens: 4 } },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    assert.deepEqual(unitsOf("text/event-stream", text), { inputTokens: 30, outputTokens: 4 });
  });

  it("are none of bytes of another kind, of a torn answer, and of numbers that are none", () => {
    assert.deepEqual(unitsOf("audio/mpeg", '{"usage":{"input_tokens":1}}'), {});
    assert.deepEqual(unitsOf("application/json", '{"usage":{"input_tokens":1'), {});
    assert.deepEqual(unitsOf("application/json", '{"usage":{"input_tokens":-1,"output_tokens":"2"}}'), {});
  });
});
