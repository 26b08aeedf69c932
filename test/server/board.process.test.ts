/** The dashboard's routes: costs by day, agent, model and program; health; connected programs; channels and their people. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { until } from "../runner/until.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

describe("the dashboard of a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let client: PagurusClient;

  before(async () => {
    model = await startServer({
      protocol: "anthropic-messages",
      script: () => ({ text: "Answer.", usage: { input: 1_000, output: 10 } }),
    });
    setting = makeSetting(
      modelConfig(
        "anthropic-messages",
        model.url,
        { cost: { input: 2, output: 10 } },
        {
          agents: { list: [{ id: "helper" }], defaults: { maxCost: { day: 5 } } },
          channels: { harbour: { kind: "webhook", enabled: false, secret: "a-secret-of-the-webhook" } },
        },
      ),
    );
    server = await ServeProcess.start(setting);
    client = createClient({ url: server.url, token: server.key });
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  it("has what each agent spent today, by model and program, and the limits", async () => {
    for (const agent of ["main", "main", "helper"]) {
      const { id } = await client.postTurn("sea", { prompt: "hello" }, { agent });
      assert.equal((await server.ended(id))["outcome"], "completed");
    }
    const { today, days, limits } = await client.board.spend({ days: 2 });
    assert.deepEqual(limits, { day: 5 });
    assert.deepEqual(
      days.map(({ day, agent, sums }) => [
        day,
        agent,
        sums.map(({ model: ref, program, requests }) => [ref, program, requests]),
      ]),
      [
        [today, "helper", [["test/model", "embedded", 1]]],
        [today, "main", [["test/model", "embedded", 2]]],
      ],
    );
    assert.ok(Math.abs((days[1]?.sums[0]?.cost ?? 0) - 2 * 0.0021) < 1e-9);
  });

  it("has the memory, the captures with their bound, and no problem of a healthy host", async () => {
    const { memoryBytes, captures, problems, oldestWorkSeconds } = await client.board.health();
    assert.ok(memoryBytes > 10_000_000);
    assert.deepEqual([captures.isOn, captures.maxBytes], [true, 256 * 1_024 ** 2]);
    assert.ok(captures.bytes > 0);
    assert.deepEqual([problems, oldestWorkSeconds], [[], 0]);
  });

  it("lists the work of all sessions that has not ended", async () => {
    assert.deepEqual(await client.openWork(), []);
    const { id } = await client.postTurn("slow", { prompt: "slow" });
    const open = await client.openWork();
    assert.ok(open.every(({ session, kind }) => session === "slow" && kind === "turn"));
    await server.ended(id);
    assert.deepEqual(await client.openWork(), []);
  });

  it("names a program by its token while it has something open", async () => {
    const { secret, token } = await client.createToken({ name: "phone", scope: "read" });
    const phone = createClient({ url: server.url, token: secret });
    const { lastEvent } = await phone.status();
    const left = new AbortController();
    const events = phone.events({ after: lastEvent, signal: left.signal });
    const next = events.next().catch(() => undefined);
    const open = async (): Promise<number> =>
      (await client.board.connections()).find(({ id }) => id === token.id)?.open ?? 0;
    await until(async () => (await open()) > 0);
    const found = (await client.board.connections()).find(({ id }) => id === token.id);
    assert.deepEqual([found?.name, found?.kind], ["phone", "token"]);
    assert.ok((found?.open ?? 0) > 0);
    left.abort();
    await next;
  });

  it("lets a person of a channel speak by the code, and removes the person", async () => {
    const db = openServerDatabase(setting.home);
    const people = new ChannelStore(db).people;
    const { code = "" } = people.codeFor("harbour", "ann@example.org", "Ann");
    db.close();
    const [channel] = await client.board.channels();
    assert.deepEqual(
      [channel?.id, channel?.kind, channel?.enabled, channel?.people[0]?.code],
      ["harbour", "webhook", false, code],
    );
    await assert.rejects(client.board.approve("WRONG"), /No one waits with the code "WRONG"/);
    assert.deepEqual(await client.board.approve(code), { channel: "harbour", address: "ann@example.org" });
    assert.equal((await client.board.channels())[0]?.people[0]?.state, "approved");
    await client.board.remove("harbour", "ann@example.org");
    assert.deepEqual((await client.board.channels())[0]?.people, []);
    await assert.rejects(client.board.remove("harbour", "ann@example.org"), /has no person/);
  });

  it("is closed to a token of some sessions, and its channels to one that may not administer", async () => {
    const { secret: some } = await client.createToken({ name: "some", scope: "admin", sessions: "sea*" });
    const { secret: chat } = await client.createToken({ name: "chat", scope: "chat" });
    const narrow = createClient({ url: server.url, token: some });
    await assert.rejects(narrow.board.spend(), /token for all sessions and agents/);
    await assert.rejects(narrow.board.health(), /token for all sessions and agents/);
    const talking = createClient({ url: server.url, token: chat });
    assert.equal((await talking.board.spend()).days.length, 2);
    await assert.rejects(talking.board.channels(), /scope admin/);
    await assert.rejects(talking.board.connections(), /scope admin/);
  });
});
