/** The diff of two requests over HTTP is the one that the command line shows without a server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startServer, type ModelServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

describe("the diff of two requests", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  const turns: string[] = [];

  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Yes." }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
    for (const prompt of ["one", "two", "three"]) {
      const { body } = await server.call("POST", "/api/v1/sessions/work/turns", { prompt });
      turns.push(String(body["id"]));
    }
    for (const id of turns) assert.equal((await server.ended(id))["outcome"], "completed");
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  async function shown(...args: string[]): Promise<unknown> {
    const all = [...args, "--session", "work", "--json"];
    const { code, stdout, stderr } = await finish(setting, ["--no-server", "context", "diff", ...all]);
    assert.deepEqual([code, stderr], [0, ""]);
    return JSON.parse(stdout);
  }

  it("is that of the last two by default", async () => {
    const { status, body } = await server.call("GET", "/api/v1/sessions/work/diff");
    assert.equal(status, 200);
    assert.deepEqual(body, await shown());
    assert.deepEqual(
      [(body["from"] as { turnId: string }).turnId, (body["to"] as { turnId: string }).turnId],
      turns.slice(1),
    );
    const changes = body["changes"] as { change: string; part: { role: string } }[];
    assert.ok(changes.some(({ change, part }) => change === "added" && part.role === "user"));
  });

  it("is that of the named ones, also through the command line's server", async () => {
    const [from = "", to = ""] = turns;
    const { body } = await server.call("GET", `/api/v1/sessions/work/diff?from=${from}&to=${to}:0`);
    assert.deepEqual(body, await shown("--from", from, "--to", `${to}:0`));
    const args = ["context", "diff", "--session", "work", "--json", "--from", from, "--to", `${to}:0`];
    const env = { ...setting.env, PAGURUS_TOKEN: server.key };
    const named = await finish({ ...setting, env }, ["--server", server.url, ...args]);
    assert.deepEqual(JSON.parse(named.stdout), body);
    const text = ["context", "diff", "--session", "work", "--from", from];
    const [over, alone] = [await finish(setting, text), await finish(setting, ["--no-server", ...text])];
    assert.deepEqual([over.code, over.stdout], [alone.code, alone.stdout]);
    assert.match(over.stdout, new RegExp(`^From turn ${from} request 0 to turn ${turns[2]} request 0\\n`));
  });

  it("is refused for requests that are not there, and to a token of other sessions", async () => {
    const none = await server.call("GET", "/api/v1/sessions/work/diff?from=nowhere");
    assert.equal(none.status, 404);
    assert.match(JSON.stringify(none.body), /entry_not_found.*No request of \\"nowhere\\"/);
    const made = { name: "other", scope: "read", sessions: "family-*" };
    const { body } = await server.call("POST", "/api/v1/tokens", made);
    const headers = { authorization: `Bearer ${String(body["secret"])}` };
    const other = await server.call("GET", "/api/v1/sessions/work/diff", undefined, headers);
    assert.equal(other.status, 403);
  });
});
