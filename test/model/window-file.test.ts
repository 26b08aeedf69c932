/** Windows of models that a home keeps for its later processes. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { describeModel } from "../../packages/core/src/model/resolve.ts";
import { keepLearnedWindows } from "../../packages/core/src/model/window-file.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { startServer } from "../servers/server.ts";
import { makeSetting, modelConfig } from "../turn/setting.ts";

const DAY_MS = 86_400_000;

function windowAt(baseUrl: string): number {
  const provider = { api: "openai-completions", baseUrl, models: [{ id: "m", contextWindow: 50_000 }] };
  return describeModel("local/m", { models: { providers: { local: provider } } } as never).contextWindow;
}

describe("a window that a server named", () => {
  it("is in the home with its time, and counts in the next process", async () => {
    const errorBody = { error: { message: "This model's maximum context length is 8192 tokens." } };
    const refusal = { status: 400, errorBody };
    const server = await startServer({ protocol: "openai-completions", script: () => refusal });
    const setting = makeSetting(modelConfig("openai-completions", server.url, {}));
    const { home, env, workspace: cwd } = setting;
    try {
      const pagurus = await createPagurus({ home, env });
      const types: string[] = [];
      for await (const { type } of pagurus.run({ prompt: "Hello", sessionKey: "one", cwd })) types.push(type);
      assert.equal(types.at(-1), "turn.failed");
      await pagurus.close();
      const text = readFileSync(join(home, "learned-windows.json"), "utf8");
      const [[key, kept] = ["", undefined]] = Object.entries(
        JSON.parse(text) as Record<string, { tokens: number; at: string }>,
      );
      assert.ok(key.startsWith(new URL(server.url).origin));
      assert.equal(kept?.tokens, 8_192);
      assert.ok(Math.abs(Date.now() - Date.parse(kept.at)) < DAY_MS);
      // The address of another server, which this process has not asked.
      writeFileSync(
        join(home, "learned-windows.json"),
        JSON.stringify({ "http://127.0.0.1:2 m": { tokens: 9_000, at: new Date().toISOString() } }),
      );
      assert.equal(windowAt("http://127.0.0.1:2/v1"), 50_000);
      await (await createPagurus({ home, env })).close();
      assert.equal(windowAt("http://127.0.0.1:2/v1"), 9_000);
    } finally {
      await server.close();
      setting.remove();
    }
  });

  it("is forgotten after 30 days, and a broken file is none", () => {
    const setting = makeSetting({});
    const file = join(setting.home, "learned-windows.json");
    const now = Date.parse("2026-11-29T00:00:00Z");
    const at = (days: number): string => new Date(now - days * DAY_MS).toISOString();
    try {
      mkdirSync(setting.home, { recursive: true });
      writeFileSync(
        file,
        JSON.stringify({
          "http://127.0.0.1:3 m": { tokens: 9_000, at: at(31) },
          "http://127.0.0.1:4 m": { tokens: 9_000, at: at(29) },
        }),
      );
      keepLearnedWindows(setting.home, silentLogger, () => now)();
      assert.deepEqual(
        [windowAt("http://127.0.0.1:3/v1"), windowAt("http://127.0.0.1:4/v1")],
        [50_000, 9_000],
      );
      writeFileSync(file, "{");
      keepLearnedWindows(setting.home, silentLogger, () => now)();
    } finally {
      setting.remove();
    }
  });
});
