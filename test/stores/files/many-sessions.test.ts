/** New sessions beside many: they look at no file of the others. */
import assert from "node:assert/strict";
import fs, { rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { mock, test } from "node:test";
import { openStore, sayTurn, temporaryFolder } from "./fixtures.ts";

const CWD = { cwd: "/project" };
const SESSIONS = 40;

/** Number of files that are looked at during `work`. */
function looks(work: () => void): number {
  const { mock: looked } = mock.method(fs, "statSync");
  syncBuiltinESMExports();
  try {
    work();
    return looked.callCount();
  } finally {
    looked.restore();
    syncBuiltinESMExports();
  }
}

test("a new session and the search for an unknown key look at no file of other sessions", (t) => {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  for (let at = 0; at < SESSIONS; at++) store.openWriter(`key-${at}`, CWD).close();
  assert.ok(looks(() => store.find("unknown")) < SESSIONS / 2);
  assert.ok(looks(() => store.openWriter("new", CWD).close()) < SESSIONS / 2);
  store.close();
});

test("a session that another program made is found, and one whose file it removed is made again", (t) => {
  const dir = temporaryFolder(t);
  const [store, other] = [openStore(dir), openStore(dir)];
  store.openWriter("first", CWD).close();
  const theirs = other.openWriter("theirs", CWD);
  sayTurn(theirs, "t", "Hello.");
  theirs.close();
  assert.equal(store.find("theirs")?.entryCount, 3);
  const first = store.openWriter("first", CWD);
  const { file, sessionId } = first.record;
  first.close();
  store.close();
  rmSync(file);
  const again = other.openWriter("first", CWD);
  assert.notEqual(again.record.sessionId, sessionId);
  again.close();
  other.close();
});
