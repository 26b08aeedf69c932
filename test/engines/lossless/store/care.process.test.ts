/** Work of the store's thread: adoption, checks, deletion. */
import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { MessageEntry } from "../../../../packages/contract/src/session/transcript.ts";
import { losslessSettings } from "../../../../packages/lossless/src/lossless-settings.ts";
import { engineState } from "../../../../packages/lossless/src/engine-state.ts";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { chain, cursorOver, messageEntry, withStore } from "./fixtures.ts";
import { longTest } from "../../../runner/long-tests.ts";

/** True when a file of the folder has the bytes. */
function holds(folder: string, word: string): boolean {
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(word));
}

const secret = (index: number): string => `zanzibar${index}kryptonite secretword${index} hidden`;

describe("a long transcript", () => {
  longTest("is adopted batch by batch and found afterwards; an abort keeps what was written", async () => {
    await withStore(async (store) => {
      const path = chain(Array.from({ length: 6_000 }, (_, index) => `note ${index} needle${index}`));
      const controller = new AbortController();
      const aborted = store.adopt("s", cursorOver(path), {
        signal: controller.signal,
        onProgress: ({ stored }) => {
          if (stored >= 300) controller.abort();
        },
      });
      await assert.rejects(aborted, { code: "turn_aborted" });
      const kept = store.session("s");
      assert.ok(kept && kept.entries >= 300 && kept.entries < 6_000 && !kept.adopted);
      const result = await store.adopt("s", cursorOver(path));
      assert.equal(result.leafId, "e5999");
      assert.equal(result.stored, 6_000 - kept.entries);
      assert.deepEqual([store.session("s")?.entries, store.session("s")?.adopted], [6_000, true]);
      for (let index = 0; index < 6_000; index += 271)
        assert.equal((await store.search({ query: `needle${index}` }))[0]?.entryId, `e${index}`);
      const report = await store.verify();
      assert.deepEqual(report.problems, []);
      assert.equal(report.counts.entries, 6_000);
    });
  });

  longTest(
    "is adopted once where a second adoption begins meanwhile, up to the end of the later path",
    async () => {
      await withStore(async (store) => {
        const path = chain(Array.from({ length: 6_000 }, (_, index) => `note ${index} needle${index}`));
        let second: Promise<unknown> | undefined;
        const first = store.adopt("s", cursorOver(path.slice(0, 5_000)), {
          index: "later",
          onProgress: () => {
            second ??= store.adopt("s", cursorOver(path));
          },
        });
        const { stored } = await first;
        assert.equal(stored, 5_000);
        assert.deepEqual(await second, { stored: 1_000, known: 0, leafId: "e5999" });
        const { entries, adopted, leafId } = store.session("s") ?? {};
        assert.deepEqual([entries, adopted, leafId], [6_000, true, "e5999"]);
        assert.deepEqual((await store.verify()).problems, []);
      });
    },
  );

  it("with entries of any size comes back byte for byte", async () => {
    await withStore(async (store) => {
      const data = Buffer.alloc(300_000, "pixel").toString("base64");
      const path = chain(Array.from({ length: 60 }, (_, index) => `note ${index}`));
      const large: MessageEntry["message"][] = [
        { role: "user", content: [{ type: "image", data, mimeType: "image/png" }] },
        { role: "user", content: "words of a long text\n".repeat(20_000) },
        {
          role: "assistant",
          content: [
            { type: "toolCall", id: "c", name: "write", arguments: { content: "tide\n".repeat(50_000) } },
          ],
        },
      ];
      large.forEach((message, index) => {
        path.push(messageEntry(`large${index}`, path.at(-1)?.id ?? null, message));
      });
      await store.adopt("s", cursorOver(path));
      await store.adopt(
        "few",
        cursorOver(
          path.slice(-3).map((entry, index) => ({
            ...entry,
            id: `f${index}`,
            parentId: index === 0 ? null : `f${index - 1}`,
          })),
        ),
      );
      for (const entry of path) assert.equal(store.getJson(entry.id), JSON.stringify(entry.message));
      large.forEach((message, index) => assert.equal(store.getJson(`f${index}`), JSON.stringify(message)));
      assert.equal((await store.search({ query: "tide" })).length, 2);
      assert.deepEqual((await store.verify()).problems, []);
    });
  });

  it("can be stored first; turns in between and the next search find its text", async () => {
    await withStore(async (store) => {
      const path = chain(Array.from({ length: 400 }, (_, index) => `note ${index} needle${index}`));
      await store.adopt("s", cursorOver(path), { index: "later" });
      store.ingestTurn("s", [messageEntry("n", "e399", "the newest falcon")]);
      store.ingestTurn("other", chain(["note 7 needle7"], "o"));
      assert.equal((await store.search({ query: "falcon" })).length, 1);
      assert.equal((await store.search({ query: "needle7" })).length, 2);
      assert.deepEqual((await store.verify()).problems, []);
    });
  });
});

describe("a deleted session", () => {
  it("leaves no byte of its text, and other sessions stay complete", async () => {
    await withStore(async (store, folder) => {
      const shared = "shared flamingo text";
      const image = {
        type: "image" as const,
        data: Buffer.from("PIXELS".repeat(200)).toString("base64"),
        mimeType: "image/png",
      };
      const secrets = chain(Array.from({ length: 300 }, (_, index) => secret(index)));
      store.ingestTurn("gone", [
        ...secrets,
        messageEntry("img", "e299", { role: "user", content: [image] }),
        messageEntry("sh", "img", shared),
      ]);
      store.addNode({
        nodeId: "n",
        sessionId: "gone",
        kind: "leaf",
        depth: 0,
        firstEntryId: "e0",
        lastEntryId: "e9",
        children: [],
        text: "summary of the obsidian vault",
        tokens: 5,
        sourceTokens: 10,
        origin: "model",
        state: "published",
        details: { files: ["obsidian.ts"] },
      });
      store.pin("gone", { entryId: "e1", pinnedAt: 1, note: "obsidian note" });
      store.ingestTurn("stays", chain([shared, "another pelican"], "k"));
      assert.ok(holds(folder, "zanzibar7"));
      const result = await store.deleteSession(["gone"]);
      assert.deepEqual(result, { entries: 302, texts: 301 });
      const words = ["zanzibar", "kryptonite", "secretword", "obsidian", "PIXELS"];
      for (const word of words) assert.equal(holds(folder, word), false, word);
      assert.equal(store.session("gone"), undefined);
      assert.equal((await store.search({ query: "flamingo" })).length, 1);
      assert.deepEqual(await store.search({ query: "zanzibar7kryptonite" }), []);
      assert.deepEqual((await store.verify()).problems, []);
      assert.equal(store.walkBack("stays").items.length, 2);
    });
  });

  it("leaves its fork complete, with the summaries of shared entries", async () => {
    await withStore(async (store, folder) => {
      const path = chain(["one", "two", "three"]);
      store.ingestTurn("origin", path);
      store.ingestTurn("origin", [messageEntry("own", "e2", "only the origin said walrus")]);
      store.ingestTurn("fork", path.slice(0, 2));
      store.ingestTurn("fork", [messageEntry("f", "e1", "the fork goes on")]);
      const node = {
        sessionId: "origin",
        kind: "leaf" as const,
        depth: 0,
        children: [],
        tokens: 1,
        sourceTokens: 2,
      };
      const state = { origin: "model" as const, state: "published" as const };
      store.addNode({
        ...node,
        ...state,
        nodeId: "n",
        firstEntryId: "e0",
        lastEntryId: "e1",
        text: "shared summary",
      });
      store.addNode({
        ...node,
        ...state,
        nodeId: "m",
        firstEntryId: "e2",
        lastEntryId: "own",
        text: "own marmot",
      });
      store.publishFrontier("fork", 0, { nodeIds: ["n"], firstKeptEntryId: "f" });
      await store.deleteSession(["origin"]);
      assert.deepEqual(
        store.walkBack("fork").items.map(({ message }) => message?.content),
        ["one", "two", "the fork goes on"],
      );
      assert.equal(store.node("n")?.sessionId, "fork");
      assert.equal(store.node("m"), undefined);
      assert.equal(store.get("e2"), undefined);
      for (const word of ["walrus", "marmot", "three"]) assert.equal(holds(folder, word), false, word);
      assert.deepEqual((await store.verify()).problems, []);
      // The transcript of the origin can be adopted again.
      await store.adopt("origin", cursorOver(path));
      assert.equal(store.walkBack("origin").items.length, 3);
    });
  });
});

describe("a missing, damaged or outdated database", () => {
  it("is private, and created again when it is gone", async () => {
    await withStore(async (store, folder) => {
      assert.equal(statSync(store.file).mode & 0o777, 0o600);
      store.ingestTurn("s", chain(["one"]));
      await store.close();
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
      const again = openLosslessStore(folder);
      assert.deepEqual(again.sessions(), []);
      assert.equal(again.notices[0]?.kind, "created");
      await again.adopt("s", cursorOver(chain(["one"])));
      assert.equal(again.session("s")?.entries, 1);
      await again.close();
    });
  });

  for (const [damage, spoil] of [
    [
      "overwritten",
      (file: string) => writeFileSync(file, "no database at all, but long enough to be looked at".repeat(99)),
    ],
    ["cut short", (file: string) => truncateSync(file, 16_384 * 3)],
  ] as const)
    it(`is set aside and rebuilt when it is ${damage}`, async () => {
      await withStore(async (store, folder) => {
        store.ingestTurn("s", chain(Array.from({ length: 300 }, (_, index) => secret(index).repeat(20))));
        await store.close();
        spoil(store.file);
        const spoiled = readFileSync(store.file);
        const again = openLosslessStore(folder);
        assert.equal(again.notices[0]?.kind, "rebuilt_corrupt");
        assert.deepEqual(again.sessions(), []);
        const aside = readdirSync(folder).filter((name) => name.includes(".damaged-"));
        assert.ok(aside.some((name) => readFileSync(join(folder, name)).equals(spoiled)));
        const settings = losslessSettings({});
        const noteOf = (): readonly string[] =>
          engineState(again, settings, { sessionId: "s" }, Date.now()).notes ?? [];
        assert.match(noteOf()[0] ?? "", /set aside as .*\.damaged-\d+ and rebuilt/);
        again.ingestTurn("t", chain(["two"]));
        await again.deleteSession(["t"]);
        assert.deepEqual(noteOf(), []);
        assert.equal(holds(folder, "zanzibar"), false);
        await again.close();
      });
    });

  longTest(
    "with a garbage page is set aside, or fails when the page is read; it never returns wrong text",
    async () => {
      const path = chain(Array.from({ length: 400 }, (_, index) => secret(index).repeat(10)));
      await withStore(async (store, folder) => {
        store.ingestTurn("s", path);
        await store.indexed();
        await store.close();
        const whole = readFileSync(store.file);
        for (let page = 0; page * 4_096 < whole.length; page += 7) {
          const spoiled = Buffer.from(whole);
          spoiled.fill(0xa5, page * 4_096, (page + 1) * 4_096);
          for (const name of readdirSync(folder)) rmSync(join(folder, name));
          writeFileSync(store.file, spoiled);
          const again = openLosslessStore(folder);
          try {
            if (again.notices.length > 0) assert.deepEqual(again.sessions(), []);
            else
              for (const entry of path) assert.equal(again.getJson(entry.id), JSON.stringify(entry.message));
          } catch (error) {
            assert.equal((error as { code?: unknown }).code, "store_read_failed", String(error));
          } finally {
            await again.close();
          }
        }
      });
    },
  );

  it("with one wrong byte in a text is reported by verify", async () => {
    await withStore(async (store) => {
      store.ingestTurn("s", chain(["one marmalade", "two"]));
      await store.close();
      const bytes = readFileSync(store.file);
      bytes.write("marmelade", bytes.indexOf("one marmalade") + 4);
      writeFileSync(store.file, bytes);
      const again = openLosslessStore(dirname(store.file));
      const { problems } = await again.verify();
      await again.close();
      assert.ok(problems.includes("1 texts or payloads are not what was stored."), problems.join(" "));
    });
  });

  it("of a newer version is refused in one sentence", async () => {
    await withStore(async (store, folder) => {
      await store.close();
      const { DatabaseSync } = await import("node:sqlite");
      const raw = new DatabaseSync(store.file);
      raw.exec("PRAGMA user_version = 999; UPDATE meta SET value = '999' WHERE name = 'schema'");
      raw.close();
      assert.throws(() => openLosslessStore(folder), { code: "store_read_failed" });
      assert.ok(existsSync(store.file));
    });
  });

  it("with a missing text is reported by verify", async () => {
    await withStore(async (store) => {
      store.ingestTurn("s", chain(["one", "two"]));
      await store.indexed();
      const { DatabaseSync } = await import("node:sqlite");
      const raw = new DatabaseSync(store.file);
      raw.exec("DELETE FROM texts WHERE num = 1");
      raw.close();
      const report = await store.verify();
      assert.equal(report.ok, false);
      assert.ok(report.problems.length >= 2);
    });
  });

  it("is copied while it is open", async () => {
    await withStore(async (store, folder) => {
      store.ingestTurn("s", chain(["one", "two"]));
      const target = join(folder, "copies", "copy.db");
      await store.backup(target);
      assert.equal(statSync(target).mode & 0o777, 0o600);
      const restored = join(folder, "restored");
      const other = openLosslessStore(restored);
      await other.close();
      copyFileSync(target, other.file);
      const again = openLosslessStore(restored);
      assert.equal(again.walkBack("s").items.length, 2);
      await again.close();
    });
  });
});
