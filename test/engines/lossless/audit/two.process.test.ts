import assert from "node:assert/strict";
import { join } from "node:path";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { startServer } from "../../../servers/server.ts";
import { makeSetting, modelConfig, run } from "../../../turn/setting.ts";
import { longTest } from "../../../runner/long-tests.ts";

longTest(
  "processes that start at once on an agent without a database all complete their turns, and each session is complete",
  async () => {
    const server = await startServer({
      protocol: "openai-completions",
      script: () => ({ text: `Done. ${filler(300)}`, chunkSize: 100_000 }),
    });
    const plugins = {
      slots: { contextEngine: "lossless" },
      entries: { lossless: { config: { trigger: 5_000 } } },
    };
    const setting = makeSetting(
      modelConfig("openai-completions", server.url, { contextWindow: 24_000 }, { plugins }),
    );
    const keys = ["one", "two", "three"];
    try {
      const done = await Promise.all(
        keys.map((key) => run(setting, `Words of ${key}: ${filler(1_500)}`, "--session", key)),
      );
      for (const { code, events, stderr } of done) {
        assert.equal(code, 0, stderr);
        assert.deepEqual(
          events.filter(({ type }) => type === "context.degraded"),
          [],
        );
        assert.doesNotMatch(stderr, /busy|locked/i);
      }
      const store = openLosslessStore(join(setting.home, "agents", "main"));
      try {
        assert.deepEqual((await store.verify()).problems, []);
        const sessions = store.sessions();
        assert.deepEqual(new Set(sessions.map(({ sessionKey }) => sessionKey)), new Set(keys));
        for (const { sessionId, sessionKey, adopted } of sessions) {
          assert.ok(adopted);
          const inputs = store.walkBack(sessionId).items.filter(({ role }) => role === "user");
          assert.equal(inputs.length, 1, sessionKey);
        }
      } finally {
        await store.close();
      }
    } finally {
      await server.close();
      setting.remove();
    }
  },
);
