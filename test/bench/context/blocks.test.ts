import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { blocksFor } from "../../../bench/context/recall/blocks.ts";
import { JAPANESE } from "../../../bench/context/recall/talks/japanese.ts";
import { LANGUAGES } from "../../../bench/context/recall/talks/languages.ts";
import { madeTalk } from "../../../bench/context/recall/talks/made-talk.ts";

describe("made conversations", () => {
  it("are the same for the same part, and state what their questions ask for", () => {
    for (const language of LANGUAGES) {
      const talk = madeTalk(language, "tuning", 3_000);
      assert.deepEqual(talk, madeTalk(language, "tuning", 3_000));
      const texts = new Set(talk.messages.map(textOfMessage));
      for (const { gold, text } of talk.questions) {
        assert.ok(gold === undefined || texts.has(gold), `${language.name}: ${gold}`);
        assert.doesNotMatch(text, /[{}]/);
      }
    }
  });

  it("have no sentence of one part in the other", () => {
    for (const { name, parts } of LANGUAGES) {
      const [one, other] = (["tuning", "reporting"] as const).map((split) => {
        const { facts, never, chat, answers } = parts[split];
        return [...facts.flatMap(({ says, asks }) => [says, asks]), ...never, ...chat, ...answers];
      });
      assert.deepEqual(
        one?.filter((sentence) => other?.includes(sentence)),
        [],
        name,
      );
    }
  });

  it("have people in the questions about what was never mentioned that no message names", () => {
    for (const language of LANGUAGES) {
      const { strangers } = language.parts.reporting;
      const texts = madeTalk(language, "reporting", 3_000).messages.map(textOfMessage).join("\n");
      for (const [name] of strangers) assert.ok(!texts.includes(name.replace(/^[οη] | 씨$/gu, "")), name);
    }
  });
});

it("a conversation in Japanese gets blocks for what was stated, and none for what was never mentioned", async () => {
  const asked = await blocksFor(madeTalk(JAPANESE, "tuning", 14_000), 8_000);
  const stated = asked.filter(({ kind }) => kind === "stated");
  assert.ok(stated.length > 5);
  assert.ok(stated.every(({ hasBlock, hasEvidence }) => hasBlock && hasEvidence));
  assert.ok(!asked.some(({ kind, hasBlock }) => kind !== "stated" && hasBlock));
});
