/** The branches of a conversation, over a real transcript, and the turns that another runtime took over. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { TimelineItem } from "../../packages/api/src/types.ts";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { SessionWriter } from "../../packages/contract/src/session/writer.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { branchesOf } from "../../packages/server/src/inspect/timeline/branches.ts";
import { SessionOutline } from "../../packages/server/src/inspect/timeline/session-outline.ts";
import { switchesOf } from "../../packages/server/src/inspect/timeline/timeline-items.ts";

describe("the branches of a conversation", () => {
  let folder: string;
  let store: SessionStore;
  let writer: SessionWriter;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-branches-"));
    store = openSessionStore({ agentDir: folder, agentId: "main" });
    writer = store.openWriter("a", { cwd: folder, create: true });
  });
  afterEach(() => {
    writer.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A turn with these words and an answer; returns its last entry. */
  function turn(words: string): string {
    const turnId = `turn of ${words}`;
    writer.append({ type: "message", turnId, message: { role: "user", content: words } });
    writer.append({
      type: "message",
      turnId,
      message: { role: "assistant", content: [{ type: "text", text: `answer to ${words}` }] },
    });
    writer.commitTurn({ turnId, outcome: "completed" });
    return writer.leafId ?? "";
  }

  /** Each place as the words of its turns, with a mark at the one that is the conversation now. */
  async function shown(): Promise<string[]> {
    const outline = new SessionOutline(writer.record.file);
    await outline.refresh();
    return branchesOf(outline).map(({ turns }) =>
      turns.map(({ title, onPath }) => `${title}${onPath ? "*" : ""}`).join(" | "),
    );
  }

  it("are the turns that continue the same one, in the order of writing", async () => {
    const plan = turn("plan");
    turn("by train");
    assert.deepEqual(await shown(), []);
    writer.rewind(plan);
    turn("by boat");
    const pay = turn("who pays");
    writer.rewind(plan);
    const both = turn("both");
    assert.deepEqual(await shown(), ["by train | by boat | both*"]);
    writer.rewind(pay);
    assert.deepEqual(await shown(), ["by train | by boat* | both"]);
    writer.rewind(both);
    assert.deepEqual(await shown(), ["by train | by boat | both*"]);
  });

  it("lead back to their newest entry, also one of a later turn", async () => {
    const plan = turn("plan");
    turn("by boat");
    const last = turn("who pays");
    writer.rewind(plan);
    turn("by train");
    const outline = new SessionOutline(writer.record.file);
    await outline.refresh();
    const [place] = branchesOf(outline);
    const boat = place?.turns.find(({ title }) => title === "by boat");
    assert.equal(boat?.leafId, last);
    assert.equal(boat.onPath, false);
  });

  it("are at the beginning too, and at the end of a conversation that was rewound", async () => {
    turn("plan");
    writer.rewind(null);
    assert.deepEqual(await shown(), ["plan"]);
    const other = turn("another plan");
    assert.deepEqual(await shown(), ["plan | another plan*"]);
    turn("next");
    writer.rewind(other);
    assert.deepEqual(await shown(), ["plan | another plan*", "next"]);
  });

  it("do not begin where a text replaced an earlier one, or inside a turn", async () => {
    const turnId = "one";
    writer.append({ type: "message", turnId, message: { role: "user", content: "go" } });
    const tool = writer.append({
      type: "message",
      turnId,
      message: {
        role: "assistant",
        content: [{ type: "text", text: "a long text that is shortened later" }],
      },
    });
    // Words that were added while the turn ran.
    writer.append({ type: "message", turnId, message: { role: "user", content: "and hurry" } });
    writer.commitTurn({ turnId, outcome: "completed" });
    turn("next");
    const changed = writer.rewrite([
      { entryId: tool.id, message: { role: "assistant", content: [{ type: "text", text: "short" }] } },
    ]);
    assert.equal(changed.changed, true);
    assert.deepEqual(await shown(), []);
  });
});

describe("a change of runtimes", () => {
  it("is at the first turn that another one ran, on the path alone", () => {
    const item = (turnId: string, runtime: string, onPath = true): TimelineItem => ({
      id: `t${turnId}`,
      at: "2026-11-30T10:00:00.000Z",
      kind: "turn",
      turnId,
      title: turnId,
      inputEntryId: `e${turnId}`,
      entries: 2,
      runtimes: [runtime],
      onPath,
    });
    const switches = switchesOf([
      item("1", "embedded"),
      item("2", "claude", false),
      item("3", "codex"),
      item("4", "codex"),
      item("5", "embedded"),
    ]);
    assert.deepEqual(
      switches.map(({ turnId, from, to }) => `${turnId}: ${from} to ${to}`),
      ["3: embedded to codex", "5: codex to embedded"],
    );
  });
});
