/** Entries that a request did not hold, and where each was, over real transcripts. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { ReceiptPart } from "../../packages/contract/src/session/receipt.ts";
import type { SessionWriter } from "../../packages/contract/src/session/writer.ts";
import type { LeftOutEntry } from "../../packages/api/src/types.ts";
import { leftOut, leftOutSums } from "../../packages/server/src/inspect/timeline/left-out.ts";
import { SessionOutline } from "../../packages/server/src/inspect/timeline/session-outline.ts";
import { Timeline } from "../../packages/server/src/inspect/timeline/timeline-items.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";

describe("what a request left out", () => {
  let folder: string;
  let store: SessionStore;
  let writer: SessionWriter;
  let outline: SessionOutline;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-left-out-"));
    store = openSessionStore({ agentDir: folder, agentId: "main" });
    writer = store.openWriter("a", { cwd: folder });
    outline = new SessionOutline(writer.record.file);
  });
  afterEach(() => {
    writer.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function message(text: string, role: "user" | "assistant" = "user"): string {
    const content = [{ type: "text" as const, text }];
    return writer.append({ type: "message", turnId: "t1", message: { role, content } as never }).id;
  }

  function part(entryId: string, more: Partial<ReceiptPart> = {}): ReceiptPart {
    return { source: "history", role: "user", entryId, tokens: 1, bytes: 1, hash: "", ...more };
  }

  async function left(parts: ReceiptPart[], epoch?: string): Promise<LeftOutEntry[]> {
    await outline.refresh();
    const timestamp = new Date(Date.now() + 1).toISOString();
    return leftOut(outline, { parts, timestamp, ...(epoch === undefined ? {} : { epoch }) });
  }

  function node(id: string, first: string, last: string) {
    const counts = { depth: 0, tokens: 1, sourceTokens: 9 };
    const span = { firstEntryId: first, lastEntryId: last };
    return {
      nodeId: id,
      kind: "leaf",
      ...span,
      ...counts,
      children: [],
      text: `text of ${id}`,
      origin: "model",
      state: "published",
    };
  }

  function compact(firstKeptEntryId: string, details: unknown, summary = "sum"): string {
    return writer.append({
      type: "compaction",
      summary,
      firstKeptEntryId,
      tokensBefore: 9,
      origin: "engine",
      details,
    }).id;
  }

  it("is in the summary that covers it, by the epoch of the request", async () => {
    const ids = ["a", "b", "c", "d", "e", "f"].map((text) => message(text));
    const [a = "", b = "", c = "", d = "", e = "", f = ""] = ids;
    const by = compact(e, {
      epoch: { id: "first", stubs: {} },
      frontier: ["n1", "n2"],
      nodes: [node("n0", a, b), node("n1", a, b), node("n2", c, d)],
    });
    compact(f, { epoch: { id: "second", stubs: {} }, frontier: ["n3"], nodes: [node("n3", a, e)] });
    const found = await left([part(e), part(f)], "first");
    assert.deepEqual(
      found.map(({ entryId, where, summaryId, by: of }) => [entryId, where, summaryId, of]),
      [
        [a, "summarized", "n1", by],
        [b, "summarized", "n1", by],
        [c, "summarized", "n2", by],
        [d, "summarized", "n2", by],
      ],
    );
    assert.deepEqual(
      leftOutSums(found).map(({ summaryId, entries, firstEntryId, lastEntryId }) => [
        summaryId,
        entries,
        firstEntryId,
        lastEntryId,
      ]),
      [
        ["n1", 2, a, b],
        ["n2", 2, c, d],
      ],
    );
    const later = await left([part(f)], "second");
    assert.ok(later.every(({ summaryId }) => summaryId === "n3"));
  });

  it("is summarized by a compaction without nodes, or evicted after its cut", async () => {
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((text) => message(text));
    const by = compact(b, undefined);
    const found = await left([part(c)]);
    assert.deepEqual(
      found.map(({ entryId, where, by: of }) => [entryId, where, of]),
      [
        [a, "summarized", by],
        [b, "evicted", undefined],
      ],
    );
  });

  it("was trimmed or obsolete though its entry is in the request", async () => {
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((text) => message(text));
    compact(a, {
      epoch: { id: "x", stubs: { [`${b}/call_1`]: { text: "gone", by: c } } },
      frontier: [],
      nodes: [],
    });
    const trimmed = { fromBytes: 900, toBytes: 90 };
    const found = await left([part(a, { trimmed }), part(b), part(c)], "x");
    assert.deepEqual(
      found.map(({ entryId, where, by, trimmed: cut }) => [entryId, where, by, cut]),
      [
        [a, "trimmed", undefined, trimmed],
        [b, "obsolete", c, undefined],
      ],
    );
  });

  it("was off the path: rewound, or replaced by another entry", async () => {
    const a = message("a");
    const b = message("b", "assistant");
    writer.commitTurn({ turnId: "t1", outcome: "completed" });
    const { changed } = writer.rewrite([
      { entryId: b, message: { role: "assistant", content: [{ type: "text", text: "shorter" }] } },
    ] as never);
    assert.ok(changed);
    const c = message("c");
    writer.rewind(a);
    const d = message("d");
    const found = await left([part(a), part(d)]);
    const places = found.map(({ entryId, where, by }) => [entryId, where, by === undefined]);
    assert.ok(places.every(([, where]) => where === "off-path"));
    const replaced = found.find(({ entryId }) => entryId === b);
    assert.ok(replaced?.by !== undefined && outline.get(replaced.by)?.supersedes === b);
    assert.ok(found.some(({ entryId }) => entryId === c));
    const items = new Timeline(outline).items([]);
    assert.deepEqual(
      items
        .filter(({ kind }) => kind === "rewind")
        .map((item) => item.kind === "rewind" && item.targetId)
        .slice(-1),
      [a],
    );
  });

  it("is nothing of what was written after it", async () => {
    const a = message("a");
    await outline.refresh();
    const timestamp = outline.get(a)?.at ?? "";
    message("later, in the same millisecond perhaps");
    await outline.refresh();
    assert.deepEqual(leftOut(outline, { parts: [part(a)], timestamp }), []);
  });

  it("is read on from where the last reading ended", async () => {
    const a = message("a");
    assert.deepEqual(await left([part(a)]), []);
    const b = message("b");
    assert.deepEqual(
      (await left([part(b)])).map(({ entryId }) => entryId),
      [a],
    );
    assert.equal(outline.entries.length, 2);
  });
});
