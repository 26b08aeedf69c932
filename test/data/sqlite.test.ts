/** Tables of a file are created once, and a file of another version is left as it is. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MEMORY, openSqlite, type Tables } from "../../packages/core/src/data/sqlite.ts";

const TABLES: Tables = { version: 3, schema: "CREATE TABLE a (n INTEGER, m INTEGER)" };

describe("the tables of a SQLite file", () => {
  it("are created in a new file, and kept in a file of this version", () => {
    const db = openSqlite(MEMORY);
    for (let times = 0; times < 2; times += 1) {
      assert.equal(db.createTables(TABLES), true);
      db.run("INSERT INTO a (n) VALUES (1)");
    }
    assert.deepEqual([db.version(), db.all("SELECT n FROM a").length], [3, 2]);
    db.close();
  });

  it("are refused in a file of another version, which stays as it is", () => {
    const db = openSqlite(MEMORY);
    for (const version of [1, 4]) {
      db.raw.exec(`PRAGMA user_version = ${version}`);
      assert.equal(db.createTables(TABLES), false);
      assert.deepEqual([db.version(), db.all("SELECT name FROM sqlite_master")], [version, []]);
    }
    db.close();
  });

  it("are left out together when a statement fails", () => {
    const db = openSqlite(MEMORY);
    assert.throws(() => db.createTables({ ...TABLES, schema: `${TABLES.schema}; NO SQL` }));
    assert.deepEqual([db.version(), db.all("SELECT name FROM sqlite_master")], [0, []]);
    db.close();
  });
});
