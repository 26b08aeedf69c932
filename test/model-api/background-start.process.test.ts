/** Background responses of a server that listens, and has not started all of its parts. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess, type Answer } from "../server/serve-setting.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";

/** A kind of channel that is made once a file is there: the server listens meanwhile. */
const PLUGIN = `
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
export default function register(api) {
  api.registerChannel("late", async ({ settings }) => {
    while (!existsSync(settings.file)) await pause(10);
    throw new Error("It is not used.");
  });
}
`;

describe("background responses of a server that is starting", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let file: string;
  before(async () => {
    model = await startServer({
      protocol: "openai-responses",
      script: () => new Promise<never>(() => undefined),
    });
    setting = makeSetting();
    const folder = join(setting.root, "late");
    file = join(setting.root, "channels-may-start");
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), '{"name": "late", "type": "module", "main": "index.js"}');
    writeFileSync(join(folder, "pagurus.plugin.json"), '{"id": "late"}');
    writeFileSync(join(folder, "index.js"), PLUGIN);
    writeFileSync(file, "");
    const channels = { late: { kind: "late", settings: { file } } };
    const config = modelConfig(
      "openai-responses",
      model.url,
      {},
      { channels, plugins: { load: { paths: [folder] } } },
    );
    writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  it("are cancelled by a request that comes before the start is complete", async () => {
    const asked = { model: "test/model", input: "Hello.", background: true };
    const { body } = await server.call("POST", "/v1/responses", asked);
    while (model.requests.length === 0) await pause(10);
    await server.kill();
    rmSync(file);
    const started = server.begin();
    const path = `/v1/responses/${String(body["id"])}`;
    let answer: Answer | undefined;
    while (!answer) {
      answer = await server.call("POST", `${path}/cancel`, {}).catch(() => undefined);
      await pause(10);
    }
    assert.equal(answer.body["status"], "cancelled", JSON.stringify(answer.body));
    writeFileSync(file, "");
    await started;
    await pause(200);
    const later = await server.call("GET", path);
    assert.equal(later.body["status"], "cancelled");
    assert.equal(model.requests.length, 1, "it is not run again");
  });
});
