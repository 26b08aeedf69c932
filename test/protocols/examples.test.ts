/** Answers as real servers send them, each with its right value in `examples/right.json`. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import type { ReadAnswer } from "../../packages/core/src/protocols/answer-reader.ts";
import { readerOf } from "../../packages/core/src/protocols/reader-of.ts";

interface Example {
  file: string;
  api: WireApi;
  status?: number;
  text?: string;
  thinking?: string;
  refusal?: string;
  calls?: [name: string, args: Record<string, unknown>][];
  /** Pattern of the words of the error. */
  words?: string;
}

const FOLDER = new URL("examples/", import.meta.url);
const EXAMPLES = JSON.parse(readFileSync(new URL("right.json", FOLDER), "utf8")) as Example[];

async function read(
  { file, api, status = 200 }: Example,
  size: number,
): Promise<[ReadAnswer, shown: string]> {
  const type = file.endsWith(".sse") ? "text/event-stream" : "application/json";
  const reader = await readerOf(api, { status, headers: { "content-type": type } });
  const bytes = readFileSync(new URL(file, FOLDER));
  let shown = "";
  for (let at = 0; at < bytes.length; at += size)
    for (const piece of reader.take(bytes.subarray(at, at + size)))
      if (piece.type === "text") shown += piece.delta;
  return [reader.end(), shown];
}

function textIn({ content }: ReadAnswer, type: "text" | "thinking"): string {
  return content
    .map((part) =>
      part.type === "toolCall" || part.type !== type ? "" : part.type === "text" ? part.text : part.thinking,
    )
    .join("");
}

describe("an answer as real servers send it", () => {
  for (const example of EXAMPLES) {
    const { text = "", thinking = "", calls = [], words, refusal } = example;
    it(`${example.file} has its right value`, async () => {
      for (const size of [1, 1_000_000]) {
        const [answer, shown] = await read(example, size);
        if (words !== undefined) {
          assert.match(answer.error?.message ?? "", new RegExp(words));
          assert.equal(answer.isComplete, false);
          continue;
        }
        assert.equal(answer.error, undefined);
        assert.equal(textIn(answer, "text"), text);
        assert.equal(textIn(answer, "thinking"), thinking);
        const called = answer.content.flatMap((part) => (part.type === "toolCall" ? [part] : []));
        assert.deepEqual(
          called.map(({ name, arguments: args }) => [name, args]),
          calls,
        );
        assert.ok(called.every(({ id }) => id !== ""));
        assert.equal(answer.refusal, refusal);
        assert.equal(answer.isComplete, true);
        assert.equal(
          answer.end?.reason,
          refusal === undefined ? (calls.length > 0 ? "toolUse" : "stop") : "refusal",
        );
        if (example.file.endsWith(".sse")) assert.equal(shown, text);
      }
    });
  }
});
