import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { byLength } from "../runner/short-form.ts";
import { ApiBench } from "./setting.ts";

const CHATS = byLength(10, 10, 4);
const TURNS = 5;

/** The same words in each chat, and the same answers. */
async function chat(bench: ApiBench): Promise<void> {
  const words: string[] = [];
  for (let turn = 0; turn < TURNS; turn++)
    words.push(`Question ${turn}.`, await bench.chat([...words, `Question ${turn}.`]));
}

describe("chats that begin alike", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function assertChats(): Promise<void> {
    const keys = bench.sessionKeys();
    assert.equal(keys.length, CHATS);
    for (const key of keys) assert.equal((await bench.words(key)).length, 2 * TURNS, key);
  }

  it("are one session each, one after the other", async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
    for (let at = 0; at < CHATS; at++) await chat(bench);
    await assertChats();
  });

  it("are one session each, at once", async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
    await Promise.all(Array.from({ length: CHATS }, () => chat(bench)));
    await assertChats();
  });
});
