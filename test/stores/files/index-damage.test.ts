import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { OpenNotice } from "../../../packages/contract/src/session/writer.ts";
import { openStore, sayTurn, temporaryFolder, textOf, user } from "./fixtures.ts";

const CWD = { cwd: "/project" };

/** Texts of the context and the notices, read by a store of its own. */
function visit(dir: string, key = "main"): { texts: string[]; notices: readonly OpenNotice[] } {
  const store = openStore(dir);
  try {
    const writer = store.openWriter(key, { ...CWD, create: true });
    const texts = writer.contextMessages().messages.map(textOf);
    writer.close();
    return { texts, notices: writer.notices };
  } finally {
    store.close();
  }
}

test("an index with a changed row is set aside and built again, and the conversation is the same (finding F6)", (t) => {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  const writer = store.openWriter("main", CWD);
  const [first = ""] = sayTurn(writer, "t1", "one");
  sayTurn(writer, "t2", "two");
  writer.rewind(first);
  sayTurn(writer, "t3", "three");
  writer.close();
  store.close();
  const file = join(dir, "sessions.db");
  const whole = readFileSync(file);
  const expected = visit(dir).texts;
  assert.deepEqual(expected, ["one", "three", "answer to three"]);
  const spoilt: [string, string][] = [
    ["main/project", "mbin/project"],
    ["main/project", "main/prpject"],
  ];
  for (const [from, to] of spoilt) {
    for (const name of readdirSync(dir)) if (name.startsWith("sessions.db")) rmSync(join(dir, name));
    const bytes = Buffer.from(whole);
    // Former places of a row keep its bytes.
    assert.ok(bytes.includes(from), from);
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from)) bytes.write(to, at);
    writeFileSync(file, bytes);
    const { texts, notices } = visit(dir);
    assert.deepEqual(texts, expected, to);
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ["index_rebuilt"],
      to,
    );
    assert.ok(readdirSync(dir).includes("sessions.db.damaged"));
  }
});

test("a changed byte in a folder or title of the index moves or renames no conversation (finding F5)", (t) => {
  const dir = temporaryFolder(t);
  const made = openStore(dir);
  made.create("app", { cwd: "/elsewhere", folder: "/docs/alpha" });
  const writer = made.openWriter("app", CWD);
  sayTurn(writer, "t1", "Sail to the harbour");
  writer.close();
  made.close();
  const file = join(dir, "sessions.db");
  const whole = readFileSync(file);
  const visits: Record<string, (store: SessionStore) => unknown> = {
    "its folder": (store) => store.inFolder("/docs/alpha"),
    "the other folder": (store) => store.inFolder("/docs/alphb"),
    "the list": (store) => store.list(),
    "its key": (store) => [store.find("app")],
  };
  let damaged = 0;
  for (const text of ["/docs/alpha", "Sail to the harbour"]) {
    for (let at = whole.indexOf(text); at >= 0; at = whole.indexOf(text, at + 1)) {
      for (const [what, visited] of Object.entries(visits)) {
        for (const name of readdirSync(dir)) if (name.startsWith("sessions.db")) rmSync(join(dir, name));
        const bytes = Buffer.from(whole);
        bytes.write("b", at + text.length - 1);
        writeFileSync(file, bytes);
        const store = openStore(dir);
        const found = JSON.stringify(visited(store));
        assert.doesNotMatch(found, /alphb|harboub/, what);
        assert.equal(found === "[]", what === "the other folder", what);
        const records = store.inFolder("/docs/alpha").map(({ sessionKey, title }) => [sessionKey, title]);
        assert.deepEqual(records, [["app", "Sail to the harbour"]], what);
        store.close();
        if (readdirSync(dir).includes("sessions.db.damaged")) damaged += 1;
      }
    }
  }
  // The folder is in the row and in the index of the folders, the title in the row.
  assert.ok(damaged >= 10, `${damaged} were noticed`);
});

test("a search finds a word after the first 64 KiB of a message (finding F11)", (t) => {
  const store = openStore(temporaryFolder(t));
  const writer = store.openWriter("main", CWD);
  const message = user(`${"the harbour office lists ships. ".repeat(8_000)}zanzibar`);
  const { id } = writer.append({ type: "message", turnId: "t1", message });
  writer.commitTurn({ turnId: "t1", outcome: "completed" });
  const hits = store.search("zanzibar");
  assert.deepEqual(
    hits.map(({ entryId }) => entryId),
    [id],
  );
  assert.match(hits[0]?.snippet ?? "", /zanzibar/);
  writer.close();
  store.close();
});
