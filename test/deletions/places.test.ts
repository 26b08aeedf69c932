/** Where the words of a session are, and that a deletion reaches each of these places. */
import assert from "node:assert/strict";
import { relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { HOME_PLACES } from "../../packages/app/src/deletions.ts";
import { hasTable } from "../../packages/core/src/data/erase.ts";
import { openSqlite } from "../../packages/core/src/data/sqlite.ts";
import type { ApiBench } from "../model-api/setting.ts";
import { filledBench, filesBelow, FORKED_WORD, KEY, OTHER_WORD, traces, WORDS } from "./filled-home.ts";

/** Tables of a database with a word in one of their values. */
function tablesWith(file: string, words: readonly string[]): string[] {
  const db = openSqlite(file, { readOnly: true });
  try {
    const tables = db.all<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_%' ESCAPE '\\' OR name LIKE 'channel%'",
    );
    return tables
      .map(({ name }) => name)
      .filter((name) => hasTable(db, name))
      .filter((name) => {
        try {
          const text = JSON.stringify(db.all(`SELECT * FROM "${name}"`), (_key, value: unknown) =>
            value instanceof Uint8Array
              ? Buffer.from(value).toString("latin1")
              : typeof value === "bigint"
                ? String(value)
                : value,
          );
          return words.some((word) => text.includes(word));
        } catch {
          // A table whose function or module is not loaded here.
          return false;
        }
      });
  } finally {
    db.close();
  }
}

describe("the words of a deleted session", () => {
  let bench: ApiBench;
  before(async () => {
    bench = await filledBench();
  });
  after(() => bench.end());

  it("were only in declared places, in each of them, and are in none afterwards", async () => {
    const { home } = bench.setting;
    const withWords = filesBelow(home).filter((file) =>
      traces(home).some((trace) => trace.endsWith(file.slice(home.length))),
    );
    const names = new Set<string>();
    for (const file of withWords) {
      const name = relative(home, file).replaceAll("\\", "/");
      const place = HOME_PLACES.find(({ files }) => files.test(name));
      assert.ok(place, `${name} has words of a session and is in no declared place`);
      names.add(place.name);
      if (!/\.(db|sqlite)$/.test(name)) continue;
      for (const table of tablesWith(file, WORDS))
        assert.ok(place.tables?.includes(table), `the table ${table} of ${name} is not declared`);
    }
    const filled = HOME_PLACES.filter(({ by }) => !by || by === "the session store").map(({ name }) => name);
    assert.deepEqual(
      filled.filter((name) => !names.has(name)),
      [],
      "a declared place was not filled",
    );

    await bench.start();
    const { pagurus } = bench;
    const deleted = await pagurus.deleteSession({ sessionKey: KEY });
    assert.equal(deleted.sessions, 3);
    assert.equal(deleted.isResumed, undefined);
    await assert.rejects(pagurus.deleteSession({ sessionKey: KEY }), { code: "session_not_found" });
    await bench.stop();
    assert.deepEqual(traces(home), []);
    assert.notDeepEqual(traces(home, [OTHER_WORD]), [], "the words of the fork's own path stay");
    assert.notDeepEqual(traces(home, [FORKED_WORD]), []);
    await bench.start();
    assert.ok(pagurus.sessions);
    assert.equal(bench.pagurus.sessions().search(FORKED_WORD).length > 0, true);
    assert.deepEqual(bench.pagurus.sessions().search(WORDS[0]), []);
  });
});
