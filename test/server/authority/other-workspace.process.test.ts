/** The workspace of an agent that a caller may not use: none of its files is named to it. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { ServeProcess } from "../serve-setting.ts";

test("files of another agent's workspace are not listed to a token of one agent", async (t) => {
  const config = modelConfig("openai-completions", "http://127.0.0.1:9") as {
    agents?: { defaults?: object };
  };
  const setting = makeSetting(config);
  t.after(() => setting.remove());
  const workspace = join(setting.root, "other");
  mkdirSync(workspace);
  writeFileSync(join(workspace, "private-plan.txt"), "x");
  const agents = { defaults: config.agents?.defaults, list: [{ id: "main" }, { id: "other", workspace }] };
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify({ ...config, agents }), { mode: 0o600 });
  const server = await ServeProcess.start(setting);
  t.after(() => server.kill());
  const made = await server.call("POST", "/api/v1/tokens", { name: "a", scope: "read", agents: "main" });
  const limited = { authorization: `Bearer ${String(made.body["secret"])}` };
  const files = (agent: string, headers?: Record<string, string>) =>
    server.call("GET", `/api/v1/files?agent=${agent}`, undefined, headers);
  assert.deepEqual((await files("other")).body, { paths: ["private-plan.txt"] });
  assert.equal((await files("main", limited)).status, 200);
  assert.equal((await files("other", limited)).status, 403);
});
