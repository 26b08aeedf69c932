/** A server whose model API cannot read its database, and one whose start fails when its model API is open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openHost } from "../../packages/cli/src/open-host.ts";
import { loadConfig } from "../../packages/core/src/config/load-config.ts";
import { openSqlite, type Database } from "../../packages/core/src/data/sqlite.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { startServer as startPagurus, type RunningServer } from "../../packages/server/src/server.ts";
import { serverFiles } from "../../packages/server/src/server-address.ts";
import { TestClock } from "../runner/test-clock.ts";
import { until } from "../runner/until.ts";
import { startServer as startModel, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, run, type Setting } from "../turn/setting.ts";

describe("a server whose model API fails", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: RunningServer | undefined;
  let warnings: string[];
  let clock: TestClock;
  beforeEach(async () => {
    model = await startModel({ protocol: "openai-completions", script: () => ({ text: "The tide is in." }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    warnings = [];
    clock = new TestClock(Date.now());
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    await model.close();
    setting.remove();
  });

  async function start(port = 0): Promise<void> {
    const { home, env, workspace: cwd } = setting;
    server = await startPagurus({
      home,
      version: "0.0.0",
      env,
      logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
      port,
      host: "127.0.0.1",
      maxTurns: 1,
      maxBodyBytes: 2 ** 20,
      loaded: loadConfig({ home }),
      cwd,
      allowedHosts: [],
      allowedOrigins: [],
      open: openHost,
      clock,
      acpSettings: () => Promise.reject(new Error("no client of the Agent Client Protocol")),
    });
  }

  async function call(method: string, path: string, body?: object): Promise<number> {
    const key = readFileSync(serverFiles(setting.home).key, "utf8").trim();
    const answer = await fetch(`${server?.facts.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    await answer.text();
    return answer.status;
  }

  function inDatabase<T>(work: (db: Database) => T): T {
    const db = openSqlite(join(setting.home, "model-api.sqlite"));
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  /** A server whose model API is loaded and has lost its tables. */
  async function startBroken(): Promise<void> {
    await start();
    assert.equal(await call("GET", "/v1/models"), 200);
    inDatabase((db) => db.raw.exec("DROP TABLE heads; DROP TABLE responses"));
  }

  it("answers the deletion of a session with an error, and continues", async () => {
    await run(setting, "How is the tide?", "--session", "tide");
    await startBroken();
    assert.equal(await call("DELETE", "/api/v1/sessions/tide"), 500);
    assert.equal(await call("GET", "/api/v1/status"), 200);
  });

  it("logs that the regular removal of old work failed, and continues", async () => {
    await startBroken();
    clock.move(60_000);
    await until(() => warnings.includes("old work not removed"), "the failed removal is logged");
    assert.equal(await call("GET", "/api/v1/status"), 200);
  });

  it("starts, and logs that data of deleted sessions was not removed", async () => {
    await start();
    const request = { model: "test/model", messages: [{ role: "user", content: "How is the tide?" }] };
    assert.equal(await call("POST", "/v1/chat/completions", request), 200);
    await server?.close();
    // The heads of conversations, without the column that the removal reads.
    const broken = "CREATE TABLE heads (token, digest, at); CREATE INDEX heads_of_key ON heads (token)";
    inDatabase((db) => db.raw.exec(`DROP TABLE heads; ${broken}`));
    await start();
    await until(() => warnings.includes("old work not removed"), "the failed removal is logged");
    assert.equal(await call("GET", "/api/v1/status"), 200);
  });

  it("closes the model API's database when the port is taken", async () => {
    await start();
    const request = { model: "test/model", messages: [{ role: "user", content: "How is the tide?" }] };
    assert.equal(await call("POST", "/v1/chat/completions", request), 200);
    await server?.close();
    server = undefined;
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    try {
      await assert.rejects(start((other.address() as AddressInfo).port), /port|EADDRINUSE/);
    } finally {
      other.close();
    }
    // SQLite removes it when the last connection is closed.
    assert.equal(existsSync(join(setting.home, "model-api.sqlite-wal")), false);
  });
});
