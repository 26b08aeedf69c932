/** What the event log and the inbox keep. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { LocalEvents } from "../../packages/inbox/src/local-events.ts";
import { LocalInbox } from "../../packages/inbox/src/local-inbox.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";

const TYPES = ["text.delta", "thinking.delta", "tool.output", "message"];

it("ended work loses its deltas first and is removed later; open work stays as it is", async () => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-inbox-"));
  const db = openServerDatabase(home);
  let now = 1_000;
  const events = new LocalEvents(db);
  const inbox = new LocalInbox({ db, events, now: () => now });
  const place = { agentId: "main", sessionKey: "work" };
  const posted = async (): Promise<string> => {
    const request = { prompt: "Hello." };
    const work = {
      ...place,
      kind: "turn",
      request,
      policy: "queue",
      origin: "test",
      authority: { ...OWNER, tokenId: "test" },
    } as const;
    const { id } = (await inbox.post(work)).work;
    for (const type of TYPES) events.add({ ...place, workId: id, type, data: { delta: "a" } });
    events.flush();
    return id;
  };
  const typesOf = (workId: string): string[] => events.after(0, { workId }).map(({ type }) => type);
  try {
    const [old, fresh, open] = [await posted(), await posted(), await posted()];
    inbox.ended(inbox.get(old), { outcome: "completed" });
    now = 5_000;
    inbox.ended(inbox.get(fresh), { outcome: "completed" });
    assert.equal(events.prune(5_000), 3);
    assert.deepEqual(typesOf(old), ["work.accepted", "message", "work.ended"]);
    assert.deepEqual(typesOf(fresh), ["work.accepted", ...TYPES, "work.ended"]);
    assert.deepEqual(typesOf(open), ["work.accepted", ...TYPES]);
    assert.equal(events.prune(6_000), 3);
    assert.deepEqual(typesOf(fresh), ["work.accepted", "message", "work.ended"]);
    assert.equal(events.prune(7_000), 0);
    assert.equal(inbox.prune(5_000), 1, "the work that ended before");
    assert.deepEqual([typesOf(old), typesOf(fresh).length, typesOf(open).length], [[], 3, 5]);
    assert.throws(() => inbox.get(old), { code: "work_not_found" });
    assert.equal(inbox.prune(Date.now()), 1, "open work stays");
    assert.equal(inbox.get(open).state, "waiting");
  } finally {
    db.close();
    rmSync(home, { recursive: true, force: true });
  }
});
