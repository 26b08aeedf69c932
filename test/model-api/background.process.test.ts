/** Background responses of a server that is killed. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { outputText } from "./responses-setting.ts";
import { longSuite } from "../runner/long-tests.ts";

longSuite("background responses of a server that is killed", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let isDown = true;
  before(async () => {
    model = await startServer({
      protocol: "openai-responses",
      script: async (_, index) => {
        while (isDown) await pause(20);
        return { text: `Answer ${index}.` };
      },
    });
    setting = makeSetting(modelConfig("openai-responses", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    isDown = false;
    await server.kill();
    await model.close();
    setting.remove();
  });

  it("end after the next start, that of an agent as the same turn", async () => {
    const ids: string[] = [];
    for (const asked of [
      { model: "test/model", input: "Hello." },
      { model: "agent/main", input: "Hello, agent." },
    ]) {
      const { status, body } = await server.call("POST", "/v1/responses", { ...asked, background: true });
      assert.equal(status, 200, JSON.stringify(body));
      ids.push(String(body["id"]));
    }
    while (model.requests.length < 2) await pause(20);
    await server.kill();
    server = await ServeProcess.start(setting);
    isDown = false;
    const texts: string[] = [];
    for (const id of ids)
      for (;;) {
        const { body } = await server.call("GET", `/v1/responses/${id}`);
        assert.notEqual(body["status"], "failed", JSON.stringify(body));
        if (body["status"] === "completed") {
          texts.push(outputText(body));
          break;
        }
        await pause(20);
      }
    for (const text of texts) assert.match(text, /^Answer \d\.$/);
    const { body } = await server.call("GET", "/api/v1/sessions");
    const sessions = body["sessions"] as { key: string; turns: number }[];
    assert.equal(sessions.length, 2);
    assert.equal(sessions.find(({ key }) => key.startsWith("api/agent/main/"))?.turns, 1);
  });
});
