import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asksByWords } from "../../../packages/lossless/src/recall/asking-words.ts";

describe("a clause without a question mark", () => {
  it("asks by its first word in languages that begin a question with it", () => {
    for (const clause of [
      "where did Anna move to",
      "wo wohnt die Anna",
      "где живёт сестра Марины",
      "πού έβαλα τα κλειδιά",
      "أين طبيب الأسنان",
    ])
      assert.ok(asksByWords(clause), clause);
  });

  it("asks by a word inside it in languages that keep the order of a statement", () => {
    for (const clause of [
      "หมอฟันของฉันอยู่ที่ไหน",
      "我的牙医在哪儿",
      "歯医者はどこにあるの",
      "치과는 어디에 있어",
      "मेरी चाबी कहाँ है",
    ])
      assert.ok(asksByWords(clause), clause);
  });

  it("states where it has no such word, or is no single clause", () => {
    for (const text of [
      "what a nice day",
      "I know where it is",
      "我的牙医在老皮革厂后面",
      "หมอฟันของฉันอยู่หลังโรงฟอกหนังเก่า",
      "歯医者は古い革工場の裏にあります",
      "今天没什么事，早点睡",
      "치과는 역 뒤에 있어요",
      "где",
    ])
      assert.ok(!asksByWords(text), text);
  });
});
