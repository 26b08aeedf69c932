/** A search of some sessions only: its hits are those of the full list, whatever other sessions hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import { runs } from "../../runner/short-form.ts";
import { openStore, sayTurn, temporaryFolder } from "./fixtures.ts";

const CWD = { cwd: "/work" };
const MOST = 1_000;

function say(store: SessionStore, key: string, texts: readonly string[]): void {
  const writer = store.openWriter(key, CWD);
  texts.forEach((text, at) => sayTurn(writer, `${key}-${at}`, text));
  writer.close();
}

const mine = (key: string): boolean => key.startsWith("fam-");

test("a limited search finds the session's own hit when a foreign one ranks better", (t) => {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  say(store, "fam-a", ["the badger sleeps under a very long tree that has many other words around it"]);
  say(store, "boss", ["badger badger badger", "badger"]);
  const keys = (limit: number): string[] =>
    store.search("badger", { limit, allows: mine }).map(({ sessionKey }) => sessionKey);
  assert.deepEqual(keys(1), ["fam-a"]);
  assert.deepEqual(keys(2), ["fam-a", "fam-a"]);
  assert.deepEqual(keys(MOST), ["fam-a", "fam-a"]);
});

test("what other sessions hold changes neither the number of hits nor their order", (t) => {
  const word = fc.constantFrom("badger", "otter", "tree", "river", "stone");
  const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(" "));
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 1, maxLength: 4 }),
      fc.array(text, { maxLength: 6 }),
      fc.array(word, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 5 }),
      (own, foreign, words, limit) => {
        const [alone, both] = [openStore(temporaryFolder(t)), openStore(temporaryFolder(t))];
        for (const store of [alone, both]) own.forEach((each, at) => say(store, `fam-${at}`, [each]));
        foreign.forEach((each, at) => say(both, `boss-${at}`, [each]));
        const hits = (store: SessionStore): unknown[] =>
          store
            .search(words.join(" "), { limit, allows: mine })
            .map(({ sessionKey, role, snippet }) => ({ sessionKey, role, snippet }));
        assert.deepEqual(hits(both), hits(alone));
        alone.close();
        both.close();
      },
    ),
    { numRuns: runs(120), seed: 4 },
  );
});

test("more sessions than fit a query's expression are searched, and no others", (t) => {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  for (let at = 0; at < 210; at += 1) say(store, `fam-${at}`, [at === 3 ? "a heron" : "nothing"]);
  say(store, "boss", ["heron heron heron"]);
  const hits = store.search("heron", { limit: 1, allows: mine });
  assert.deepEqual(
    hits.map(({ sessionKey }) => sessionKey),
    ["fam-3"],
  );
});
