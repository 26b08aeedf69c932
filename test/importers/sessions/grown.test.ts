import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";

import { execute } from "../../../packages/cli/src/cli-program.ts";
import { silentLogger, type Logger } from "../../../packages/core/src/platform/log.ts";
import { openSessionStore } from "../../../packages/host/src/stores/files/session-store.ts";
import { fakeCli } from "../../cli/fake-cli.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pagurus-grown-"));
  mkdirSync(join(root, "projects/deep"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A session file of Claude Code with that many messages, each longer by so many characters. */
function write(file: string, sessionId: string, count: number, more = 0): void {
  const lines = Array.from({ length: count }, (_, index) => {
    const role = index % 2 === 0 ? "user" : "assistant";
    const text = `${sessionId} says ${index}${".".repeat(more)}`;
    return JSON.stringify({
      parentUuid: index === 0 ? null : `${sessionId}-${index - 1}`,
      uuid: `${sessionId}-${index}`,
      sessionId,
      type: role,
      timestamp: new Date(1_750_000_000_000 + index * 1_000).toISOString(),
      cwd: "/srv/app",
      version: "2.0.0",
      isSidechain: false,
      message: {
        role,
        content: role === "user" ? text : [{ type: "text", text }],
        model: "claude-x",
        id: `m${index}`,
      },
    });
  });
  writeFileSync(join(root, file), `${lines.join("\n")}\n`);
}

async function imports(path: string): Promise<{ code: number; out: string; err: string }> {
  const env = { PAGURUS_HOME: join(root, "home"), PAGURUS_NO_PROBE: "1" };
  const cli = fakeCli({ input: "", env, open: createPagurus });
  const code = await execute(["sessions", "import", join(root, path)], cli);
  return { code, out: cli.out(), err: cli.err() };
}

function words(): Record<string, string[]> {
  const store = openSessionStore({ agentDir: join(root, "home/agents/main"), agentId: "main" });
  try {
    return Object.fromEntries(
      store.list().map(({ sessionKey }) => {
        const reader = store.openReader(sessionKey);
        const contents = reader.contextMessages().messages.map(({ content }) => JSON.stringify(content));
        reader.close();
        return [sessionKey.replace(/^.*:/, ""), contents];
      }),
    );
  } finally {
    store.close();
  }
}

test("import takes all sessions of a folder, and again those that have grown, without duplicate entries (finding D11)", async () => {
  write("projects/one.jsonl", "one", 2);
  write("projects/deep/two.jsonl", "two", 4);
  writeFileSync(join(root, "projects/notes.txt"), "no session");
  const first = await imports("projects");
  assert.deepEqual([first.code, first.err], [0, ""]);
  assert.match(first.out, /2 files imported, 0 here already, 0 not imported\.\n$/);
  assert.deepEqual(
    Object.values(words())
      .map((contents) => contents.length)
      .toSorted((a, b) => a - b),
    [2, 4],
  );

  write("projects/one.jsonl", "one", 6);
  const again = await imports("projects");
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, /Updated the session ".*one".* has grown by 4 entries/);
  assert.match(again.out, /1 file imported, 1 here already, 0 not imported\.\n$/);
  const [contents] = Object.values(words()).filter((all) => all.some((text) => text.includes("one says")));
  assert.deepEqual(
    contents?.map((text) => /one says \d/.exec(text)?.[0]),
    [0, 1, 2, 3, 4, 5].map((index) => `one says ${index}`),
  );
  const none = await imports("projects/one.jsonl");
  assert.deepEqual([none.code, /is here already/.test(none.err)], [1, true]);
});

test("an import that was continued here is not overwritten by a file that has grown (finding D11)", async () => {
  write("projects/one.jsonl", "one", 2);
  await imports("projects/one.jsonl");
  const store = openSessionStore({ agentDir: join(root, "home/agents/main"), agentId: "main" });
  const [record] = store.list();
  assert.ok(record);
  const writer = store.openWriter(record.sessionKey, { cwd: root });
  writer.append({ type: "message", message: { role: "user", content: "said here" } });
  writer.close();
  store.close();
  write("projects/one.jsonl", "one", 4);
  const again = await imports("projects/one.jsonl");
  assert.deepEqual([again.code, /is here already/.test(again.err)], [1, true]);
  assert.match(JSON.stringify(words()), /said here/);
});

test("an import of a grown file, whose last line has changed too, warns of no other program's change", async () => {
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  const store = openSessionStore({
    agentDir: join(root, "home/agents/main"),
    agentId: "main",
    logger,
    loadImporter: () => import("../../../packages/importers/src/sessions/import-file.ts"),
  });
  try {
    const file = join(root, "projects/one.jsonl");
    write("projects/one.jsonl", "one", 3, 200_000);
    await store.import(file);
    write("projects/one.jsonl", "one", 6, 200_001);
    assert.equal((await store.import(file)).entryCount, 6);
    assert.deepEqual(warnings, []);
  } finally {
    store.close();
  }
});
