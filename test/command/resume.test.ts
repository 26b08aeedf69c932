/** Which conversations `/resume` offers. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { CommandContext } from "../../packages/host/src/command/command-types.ts";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { otherConversations } from "../../packages/host/src/command/session-choices.ts";
import { FakePagurus } from "../cli/fake-pagurus.ts";
import { openStore, sayTurn, temporaryFolder } from "../stores/files/fixtures.ts";

/** A store with conversations of one turn each. */
function storeWith(
  t: TestContext,
  sessions: readonly { key: string; cwd: string; folder?: string }[],
): SessionStore {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  for (const { key, cwd, folder } of sessions) {
    store.create(key, { cwd, ...(folder === undefined ? {} : { folder }) });
    const writer = store.openWriter(key, { cwd });
    sayTurn(writer, "t1", `words of ${key}`);
    writer.close();
  }
  return store;
}

function keys(store: SessionStore, key: string, cwd: string): string[] {
  return otherConversations(store, key, cwd)
    .map(({ sessionKey }) => sessionKey)
    .toSorted();
}

test("/resume offers a fork and what it was made from, where one conversation is that of all folders", async (t) => {
  const store = storeWith(t, [
    { key: "main", cwd: "/app" },
    { key: "of-a-program", cwd: "/srv" },
  ]);
  await store.fork("main", "main-2");
  assert.deepEqual(keys(store, "main", "/elsewhere"), ["main-2"]);
  assert.deepEqual(keys(store, "main-2", "/elsewhere"), ["main"]);
  const pagurus = Object.assign(new FakePagurus(), { sessions: () => store });
  const where: CommandContext = { sessionKey: "main-2", agentId: "main", cwd: "/elsewhere", pagurus };
  assert.match(
    (await runCommand("/resume", where)).text,
    /^Say one of these:\n\/resume main {2}"words of main"/,
  );
  const { effects } = await runCommand("/resume main", where);
  assert.deepEqual(effects, [{ type: "session", sessionKey: "main" }]);
});

test("/resume offers the conversations of the folder alone, where each folder has its own", (t) => {
  const store = storeWith(t, [
    { key: "app", cwd: "/app", folder: "/app" },
    { key: "app-2", cwd: "/app", folder: "/app" },
    { key: "named", cwd: "/app" },
    { key: "docs", cwd: "/docs", folder: "/docs" },
  ]);
  assert.deepEqual(keys(store, "app", "/app"), ["app-2"]);
  assert.deepEqual(keys(store, "named", "/app"), ["app", "app-2"]);
  assert.deepEqual(keys(store, "new", "/docs"), ["docs"]);
});
