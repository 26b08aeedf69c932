/** Segments of the index after many texts came at once. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { chain, cursorOver, withStore } from "./fixtures.ts";
import { until } from "../../../runner/until.ts";

/** Texts for some 130 segments of the index, which are merged sixteen at a time while they come. */
const TEXTS = 40_000;
/** Segments of each size, of a few sizes. */
const FEW = 6;

test("a pause after an adoption leaves an index of few segments, which finds what it found before", async () => {
  await withStore(async (store) => {
    const texts = Array.from({ length: TEXTS }, (_, index) => `common words about number n${index}x`);
    const found = async (word: string): Promise<string[]> => {
      const hits = await store.search({ query: word });
      return hits.flatMap((hit) => (hit.kind === "entry" ? [hit.entryId] : []));
    };
    await store.adopt("s", cursorOver(chain(texts)));
    await store.indexed();
    const words = ["n0x", `n${TEXTS / 2}x`, `n${TEXTS - 1}x`];
    const before = await Promise.all(words.map(found));
    const db = new DatabaseSync(store.file, { readOnly: true });
    const segments = (): number =>
      Number(db.prepare("SELECT count(DISTINCT segid) AS n FROM words_idx").get()?.["n"]);
    await until(
      () => segments() <= FEW,
      () => `${segments()} segments are left`,
    );
    db.close();
    assert.deepEqual(await Promise.all(words.map(found)), before);
    assert.deepEqual(before, [["e0"], [`e${TEXTS / 2}`], [`e${TEXTS - 1}`]]);
  });
});
