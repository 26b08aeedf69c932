/** When a server loads the APIs of model providers: at a client's first request, or at the start if earlier conversations are stored. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { until } from "../runner/until.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

describe("the model API of a server that starts", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let asked = 0;
  let isHeld = true;
  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: async () => {
        asked += 1;
        if (isHeld) await new Promise(() => undefined);
        return { text: "The tide is in." };
      },
    });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  it("makes its database at the first request of a client, and not before", async () => {
    const file = join(setting.home, "model-api.sqlite");
    assert.equal((await server.call("GET", "/api/v1/status")).status, 200);
    assert.equal(existsSync(file), false);
    assert.equal((await server.call("GET", "/v1/models")).status, 200);
    assert.equal(existsSync(file), true);
  });

  it("ends a background response of a killed server without a request of a client", async () => {
    const request = { model: "test/model", input: "How is the tide?", background: true };
    const { body } = await server.call("POST", "/v1/responses", request);
    await until(() => asked === 1, "the model is asked");
    await server.kill();
    isHeld = false;
    await server.begin();
    await until(() => asked === 2, "the model is asked again");
    const path = `/v1/responses/${String(body["id"])}`;
    await until(async () => (await server.call("GET", path)).body["status"] === "completed", "it has ended");
  });
});
