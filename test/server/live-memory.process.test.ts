/** The memory of a server after many conversations: bounded by the sessions that it keeps, not by the requests that it answered. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { byLength, FULL } from "../runner/short-form.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { MeasuredServer } from "./measured-server.ts";

const KEPT = 10;
/** Conversations before the first measurement: what is kept of the last ones is full then, but for a thousand names. */
const WARM_UP = byLength(1_500, 300, 120);
const CONVERSATIONS = byLength(10_000, 600, 120);
const AT_ONCE = 4;
/** For each conversation that is over. */
const MOST_OBJECTS = 3;
/** The same, in the full form: the name of its file. */
const MOST_BYTES = 300;

describe("the memory of a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: () => {
        model.requests.length = 0;
        return { text: "ok" };
      },
    });
    const server = { maxLiveSessions: KEPT };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { server }));
    measured = await MeasuredServer.start(setting);
  });
  after(async () => {
    await measured.process.kill();
    await model.close();
    setting.remove();
  });

  /** Conversations of one request each. */
  async function converse(from: number, count: number): Promise<void> {
    let next = from;
    const work = async (): Promise<void> => {
      for (let at = next++; at < from + count; at = next++) {
        const body = { model: "test/model", messages: [{ role: "user", content: `Question ${at}` }] };
        const { status } = await measured.process.call("POST", "/v1/chat/completions", body);
        assert.equal(status, 200);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  it("does not grow with the conversations that are over", async (test) => {
    await converse(0, WARM_UP);
    // The last turns end after their answers.
    await measured.figures();
    const first = await measured.figures();
    await converse(WARM_UP, CONVERSATIONS);
    await measured.figures();
    const last = await measured.figures();
    const objects = (last.objects - first.objects) / CONVERSATIONS;
    const bytes = ((last.heapMb - first.heapMb) * 2 ** 20) / CONVERSATIONS;
    test.diagnostic(`${objects.toFixed(2)} objects, ${bytes.toFixed(0)} bytes for each of ${CONVERSATIONS}`);
    assert.ok(objects < MOST_OBJECTS, `${objects} objects for each conversation`);
    if (FULL) assert.ok(bytes < MOST_BYTES, `${bytes} bytes for each conversation`);
  });
});
