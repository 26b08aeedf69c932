/** The client of the API against a real `pagurus serve`. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  ClientError,
  createClient,
  type PagurusClient,
  type ServerEvent,
} from "../../packages/client/src/index.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { longTest } from "../runner/long-tests.ts";

let model: ModelServer;
let setting: Setting;
let server: ServeProcess;
let client: PagurusClient;

before(async () => {
  const text = Array.from({ length: 40 }, (_, index) => `word${index} `).join("");
  model = await startServer({ protocol: "openai-completions", script: () => ({ text }) });
  setting = makeSetting(modelConfig("openai-completions", model.url));
  server = await ServeProcess.start(setting);
  client = createClient({ url: server.url, token: () => server.key });
});
after(async () => {
  await server.kill();
  await model.close();
  setting.remove();
});

async function all(events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> {
  const list: ServerEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

describe("a client of the server", () => {
  it("posts a turn and follows it from acceptance to end", async () => {
    const work = await client.postTurn("plain", { prompt: "hello" });
    const events = await all(client.followWork(work.id));
    assert.equal(events[0]?.event.type, "work.accepted");
    assert.deepEqual(events.at(-1)?.event, { type: "work.ended", outcome: "completed" });
    assert.ok(events.every(({ session, work: id }) => session === "plain" && id === work.id));
    assert.equal((await client.session("plain")).turns, 1);
    assert.equal((await client.receipts("plain")).length, 1);
  });

  longTest("has every event once, however often its connection is cut", async () => {
    const { id } = await client.postTurn("cut", { prompt: "hello" });
    const whole = await all(client.followWork(id));
    // Cuts within the headers, between frames and within one.
    const cuts = [0, 40, 290, 400, 401, 500, 555, 600];
    const proxy = await CuttingProxy.start(server.port, [...cuts]);
    try {
      const far = createClient({ url: proxy.url, token: server.key });
      assert.deepEqual(await all(far.followWork(id)), whole);
      assert.ok(proxy.connections > 5, `${proxy.connections} connections`);
    } finally {
      proxy.close();
    }
  });

  it("posts a turn once, though the answers to its posts are lost", async () => {
    const proxy = await CuttingProxy.start(server.port, [0, 0, 30]);
    try {
      const far = createClient({ url: proxy.url, token: server.key });
      const work = await far.postTurn("once", { prompt: "hello" });
      await all(far.followWork(work.id));
      assert.deepEqual(
        (await far.listWork("once")).map(({ id }) => id),
        [work.id],
      );
    } finally {
      proxy.close();
    }
  });

  it("follows the events of all sessions until its signal fires", async () => {
    const stop = new AbortController();
    const { lastEvent } = await client.status();
    const work = await client.postTurn("all", { prompt: "hello" });
    const seen: ServerEvent[] = [];
    const followed = (async (): Promise<void> => {
      for await (const event of client.events({ after: lastEvent, signal: stop.signal })) {
        seen.push(event);
        if (event.event.type === "work.ended") stop.abort(new Error("enough"));
      }
    })();
    await assert.rejects(followed, /enough/);
    assert.deepEqual(seen, await all(client.followWork(work.id)));
  });

  it("reads the events up to one that the server has, and ends there", async () => {
    const { lastEvent: after } = await client.status();
    const first = await all(client.followWork((await client.postTurn("until", { prompt: "hello" })).id));
    const second = await all(client.followWork((await client.postTurn("until", { prompt: "more" })).id));
    const until = first.at(-1)?.id;
    assert.ok(until !== undefined && second.length > 0);
    assert.deepEqual(await all(client.events({ after, until })), first);
    assert.deepEqual(await all(client.sessionEvents("until", { after, until })), first);
    const [begin] = first;
    assert.deepEqual(await all(client.followWork(begin?.work ?? "", { until: begin?.id })), [begin]);
    assert.deepEqual(await all(client.events({ after: until, until })), []);
  });

  it("throws the server's code, and the reason of its signal", async () => {
    const missing = await client.work("0").catch((error: unknown) => error);
    assert.ok(missing instanceof ClientError);
    assert.deepEqual([missing.code, missing.status], ["work_not_found", 404]);
    const wrong = createClient({ url: server.url, token: "pgt_wrong" });
    const refused = await wrong.status().catch((error: unknown) => error);
    assert.ok(refused instanceof ClientError);
    assert.deepEqual([refused.code, refused.status], ["token_invalid", 401]);
    const gone = createClient({ url: "http://127.0.0.1:9", retryMs: 0 });
    const lost = await gone.status().catch((error: unknown) => error);
    assert.ok(lost instanceof ClientError);
    assert.deepEqual([lost.code, lost.status], ["server_failed", 0]);
    const reason = new Error("enough");
    await assert.rejects(client.status({ signal: AbortSignal.abort(reason) }), reason);
  });
});
