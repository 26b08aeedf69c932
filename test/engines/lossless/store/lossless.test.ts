import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { TranscriptEntry } from "../../../../packages/contract/src/session/transcript.ts";
import { anyMessage, chain, messageEntry, withStore } from "./fixtures.ts";
import { runs } from "../../../runner/short-form.ts";

describe("stored entries are returned byte for byte", () => {
  it("for messages of every role and content", async () => {
    await withStore((store) => {
      let parent: string | null = null;
      let index = 0;
      fc.assert(
        fc.property(anyMessage, (message) => {
          const entry = messageEntry(`m${index++}`, parent, message);
          parent = entry.id;
          store.ingestTurn("s", [entry]);
          assert.equal(store.getJson(entry.id), JSON.stringify(message));
          assert.deepEqual(store.get(entry.id)?.message, message);
          assert.equal(JSON.stringify(store.get(entry.id)?.message), JSON.stringify(message));
        }),
        { numRuns: runs(150) },
      );
    });
  });

  it("when other strings look like the marks that the store inserts", async () => {
    const marks = [0, 1, 7].flatMap((name) => [
      `\u0001${name}.0\u0001`,
      `"\u0001${name}.1\u0001`,
      `\u0001${name}.`,
      `\\"\u0001${name}.0\u0001"`,
    ]);
    const all = Array.from({ length: 12 }, (_, name) => `\u0001${name}.0\u0001`).join('"');
    await withStore(async (store) => {
      for (const [index, mark] of [...marks, all, `"${all}`].entries()) {
        const message = {
          role: "assistant" as const,
          content: [
            { type: "text" as const, text: `words ${index} ${mark}` },
            { type: "toolCall" as const, id: mark, name: mark, arguments: { [mark]: mark, list: [mark] } },
          ],
          provider: mark,
          [mark]: mark,
        };
        store.ingestTurn(`s${index}`, [messageEntry(`m${index}`, null, message)]);
        assert.equal(store.getJson(`m${index}`), JSON.stringify(message), mark);
        assert.deepEqual(store.get(`m${index}`)?.message, message);
      }
      assert.deepEqual((await store.verify()).problems, []);
    });
  });

  it("for an entry of a type from a later version, which no context shows", async () => {
    await withStore((store) => {
      const [first, last] = chain(["one", "two"]);
      assert.ok(first && last);
      const later = { ...last, type: "mood_change", id: "m9", parentId: first.id, mood: "calm" };
      store.ingestTurn("s", [
        first,
        later as unknown as TranscriptEntry,
        { ...last, id: "m99", parentId: "m9" },
      ]);
      assert.equal(store.getJson("m9"), JSON.stringify(later));
      const walk = store.walkBack("s", { kinds: ["message"] });
      assert.deepEqual(
        walk.items.map(({ entryId }) => entryId),
        [first.id, "m99"],
      );
    });
  });

  it("for values with their own toJSON", async () => {
    class Words {
      readonly type = "text";
      readonly text = "secret";
      toJSON(): object {
        return { type: "text", text: "as told" };
      }
    }
    const message = {
      role: "user" as const,
      content: [new Words(), { type: "text" as const, text: "plain" }],
    };
    await withStore(async (store) => {
      store.ingestTurn("s", [messageEntry("a", null, message)]);
      assert.equal(store.getJson("a"), JSON.stringify(message));
      assert.equal((await store.search({ query: "told" })).length, 1);
    });
  });

  it("when the text of a part is also the arguments of a call", async () => {
    const words = { path: "src/tide.ts" };
    const message = {
      role: "assistant" as const,
      content: [
        { type: "text" as const, text: JSON.stringify(words) },
        { type: "toolCall" as const, id: "c", name: "read", arguments: words },
      ],
    };
    await withStore(async (store) => {
      store.ingestTurn("s", [messageEntry("a", null, message)]);
      assert.equal(store.getJson("a"), JSON.stringify(message));
      assert.deepEqual((await store.verify()).problems, []);
      await store.deleteSession(["s"]);
      assert.deepEqual((await store.verify()).counts, {
        sessions: 0,
        entries: 0,
        texts: 0,
        payloads: 0,
        nodes: 0,
      });
    });
  });

  it("for entries of every other type", async () => {
    const base = { parentId: null, timestamp: "2026-05-01T10:00:00.000Z" };
    const entries: TranscriptEntry[] = [
      {
        ...base,
        type: "compaction",
        id: "a",
        summary: "Goal: a\nb",
        firstKeptEntryId: "x",
        tokensBefore: 3,
        origin: "model",
      },
      { ...base, type: "custom", id: "b", parentId: "a", customType: "receipt", data: { z: 1, a: ["text"] } },
      { ...base, type: "custom_message", id: "c", parentId: "b", customType: "fragment", content: "note\n" },
      { ...base, type: "model_change", id: "d", parentId: "c", provider: "p", modelId: "m" },
      { ...base, type: "session_info", id: "e", parentId: "d", name: "name" },
      {
        ...base,
        type: "turn_commit",
        id: "f",
        parentId: "e",
        turnId: "t",
        outcome: "failed",
        code: "internal",
      },
    ];
    await withStore((store) => {
      store.ingestTurn("s", entries);
      for (const entry of entries) {
        assert.equal(store.getJson(entry.id), JSON.stringify(entry));
        assert.deepEqual(store.get(entry.id)?.entry, entry);
      }
    });
  });

  it("with the newest compaction of a path found by an index, and not one of an abandoned branch", async () => {
    const compaction = (id: string, parentId: string): TranscriptEntry => {
      const timestamp = "2026-05-01T10:00:00.000Z";
      return {
        type: "compaction",
        id,
        parentId,
        timestamp,
        summary: `Up to ${id}`,
        firstKeptEntryId: "e1",
        tokensBefore: 3,
        origin: "model",
      };
    };
    await withStore((store) => {
      const newest = (): unknown[] => {
        const found = store.newestCompaction("s");
        return [found?.entryId, found?.position];
      };
      store.ingestTurn("s", chain(["a", "b", "c"]));
      assert.deepEqual(newest(), [undefined, undefined]);
      store.ingestTurn("s", [compaction("k1", "e2"), ...chain(["d", "e"], "f", "k1")]);
      assert.deepEqual(newest(), ["k1", 3]);
      store.ingestTurn("s", [compaction("k2", "f1")]);
      const found = store.newestCompaction("s");
      assert.deepEqual([found?.entryId, found?.position, found?.entry], ["k2", 6, compaction("k2", "f1")]);
      store.ingestTurn("s", chain(["other"], "g", "f0"));
      assert.deepEqual(newest(), ["k1", 3], "a rewind leaves it on another branch");
      store.ingestTurn("s", chain(["first"], "h", "e1"));
      assert.deepEqual(newest(), [undefined, undefined]);
      const raw = new DatabaseSync(store.file);
      const sql = "EXPLAIN QUERY PLAN SELECT max(num) FROM entries WHERE kind = 3 AND num BETWEEN ? AND ?";
      const plan = raw.prepare(sql).all(1, 9);
      raw.close();
      assert.match(JSON.stringify(plan), /entries_compaction/);
    });
  });

  it("without the id that the host adds to messages that it returns", async () => {
    await withStore((store) => {
      store.ingestTurn("s", [messageEntry("a", null, { role: "user", content: "hello", entryId: "a" })]);
      assert.equal(store.getJson("a"), '{"role":"user","content":"hello"}');
    });
  });

  it("with large opaque parts stored separately, with their hash, size and type", async () => {
    const data = Buffer.alloc(3_000, 7).toString("base64");
    await withStore((store) => {
      const message = {
        role: "user" as const,
        content: [{ type: "image" as const, data, mimeType: "image/png" }],
      };
      store.ingestTurn("s", [messageEntry("a", null, message), messageEntry("b", "a", message)]);
      assert.deepEqual(
        store.payloads("a").map(({ size, mime }) => ({ size, mime })),
        [{ size: 3_000, mime: "image/png" }],
      );
      assert.equal(store.sizeReport().payloadBytes, 3_000);
      assert.equal(store.getJson("b"), JSON.stringify(message));
    });
  });
});

describe("identity is the entry's id", () => {
  it("the same turn twice is one turn", async () => {
    await withStore((store) => {
      const turn = chain(["one", "two", "three"]);
      assert.deepEqual(store.ingestTurn("s", turn), { stored: 3, known: 0, leafId: "e2" });
      assert.deepEqual(store.ingestTurn("s", turn), { stored: 0, known: 3, leafId: "e2" });
      assert.deepEqual(store.ingestTurn("s", [...turn, ...turn]), { stored: 0, known: 6, leafId: "e2" });
      assert.equal(store.session("s")?.entries, 3);
    });
  });

  it("six identical turns are twelve messages", async () => {
    await withStore((store) => {
      let parent: string | null = null;
      for (let turn = 0; turn < 6; turn++) {
        const [user, assistant] = [`u${turn}`, `a${turn}`];
        store.ingestTurn("s", [
          messageEntry(user, parent, "yes"),
          messageEntry(assistant, user, { role: "assistant", content: [{ type: "text", text: "done" }] }),
        ]);
        parent = assistant;
      }
      const { items } = store.walkBack("s");
      assert.equal(items.length, 12);
      assert.equal(store.sizeReport().texts, 2);
    });
  });

  it("an entry that follows an unknown one is refused, and nothing of its turn is stored", async () => {
    await withStore((store) => {
      assert.throws(() => store.ingestTurn("s", [...chain(["one"]), messageEntry("z", "unknown", "z")]), {
        code: "entry_not_found",
      });
      assert.equal(store.session("s"), undefined);
    });
  });

  it("equal ids of sessions that have nothing in common are two entries", async () => {
    await withStore((store) => {
      store.ingestTurn("a", chain(["one", "two"]));
      store.ingestTurn("b", chain(["one", "other"]));
      assert.equal(store.get("e1", "a")?.message?.content, "two");
      assert.equal(store.get("e1", "b")?.message?.content, "other");
    });
  });
});
