/** A line of time that is read on, over a real transcript. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { SessionOutline } from "../../packages/server/src/inspect/timeline/session-outline.ts";
import { Timeline } from "../../packages/server/src/inspect/timeline/timeline-items.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { random as seededRandom } from "../runner/seeded-random.ts";

describe("a line of time", () => {
  it("has the same items whether it is read on or at once, also after rewinds", async () => {
    const random = seededRandom(11);
    const folder = mkdtempSync(join(tmpdir(), "pagurus-timeline-"));
    const store = openSessionStore({ agentDir: folder, agentId: "main" });
    const writer = store.openWriter("a", { cwd: folder, create: true });
    try {
      const outline = new SessionOutline(writer.record.file);
      const line = new Timeline(outline);
      const ids: string[] = [];
      let rewound = 0;
      for (let turn = 0; turn < 60; turn++) {
        const turnId = `t${turn}`;
        const { id } = writer.append({ type: "message", turnId, message: { role: "user", content: turnId } });
        ids.push(id);
        if (random() < 0.7) writer.commitTurn({ turnId, outcome: "completed" });
        const target = ids[Math.floor(random() * ids.length)];
        if (random() < 0.3 && target !== undefined) writer.rewind(target);
        if (random() < 0.4) continue;
        await outline.refresh();
        const items = line.items([]);
        assert.deepEqual(items, new Timeline(outline).items([]));
        const turns = items.filter((item) => item.kind === "turn");
        const path = new Set(Array.from(outline.pathBefore(outline.entries.length), ({ id: each }) => each));
        for (const { onPath, inputEntryId = "" } of turns) assert.equal(onPath, path.has(inputEntryId));
        rewound = turns.filter(({ onPath }) => !onPath).length;
      }
      assert.ok(rewound > 0);
    } finally {
      writer.close();
      store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
