/** What a client shows before it opens a session: what it may do, the agents, and what each session took. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

describe("a client of a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let client: PagurusClient;

  before(async () => {
    model = await startServer({
      protocol: "anthropic-messages",
      script: () => ({ text: "Answer.", usage: { input: 1_000, cacheRead: 500, output: 10 } }),
    });
    setting = makeSetting(
      modelConfig(
        "anthropic-messages",
        model.url,
        { cost: { input: 2, output: 10 } },
        { agents: { list: [{ id: "helper" }] } },
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

  it("gets its scope with the server's status", async () => {
    assert.equal((await client.status()).scope, "admin");
    for (const scope of ["read", "chat"] as const) {
      const { secret } = await client.createToken({ name: scope, scope });
      const own = createClient({ url: server.url, token: secret });
      assert.equal((await own.status()).scope, scope);
    }
  });

  it("gets the agents, and what the requests of each one's sessions took", async () => {
    assert.deepEqual(await client.agents(), ["main", "helper"]);
    const turn = async (agent: string): Promise<void> => {
      const { id } = await client.postTurn("sea", { prompt: "hello" }, { agent });
      assert.equal((await server.ended(id))["outcome"], "completed");
    };
    await turn("main");
    await turn("helper");
    const one = await client.inspect.usage("sea", { agent: "helper" });
    assert.equal(one.requests, 1);
    assert.deepEqual([one.inputTokens, one.cachedTokens, one.outputTokens], [1_500, 500, 10]);
    assert.deepEqual([one.model, one.runtime], ["test/model", "embedded"]);
    const [receipt] = await client.receipts("sea", { agent: "helper" });
    assert.ok((one.cost ?? 0) > 0);
    assert.equal(one.cost, receipt?.usage?.cost);
    await turn("helper");
    const two = await client.inspect.usage("sea", { agent: "helper" });
    assert.deepEqual([two.requests, two.inputTokens, two.outputTokens], [2, 3_000, 20]);
    assert.equal((await client.inspect.usage("sea")).requests, 1);
    const [first] = await client.entries("sea", { agent: "helper" });
    const { id: earlier } = await client.session("sea", { agent: "helper" });
    await client.renew("sea", { agent: "helper", reason: "new" });
    assert.equal((await client.inspect.usage("sea", { agent: "helper" })).requests, 0);
    const of = { agent: "helper", session: earlier };
    assert.equal((await client.inspect.entry("sea", first?.id ?? "", of)).entry?.id, first?.id);
    // An id belongs to its key: a token for another key does not read by it.
    await client.createSession({ key: "land", agent: "helper", cwd: setting.workspace });
    await assert.rejects(client.inspect.entry("land", first?.id ?? "", of), { code: "session_not_found" });
    await assert.rejects(client.inspect.usage("land"), { code: "session_not_found" });
  });
});
