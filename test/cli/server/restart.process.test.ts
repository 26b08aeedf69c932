/** A server that follows its configuration, and one that starts again. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { runningServer } from "../../../packages/server/src/server-address.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { until } from "../../runner/until.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, start, type Setting } from "../../turn/setting.ts";

describe("pagurus serve", () => {
  let model: ModelServer;
  const settings: Setting[] = [];
  const ends: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await model.close();
    for (const setting of settings.splice(0)) setting.remove();
  });

  async function home(): Promise<Setting> {
    const setting = makeSetting(modelConfig("openai-completions", model.url));
    settings.push(setting);
    return setting;
  }

  /** `pagurus serve` without a port; resolves with what it has printed when it can be stopped. */
  async function serve(setting: Setting): Promise<string> {
    const child = spawn(process.execPath, [LAUNCHER, "serve"], { cwd: setting.workspace, env: setting.env });
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    ends.push(async () => {
      child.kill("SIGKILL");
      await closed;
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    await until(
      () => printed.includes("Stop it:"),
      () => `serve printed ${printed}`,
    );
    return printed;
  }

  const command = (setting: Setting, ...args: string[]) => start(setting, args).finished;

  async function makeModel(): Promise<void> {
    model = await startServer({
      protocol: "openai-completions",
      script: ({ body }) => ({ text: `Answer of ${String(body["model"])}.` }),
    });
  }

  it("a changed configuration counts for the next turn of a running server (D2)", async () => {
    await makeModel();
    const setting = await home();
    await serve(setting);
    assert.equal((await command(setting, "run", "hello")).stdout, "Answer of model.\n");
    const config = modelConfig("openai-completions", model.url, { id: "other" } as never);
    const agents = { defaults: { model: "test/other", permission: { mode: "auto", sandbox: "off" } } };
    writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify({ ...config, agents }));
    await until(() =>
      readFileSync(join(setting.home, "logs/pagurus.log"), "utf8").includes(
        "changed configuration is in use",
      ),
    );
    assert.equal((await command(setting, "run", "hello")).stdout, "Answer of other.\n");
  });

  it("`config set` says which keys a running server has read at its start, and `serve restart` changes that", async () => {
    await makeModel();
    const setting = await home();
    assert.match(await serve(setting), /^Open it: pagurus open$/m);
    const before = runningServer(setting.home);
    assert.equal((await command(setting, "config", "set", "session.scope", "folder")).stderr, "");
    const set = await command(setting, "config", "set", "server.maxTurns", "3");
    assert.match(
      set.stderr,
      /^note: the server at http:\S+ has read this key at its start; pagurus serve restart changes that$/m,
    );
    const restarted = await command(setting, "serve", "restart");
    assert.match(restarted.stdout, /^The server has started again, at http:/);
    const now = runningServer(setting.home);
    assert.equal(now?.pid, before?.pid);
    assert.notEqual(now?.startedAt, before?.startedAt);
    assert.equal((await command(setting, "run", "hello")).stdout, "Answer of model.\n");
    assert.match((await command(setting, "serve", "stop")).stdout, /has stopped/);
  });

  it("a second home's server takes a free port where the default is in use", async () => {
    await makeModel();
    const [one, two] = [await home(), await home()];
    await serve(one);
    await serve(two);
    assert.notEqual(runningServer(one.home)?.url, runningServer(two.home)?.url);
  });
});
