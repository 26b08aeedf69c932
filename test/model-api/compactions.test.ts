import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { FULL } from "../runner/short-form.ts";
import { ApiBench } from "./setting.ts";

const TURNS = FULL ? 50 : 16;
/** Of the model's window, tokens and characters. */
const WINDOW = 8_000;
const MOST = 4 * WINDOW;

describe("a client that resends everything, through compactions", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  it("stays in one session, and the model never gets more than its window", async () => {
    const longest = { contextWindow: WINDOW, maxTokens: 1_000 };
    const script = (_: unknown, index: number): { text: string } => ({
      text: `Answer ${index}. ${"word ".repeat(500)}`,
    });
    bench = await ApiBench.open("openai-completions", script, longest, "lossless");
    const words: string[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      words.push(`Question ${turn}. ${"more ".repeat(300)}`);
      words.push(await bench.chat(words));
    }
    assert.equal(bench.sessionKeys().length, 1);
    const [key = ""] = bench.sessionKeys();
    assert.equal((await bench.words(key)).length, words.length);
    const sent = bench.model.requests.map(({ text }) => text.length);
    assert.ok(words.join("").length > MOST);
    assert.ok(Math.max(...sent) < MOST, `${Math.max(...sent)}`);
  });
});
