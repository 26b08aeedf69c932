import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Pagurus } from "../../../../packages/contract/src/host/host.ts";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Bench } from "../../../turn/in-process.ts";
import { modelConfig } from "../../../turn/setting.ts";
import { longTest } from "../../../runner/long-tests.ts";

class Harbour {
  readonly bench: Bench;
  readonly host: Pagurus;

  constructor(bench: Bench, host: Pagurus) {
    this.bench = bench;
    this.host = host;
  }

  async talk(sessionKey: string, word: string, turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1)
      await this.bench.ask(this.host, `${word} ${turn}. ${filler(900)}`, { sessionKey });
  }

  /** The newest context of a turn; requests for summaries have no tools. */
  sent(): string[] {
    const bodies = this.bench.server.requests.map((_, index) => this.bench.body(index));
    return bodies.findLast(({ tools }) => tools.length > 0)?.messages.map(({ text }) => text) ?? [];
  }

  /** Files of the home that contain a word, in any case. */
  holding(word: string): string[] {
    const home = join(this.bench.root, "home");
    return readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((file) => readFileSync(file).toString("latin1").toLowerCase().includes(word.toLowerCase()));
  }
}

async function withHarbour(work: (harbour: Harbour) => Promise<void>): Promise<void> {
  const bench = await Bench.with(() => ({ text: `Done. ${filler(200)}`, chunkSize: 100_000 }));
  try {
    const config = modelConfig(
      "openai-completions",
      bench.server.url,
      { contextWindow: 24_000 },
      {
        logging: { level: "silent" },
        plugins: {
          slots: { contextEngine: "lossless" },
          entries: { lossless: { config: { trigger: 8_000 } } },
        },
      },
    );
    await work(new Harbour(bench, await bench.host({ more: { config } })));
  } finally {
    await bench.end();
  }
}

longTest(
  "a fork continues with its parent's bytes, and deleting one leaves the other intact and no text of the deleted one",
  async () => {
    await withHarbour(async (harbour) => {
      const { host, bench } = harbour;
      await harbour.talk("parent", "Sharedword", 7);
      const before = harbour.sent();
      assert.match(before[0] ?? "", /<conversation_summary>/);
      await host.sessions().fork("parent", "child");
      await harbour.talk("child", "Childword", 1);
      assert.deepEqual(harbour.sent().slice(0, before.length), before);
      await harbour.talk("parent", "Parentword", 3);
      assert.notDeepEqual(harbour.holding("parentword"), []);

      await host.deleteSession({ sessionKey: "parent" });
      assert.deepEqual(harbour.holding("parentword"), []);
      await harbour.talk("child", "Childword", 4);
      assert.match(harbour.sent()[0] ?? "", /Sharedword/);
      const store = openLosslessStore(join(bench.root, "home", "agents", "main"));
      try {
        assert.deepEqual((await store.verify()).problems, []);
        assert.deepEqual(
          store.sessions().map(({ sessionKey }) => sessionKey),
          ["child"],
        );
      } finally {
        await store.close();
      }

      await host.deleteSession({ sessionKey: "child" });
      for (const word of ["Sharedword", "Childword", "Parentword"])
        assert.deepEqual(harbour.holding(word), [], word);
    });
  },
);

longTest(
  "a forked subagent begins with its parent's bytes and is deleted with it, its task and its text",
  async () => {
    await withHarbour(async (harbour) => {
      await harbour.talk("parent", "Sharedword", 7);
      const before = harbour.sent();
      const { host } = harbour;
      const spawned = await host.spawn({ parentSessionKey: "parent", task: "Taskword", contextMode: "fork" });
      await spawned.ended;
      spawned.release();
      assert.deepEqual(harbour.sent().slice(0, before.length), before);
      await harbour.talk("parent", "Laterword", 1);
      await host.deleteSession({ sessionKey: "parent" });
      for (const word of ["Sharedword", "Taskword", "Laterword"])
        assert.deepEqual(harbour.holding(word), [], word);
    });
  },
);
