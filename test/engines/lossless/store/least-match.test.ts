import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { isEnough } from "../../../../packages/lossless/src/store/search/match.ts";
import { chain, withStore } from "./fixtures.ts";
import { runs } from "../../../runner/short-form.ts";

const WORDS = Array.from("bdfgklmnprst").flatMap((letter) => [
  `${letter}orin`,
  `${letter}uva`,
  `${letter}ektal`,
]);

const sentence = (most: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...WORDS), { minLength: 2, maxLength: most }).map((words) => words.join(" "));

it("a search that needs a match finds what one without the need finds, or nothing where no message is enough", async () => {
  let [found, nothing] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(sentence(12), { minLength: 5, maxLength: 60 }),
      sentence(6),
      fc.constantFrom(0.3, 0.5, 0.8),
      async (texts, query, share) => {
        await withStore(async (store) => {
          store.ingestTurn("s", chain(texts));
          const least = { share, weight: 0 };
          const free = await store.passages({ query, sessions: ["s"] });
          const bound = await store.passages({ query, sessions: ["s"], least });
          const isThere = isEnough(free.match, least);
          if (isThere) found += 1;
          else nothing += 1;
          assert.equal(isEnough(bound.match, least), isThere);
          const idsOf = (passages: Iterable<{ id: string; text: string }>): string[] =>
            [...passages].map(({ id, text }) => `${id} ${text}`);
          assert.deepEqual(idsOf(bound), isThere ? idsOf(free) : []);
        });
      },
    ),
    { numRuns: runs(300) },
  );
  assert.ok(found > 5 && nothing > 5, `${found} found, ${nothing} not`);
});

it("an effort that reads few texts of a common word still finds a rare word of any age", async () => {
  await withStore(async (store) => {
    const texts = [
      "The heron sleeps beside the tannery.",
      ...Array.from({ length: 90 }, (_, day) => `The tannery is closed on day ${day}.`),
    ];
    store.ingestTurn("s", chain(texts));
    const effort = { newest: 20, paired: 2, ranked: 10, characters: 250_000 };
    const least = { share: 0.5, weight: 0, effort };
    const [first] = await store.passages({ query: "heron tannery", sessions: ["s"], least });
    assert.match(first?.text ?? "", /heron/);
  });
});
