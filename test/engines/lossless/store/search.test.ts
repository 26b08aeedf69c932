import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { chain, cursorOver, messageEntry, withStore } from "./fixtures.ts";
import { longTest } from "../../../runner/long-tests.ts";

const filler = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `common words about number ${index} of the work`);

describe("search", () => {
  it("finds a rare word among common ones, with its place", async () => {
    await withStore(async (store) => {
      const texts = filler(200);
      texts[40] = "the launch code is Heron-7741, remember it";
      store.ingestTurn("s", chain(texts));
      store.openSession("s", { sessionKey: "main" });
      const [hit, ...others] = await store.search({ query: "heron-7741" });
      assert.deepEqual(others, []);
      assert.deepEqual(
        { ...hit, score: 0 },
        {
          kind: "entry",
          entryId: "e40",
          sessionId: "s",
          sessionKey: "main",
          role: "user",
          snippet: "the launch code is Heron-7741, remember it",
          score: 0,
          onPath: true,
          position: 40,
          time: Date.UTC(2026, 4, 1, 10),
        },
      );
      assert.equal((await store.search({ query: "common words", limit: 20 })).length, 20);
      assert.equal((await store.search({ query: "common launch" }))[0]?.entryId, "e40");
    });
  });

  it("prefers messages of a sitting that has more of the words", async () => {
    await withStore(async (store) => {
      const texts = [
        "A harbour.",
        "A boat.",
        "A mast.",
        "A heron.",
        "A lamp.",
        "A rope.",
        "A sail.",
        "Our harbour.",
      ];
      // Four sittings, or one.
      for (const [session, minutes] of [
        ["long", [0, 5, 10, 60, 65, 120, 125, 180]],
        ["short", [0, 5, 10, 15, 20, 25, 30, 35]],
      ] as const)
        store.ingestTurn(
          session,
          chain(texts, session).map((entry, index) => ({
            ...entry,
            timestamp: new Date(Date.UTC(2026, 0, 5, 9, minutes[index])).toISOString(),
          })),
        );
      const first = async (session: string): Promise<string | undefined> => {
        const hits = await store.search({
          query: "harbour boat mast heron lamp rope sail",
          sessions: [session],
        });
        return hits.find(({ snippet }) => snippet.includes("harbour"))?.entryId;
      };
      assert.equal(await first("long"), "long0");
      assert.equal(await first("short"), "short7");
    });
  });

  it("finds the forms of a word, but not words that only begin like it", async () => {
    await withStore(async (store) => {
      store.ingestTurn("s", chain(["She painted the boat.", "A painstaking work.", "Paintings are dear."]));
      const ids = async (query: string): Promise<string[]> =>
        (await store.search({ query })).map(({ entryId }) => entryId).toSorted();
      assert.deepEqual(await ids("what does she paint"), ["e0"]);
      assert.deepEqual(await ids("pains"), []);
    });
  });

  it("finds two-character words of scripts without spaces", async () => {
    await withStore(async (store) => {
      store.ingestTurn(
        "s",
        chain(["我们决定把数据库迁移到新的服务器", "今天天气很好", "リリースは金曜日です"]),
      );
      for (const [query, id] of [
        ["迁移", "e0"],
        ["数据库", "e0"],
        ["天气", "e1"],
        ["気", undefined],
        ["金曜", "e2"],
        ["服", "e0"],
      ] as const)
        assert.equal((await store.search({ query }))[0]?.entryId, id, query);
    });
  });

  it("finds words in tool calls, also after line breaks", async () => {
    await withStore(async (store) => {
      const call = {
        type: "toolCall" as const,
        id: "c",
        name: "write",
        arguments: { path: "src/Tide-Table.ts", content: "a;\nexport const moon = 1;" },
      };
      store.ingestTurn("s", [messageEntry("a", null, { role: "assistant", content: [call] })]);
      for (const query of ["src/tide-table.ts", "export", "moon"])
        assert.equal((await store.search({ query }))[0]?.entryId, "a", query);
    });
  });

  it("finds names by their parts and as written, in whichever form they are typed", async () => {
    await withStore(async (store) => {
      store.ingestTurn(
        "s",
        chain([
          "function orderDeskFor(client) {}",
          "the desk is tidy",
          "parcel_tracker_queue=tis-7",
          "see lib/web/router.ex",
          "a router and a web",
        ]),
      );
      for (const [query, id] of [
        ["order desk for", "e0"],
        ["orderDeskFor", "e0"],
        ["orderdeskfor", "e0"],
        ["parcel tracker queue", "e2"],
        ["parcel-tracker", "e2"],
        ["lib/web/router.ex", "e3"],
      ] as const)
        assert.equal((await store.search({ query }))[0]?.entryId, id, query);
    });
  });

  it("finds words in scripts whose marks end an index token, and letters with decomposed marks", async () => {
    await withStore(async (store) => {
      store.ingestTurn(
        "s",
        chain(["यह हिन्दी में एक वाक्य है", "كِتَابٌ على الطاولة", "cafe\u0301 au lait", "Straße"]),
      );
      for (const [query, id] of [
        ["हिन्दी", "e0"],
        ["كِتَابٌ", "e1"],
        ["café", "e2"],
        ["cafe", "e2"],
        ["straße", "e3"],
      ] as const)
        assert.equal((await store.search({ query }))[0]?.entryId, id, query);
    });
  });

  it("finds an old text by a unique combination of common words, and the rare word of a long question", async () => {
    await withStore(async (store) => {
      const texts = Array.from({ length: 3_000 }, (_, n) => (n % 2 === 0 ? `crane ${n}` : `berth ${n}`));
      texts[10] = "the crane stands beside the berth";
      texts[20] = "crane with a xebec";
      store.ingestTurn("s", chain(texts));
      assert.equal((await store.search({ query: "crane berth" }))[0]?.entryId, "e10");
      const question = `${"crane and berth, please, what of it and where ".repeat(6)} xebec`;
      assert.equal((await store.search({ query: question }))[0]?.entryId, "e20");
    });
  });

  it("never interprets user input as query syntax", async () => {
    await withStore(async (store) => {
      store.ingestTurn("s", chain(['he said "hello" AND left', "NEAR the end*"]));
      for (const query of [
        '"',
        "AND",
        "a OR",
        "(",
        "NEAR(",
        "*",
        "body:x",
        '"hello" AND',
        "^",
        "-left",
        "\ue000t1",
        "\0",
      ])
        await assert.doesNotReject(store.search({ query }), query);
      assert.equal((await store.search({ query: '"hello"' })).length, 1);
      assert.deepEqual(await store.search({ query: "…" }), []);
    });
  });

  it("within some sessions reads no others, even with equal texts", async () => {
    await withStore(async (store) => {
      store.ingestTurn("a", chain(filler(50), "a"));
      store.ingestTurn("b", chain(["common words about number 3 of the work", "unique lantern"], "b"));
      store.ingestTurn("c", chain(["unique lantern"], "c"));
      const ids = (await store.search({ query: "common words", sessions: ["b"] })).map((hit) => hit.entryId);
      assert.deepEqual(ids, ["b0"]);
      const both = (await store.search({ query: "lantern" })).map(({ sessionId }) => sessionId);
      assert.deepEqual(both.toSorted(), ["b", "c"]);
      assert.deepEqual(await store.search({ query: "lantern", sessions: ["a"] }), []);
      await assert.rejects(store.search({ query: "lantern", sessions: ["no"] }), {
        code: "session_not_found",
      });
    });
  });

  it("marks entries off the path and lists an entry of a fork once", async () => {
    await withStore(async (store) => {
      const path = chain(["first lantern", "second harbour"]);
      store.ingestTurn("s", path);
      store.ingestTurn("fork", path);
      store.moveLeaf("s", "e0");
      const hits = await store.search({ query: "harbour" });
      assert.deepEqual(
        hits.map(({ entryId, sessionId, onPath }) => [entryId, sessionId, onPath]),
        [["e1", "fork", true]],
      );
      const [hit] = await store.search({ query: "harbour", sessions: ["s"] });
      assert.equal(hit?.onPath, false);
    });
  });

  it("ranks the user's text above a tool's, and the path above rewritten entries", async () => {
    await withStore(async (store) => {
      const tool = { role: "toolResult" as const, toolCallId: "c", toolName: "t", isError: false };
      store.ingestTurn("s", [
        messageEntry("user", null, "the kestrel flies at dawn"),
        messageEntry("tool", "user", {
          ...tool,
          content: [{ type: "text", text: "the kestrel flies at noon" }],
        }),
        messageEntry("old", "tool", "a copied sparrow"),
        messageEntry("new", "tool", "a copied sparrow", { supersedes: "old" }),
      ]);
      assert.equal((await store.search({ query: "kestrel" }))[0]?.entryId, "user");
      const sparrows = await store.search({ query: "sparrow" });
      assert.deepEqual(
        sparrows.map(({ entryId, onPath }) => [entryId, onPath]),
        [["new", true]],
      );
    });
  });

  it("searches summaries by default, and only before an entry on request", async () => {
    await withStore(async (store) => {
      store.ingestTurn("s", chain(["one lantern", "two", "three lantern"]));
      store.addNode({
        nodeId: "n",
        sessionId: "s",
        kind: "leaf",
        depth: 0,
        firstEntryId: "e0",
        lastEntryId: "e1",
        children: [],
        text: "They lit a beacon",
        tokens: 5,
        sourceTokens: 10,
        origin: "extractive",
        state: "published",
      });
      const [hit] = await store.search({ query: "beacon" });
      assert.deepEqual([hit?.kind, hit?.nodeId, hit?.entryId, hit?.role], ["node", "n", "e0", "summary"]);
      assert.deepEqual(await store.search({ query: "beacon", nodes: false }), []);
      const before = await store.search({ query: "lantern", sessions: ["s"], before: "e2" });
      assert.deepEqual(
        before.map(({ entryId }) => entryId),
        ["e0"],
      );
    });
  });
});

describe("an adoption", () => {
  longTest("leaves an index of few segments, since each search reads all of them", async () => {
    await withStore(async (store) => {
      await store.adopt("s", cursorOver(chain(filler(20_000))));
      await store.indexed();
      const db = new DatabaseSync(store.file, { readOnly: true });
      const row = db.prepare("SELECT count(DISTINCT segid) AS segments FROM words_idx").get();
      db.close();
      // Indexing makes one of each 300 texts.
      assert.ok(Number(row?.["segments"]) < 50, JSON.stringify(row));
      const [hit] = await store.search({ query: "number 19999" });
      assert.equal(hit?.entryId, "e19999");
    });
  });
});
