import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { estimateTokens, weighUnits } from "../../packages/core/src/tokens/estimate.ts";
import { countExact } from "../../packages/core/src/tokens/exact.ts";
import { SLOT, WEIGHTS } from "../../packages/core/src/tokens/weights.ts";
import { unicodeText } from "../runner/unicode-text.ts";
import { longTest } from "../runner/long-tests.ts";

const SAMPLES = join(import.meta.dirname, "samples");
const LANGUAGES = join(import.meta.dirname, "..", "..", "bench", "tokens", "samples");

function sample(name: string): string {
  return readFileSync(join(SAMPLES, `${name}.txt`), "utf8");
}

/** Words, signs, blanks and scripts in any mixture, which hit more cases of the estimate than random code units. */
const piece = fc.constantFrom(
  ...'a the Hello getHTTPResponse aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 2025 == --- ─── " { }, 的 中文 のは 한국 été žluť дом ελ שלום 😀 👍🏽 。 “'.split(
    " ",
  ),
  " ",
  "\n",
  "\t",
  "\r\n",
  "        ",
  "\ud83d",
);
const mixture = fc.array(piece, { maxLength: 60 }).map((parts) => parts.join(""));
const anyText = fc.oneof(mixture, unicodeText({ maxLength: 200 }));

test("an estimate is a whole number, 0 for the empty text alone and at least 1 for any other", () => {
  assert.equal(estimateTokens(""), 0);
  fc.assert(
    fc.property(anyText, (text) => {
      const tokens = estimateTokens(text);
      assert.ok(Number.isSafeInteger(tokens), String(tokens));
      assert.ok(text === "" ? tokens === 0 : tokens >= 1);
    }),
  );
});

test("an estimate never exceeds three tokens a code unit and three more", () => {
  fc.assert(fc.property(anyText, (text) => estimateTokens(text) <= 3 * text.length + 3));
});

test("two texts joined cost hardly more than each alone", () => {
  fc.assert(
    fc.property(anyText, anyText, (first, second) => {
      assert.ok(estimateTokens(first + second) <= estimateTokens(first) + estimateTokens(second) + 3);
    }),
  );
});

test("appending to a text lowers its estimate by no more than the end of a piece", () => {
  fc.assert(
    fc.property(anyText, anyText, (first, second) => {
      assert.ok(estimateTokens(first + second) >= estimateTokens(first) - 3);
    }),
  );
});

test("a longer text of the same words costs in proportion", () => {
  const once = estimateTokens(sample("prose"));
  const ten = estimateTokens(sample("prose").repeat(10));
  assert.ok(Math.abs(ten / once - 10) < 0.2, `${once}, ${ten}`);
});

longTest("every code unit is read a bounded number of times, whatever the text", () => {
  const hostile = [
    "a",
    "A",
    "aB",
    "=",
    "=-",
    " ",
    "\n",
    " \n",
    "a ",
    "é",
    "中",
    "中的",
    "😀",
    "1",
    '"a',
    " \t",
  ];
  for (const part of hostile) {
    const text = part.repeat(Math.ceil(100_000 / part.length));
    let reads = 0;
    const units = Uint16Array.from([...Array(text.length).keys()].map((at) => text.charCodeAt(at)));
    const counting = new Proxy(units, {
      get(target, at) {
        reads++;
        // The text is followed by a 0.
        return target[Number(at)] ?? 0;
      },
    });
    weighUnits(counting, text.length, WEIGHTS);
    assert.ok(reads <= 8 * text.length, `${JSON.stringify(part)}: ${reads / text.length} reads a unit`);
  }
});

test("no weight is negative and every slot lies inside the table", () => {
  for (const weight of WEIGHTS) assert.ok(weight >= 0 && Number.isFinite(weight));
  for (const slot of Object.values(SLOT)) assert.ok(slot < WEIGHTS.length);
  assert.equal(SLOT.surrogate, WEIGHTS.length - 1);
});

const data: unknown = JSON.parse(sample("data"));
const kinds: [string, string][] = [
  ["prose", sample("prose")],
  ["code", sample("code")],
  ["pretty JSON", JSON.stringify(data, null, 2)],
  ["minified JSON", JSON.stringify(data)],
  ["Markdown", sample("markdown")],
  ...["chinese", "diacritics", "cyrillic", "japanese", "korean"].map((language): [string, string] => [
    language,
    readFileSync(join(LANGUAGES, `${language}-test.txt`), "utf8"),
  ]),
];
for (const [kind, text] of kinds) {
  test(`the estimate of a sample of ${kind} is within 12 % of o200k_base`, async () => {
    const exact = await countExact(text);
    assert.ok(exact !== undefined && exact > 0);
    const error = estimateTokens(text) / exact - 1;
    assert.ok(Math.abs(error) <= 0.12, `${(100 * error).toFixed(1)} % of ${exact}`);
  });
}
