import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { queryWords } from "../../../../src/engines/lossless/store/search/query.ts";

describe("the words of a query in another script than Latin", () => {
  const typed = (query: string): string[] => queryWords(query).map(({ text }) => text);

  it("are those with a meaning", () => {
    assert.deepEqual(typed("Какая у меня собака?"), ["собака"]);
    assert.deepEqual(typed("Πώς λένε τον γιατρό μου;"), ["γιατρο"]);
    assert.deepEqual(typed("איפה הכלב שלי?"), ["הכלב"]);
    assert.deepEqual(typed("أين طبيب؟"), ["طبيب"]);
    assert.deepEqual(typed("नाम क्या है?"), ["नाम"]);
    assert.deepEqual(typed("강아지 이름이 뭐야?"), ["강아지", "이름이"]);
  });

  it("have no pairs of Chinese characters that ask", () => {
    assert.deepEqual(typed("牙医在哪儿？"), ["牙医在哪儿", "牙医", "医在"]);
  });
});
