/** Generated answers of each protocol: nothing that has a plain meaning is lost, and nothing is doubled. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import type { AnswerPiece, ReadAnswer } from "../../packages/core/src/protocols/answer-reader.ts";
import { readerOf } from "../../packages/core/src/protocols/reader-of.ts";
import { runs } from "../runner/short-form.ts";
import {
  bytesOf,
  completionsEvents,
  geminiEvents,
  messagesEvents,
  responsesEvents,
  Whim,
  type Event,
  type Part,
} from "./generated.ts";

const WRITERS: readonly [WireApi, (parts: readonly Part[], whim: Whim) => Event[]][] = [
  ["anthropic-messages", messagesEvents],
  ["openai-completions", completionsEvents],
  ["openai-responses", responsesEvents],
  ["google-generative-ai", geminiEvents],
];

const text = fc.string({
  unit: fc.constantFrom("a", "b ", "é", "🦀", "\n", '"', "{"),
  minLength: 1,
  maxLength: 12,
});
const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 2 }));
const args = fc.dictionary(fc.constantFrom("k", "l", "ü"), value, { maxKeys: 3, noNullPrototype: true });
const generatedParts = fc
  .array(
    fc.record({ type: fc.constantFrom("text" as const, "thinking" as const, "call" as const), text, args }),
    { maxLength: 6 },
  )
  .map((parts) =>
    parts.map((part, at): Part => (part.type === "call" ? { ...part, text: `call_${at}` } : part)),
  );

async function read(api: WireApi, bytes: Buffer, whim: Whim): Promise<[ReadAnswer, AnswerPiece[]]> {
  const reader = await readerOf(api, { status: 200, headers: { "content-type": "text/event-stream" } });
  const pieces: AnswerPiece[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = 1 + whim.below(40);
    pieces.push(...reader.take(bytes.subarray(at, at + size)));
    at += size;
  }
  return [reader.end(), pieces];
}

function joined(parts: readonly { type: string; words: string }[], type: string): string {
  return parts.flatMap((part) => (part.type === type ? [part.words] : [])).join("");
}

function wordsOf({ content }: ReadAnswer): { type: string; words: string }[] {
  return content.map((part) =>
    part.type === "toolCall"
      ? { type: "call", words: "" }
      : { type: part.type, words: part.type === "text" ? part.text : part.thinking },
  );
}

describe("an answer in any way of saying it", () => {
  for (const [api, write] of WRITERS)
    it(`of ${api} has all that the model wrote, once`, async () => {
      await fc.assert(
        fc.asyncProperty(generatedParts, fc.nat(2 ** 31), async (parts, seed) => {
          const whim = new Whim(seed);
          const bytes = bytesOf(write(parts, whim), whim);
          const [answer, pieces] = await read(api, bytes, whim);
          const own = parts.map((part) => ({ type: part.type, words: part.text }));
          for (const type of ["text", "thinking"]) {
            assert.equal(joined(wordsOf(answer), type), joined(own, type), type);
            const shown = pieces.map((piece) => ({
              type: piece.type,
              words: "delta" in piece ? piece.delta : "",
            }));
            assert.ok(joined(own, type).startsWith(joined(shown, type)), "it is shown as it is recorded");
          }
          assert.deepEqual(
            answer.content.flatMap((part) =>
              part.type === "toolCall" ? [[part.id, part.name, part.arguments, part.unparsed]] : [],
            ),
            parts.flatMap((part) =>
              part.type === "call" ? [[part.text, "probe", part.args, undefined]] : [],
            ),
          );
          assert.deepEqual([answer.isComplete, answer.error, answer.degraded], [true, undefined, []]);
        }),
        { numRuns: runs(4_000) },
      );
    });

  for (const [api, write] of WRITERS)
    it(`of ${api}, cut anywhere, has the beginning of what the model wrote, and no call with half of its arguments`, async () => {
      await fc.assert(
        fc.asyncProperty(generatedParts, fc.nat(2 ** 31), fc.nat(10_000), async (parts, seed, cut) => {
          const whim = new Whim(seed);
          const all = bytesOf(write(parts, whim), whim);
          const [answer] = await read(api, all.subarray(0, cut % (all.length + 1)), whim);
          const own = parts.map((part) => ({ type: part.type, words: part.text }));
          for (const type of ["text", "thinking"])
            assert.ok(joined(own, type).startsWith(joined(wordsOf(answer), type).replace(/\uFFFD$/, "")));
          const calls = parts.filter(({ type }) => type === "call");
          for (const part of answer.isComplete ? answer.content : [])
            if (part.type === "toolCall") assert.ok(calls.some((call) => call.text === part.id));
          assert.equal(answer.error, undefined);
        }),
        { numRuns: runs(2_000) },
      );
    });
});
