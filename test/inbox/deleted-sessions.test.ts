/** The inbox forgets sessions that another program deleted, a slice of them at each look. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { DeletedSessions, SLICE } from "../../packages/inbox/src/deleted-sessions.ts";
import { LocalEvents } from "../../packages/inbox/src/local-events.ts";
import { LocalInbox } from "../../packages/inbox/src/local-inbox.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { Work, WorkPlace } from "../../packages/inbox/src/work.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";

const NOW = 1_000_000;

class Stage {
  readonly deleted = new Set<string>();
  readonly inbox: LocalInbox;
  readonly sweep: DeletedSessions;
  /** Sessions that were looked up in a store since the last count. */
  asked = 0;

  constructor(t: TestContext) {
    const home = mkdtempSync(join(tmpdir(), "pagurus-inbox-"));
    const db = openServerDatabase(home);
    t.after(() => {
      db.close();
      rmSync(home, { recursive: true, force: true });
    });
    this.inbox = new LocalInbox({ db, events: new LocalEvents(db), now: () => NOW });
    this.sweep = new DeletedSessions({
      inbox: this.inbox,
      exists: ({ sessionKey }) => {
        this.asked += 1;
        return !this.deleted.has(sessionKey);
      },
      forget: (place) => this.inbox.forget(place),
    });
  }

  async post(sessionKey: string, agentId = "main"): Promise<Work> {
    const work = {
      agentId,
      sessionKey,
      kind: "turn",
      request: { prompt: "Hello." },
      policy: "queue",
    } as const;
    return (await this.inbox.post({ ...work, origin: "test", authority: { ...OWNER, tokenId: "test" } }))
      .work;
  }

  async ended(sessionKey: string, agentId?: string): Promise<void> {
    const work = await this.post(sessionKey, agentId);
    this.inbox.ended(work, { outcome: "completed" });
  }

  /** Number of sessions that one look asks for. */
  async look(before = NOW + 1): Promise<number> {
    this.asked = 0;
    await this.sweep.look(before);
    return this.asked;
  }

  has(sessionKey: string, agentId = "main"): number {
    const place: WorkPlace = { agentId, sessionKey };
    return this.inbox.ofSession(place, 10).length;
  }
}

describe("sessions that another program deleted", () => {
  it("are found by looks that each ask for a limited number, again and again", async (t) => {
    const stage = new Stage(t);
    const keys = Array.from({ length: SLICE * 2 + 50 }, (_, index) => `s${String(index).padStart(4, "0")}`);
    await Promise.all(keys.map((key) => stage.ended(key)));
    const last = keys.at(-1) ?? "";
    stage.deleted.add(last);
    assert.deepEqual([await stage.look(), await stage.look(), stage.has(last)], [SLICE, SLICE, 1]);
    assert.deepEqual([await stage.look(), stage.has(last)], [50, 0]);
    const first = keys[0] ?? "";
    stage.deleted.add(first);
    assert.deepEqual([await stage.look(), stage.has(first)], [SLICE, 0]);
    assert.equal(stage.has(keys[1] ?? ""), 1);
  });

  it("lose what has ended; what is open, new, or another agent's stays", async (t) => {
    const stage = new Stage(t);
    await stage.ended("open");
    await stage.post("open");
    await stage.ended("shared", "cook");
    await stage.ended("other");
    stage.deleted.add("open");
    assert.equal(await stage.look(NOW), 0, "ended just now");
    assert.equal(stage.has("open"), 2);
    // Once at the end of the sessions, the next look begins again.
    await stage.look();
    assert.deepEqual([stage.has("open"), stage.has("other"), stage.has("shared", "cook")], [1, 1, 1]);
    assert.equal(stage.inbox.open().length, 1);
  });
});
