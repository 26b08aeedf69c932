/** Events and entries with images of megabytes, read from their beginning: others are served meanwhile. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { MeasuredServer } from "./measured-server.ts";

const MB = 2 ** 20;
const IMAGES = 3;
const IMAGE = 7 * MB;
/** Bytes on which one turn of the event loop works: a few steps on one image. */
const MOST_AT_ONCE = 40 * MB;
const SESSION = "/api/v1/sessions/main";

describe("a session with images of megabytes", () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    measured = await MeasuredServer.start(setting);
    const parts = [{ type: "image", data: "A".repeat(IMAGE), mimeType: "image/png" }];
    for (let count = 0; count < IMAGES; count++) {
      const { body } = await measured.process.call("POST", `${SESSION}/turns`, { prompt: "Look.", parts });
      await measured.process.ended(String(body["id"]));
    }
  });
  after(async () => {
    await measured.process.kill();
    await model.close();
    setting.remove();
  });

  async function inShortSteps(work: () => Promise<void>): Promise<void> {
    await measured.figures();
    await work();
    const { work: most, longestMs } = await measured.figures();
    const shown = `${(most.bytes / MB).toFixed(0)} MB and ${longestMs.toFixed(0)} ms of CPU at once`;
    assert.ok(most.bytes <= MOST_AT_ONCE, [shown, ...most.sites].join("\n"));
  }

  it("sends its events to several readers in short steps", async () => {
    await inShortSteps(async () => {
      const read = async (): Promise<void> => {
        let images = 0;
        await measured.process.events(`${SESSION}/events?after=0`, ({ type, data }) => {
          if (type === "message" && JSON.stringify(data).length > IMAGE) images += 1;
          return images === IMAGES;
        });
      };
      await Promise.all([read(), read(), read()]);
    });
  });

  it("sends its entries in short steps", async () => {
    await inShortSteps(async () => {
      const { body } = await measured.process.call("GET", `${SESSION}/entries`);
      const entries = body["entries"] as { message?: { role: string } }[];
      assert.equal(entries.filter(({ message }) => message?.role === "user").length, IMAGES);
    });
  });
});
