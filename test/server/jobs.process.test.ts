/** The routes of jobs over HTTP, at a real `pagurus serve`. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess, type Answer } from "./serve-setting.ts";

const DAY_MS = 86_400_000;
const JOBS = "/api/v1/jobs";
const DAILY = { kind: "every", everyMs: DAY_MS };

function code({ body }: Answer): string {
  return (body["error"] as { code: string } | undefined)?.code ?? "";
}

function sentence({ body }: Answer): string {
  return (body["error"] as { message: string } | undefined)?.message ?? "";
}

describe("the routes of jobs", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;

  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Done." }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  const add = (more: object = {}): Promise<Answer> =>
    server.call("POST", JOBS, { prompt: "Look.", session: "work", times: DAILY, ...more });
  const id = ({ body }: Answer): string => String(body["id"]);
  async function listed(headers: Record<string, string> = {}): Promise<string[]> {
    const { body } = await server.call("GET", JOBS, undefined, headers);
    return (body["jobs"] as { id: string }[]).map((job) => job.id);
  }
  async function token(scope: string, sessions = "*"): Promise<Record<string, string>> {
    const { body } = await server.call("POST", "/api/v1/tokens", { name: scope, scope, sessions });
    return { authorization: `Bearer ${String(body["secret"])}` };
  }

  it("create, show, list, pause, resume and remove a job", async () => {
    const at = Date.now() + 2 * DAY_MS;
    const later = await add({ times: { kind: "at", at }, session: "later", model: "test/model" });
    const cron = { kind: "cron", expression: "0 8 * * *", tz: "Europe/Berlin" };
    const sooner = await add({ times: cron, missed: "once", check: { kind: "command", command: "true" } });
    assert.deepEqual([later.status, sooner.status], [201, 201]);
    assert.deepEqual(later.body, {
      id: id(later),
      agent: "main",
      session: "later",
      prompt: "Look.",
      model: "test/model",
      times: { kind: "at", at },
      missed: "once",
      paused: false,
      nextAt: new Date(at).toISOString(),
    });
    assert.deepEqual(await listed(), [id(sooner), id(later)]);
    const shown = await server.call("GET", `${JOBS}/${id(sooner)}`);
    assert.deepEqual(shown.body, sooner.body);
    assert.deepEqual(shown.body["check"], { kind: "command", command: "true" });

    const paused = await server.call("POST", `${JOBS}/${id(sooner)}/pause`);
    assert.deepEqual([paused.status, paused.body["paused"]], [200, true]);
    const resumed = await server.call("POST", `${JOBS}/${id(sooner)}/resume`);
    assert.deepEqual([resumed.body["paused"], resumed.body["nextAt"]], [false, sooner.body["nextAt"]]);

    const removed = await server.call("DELETE", `${JOBS}/${id(sooner)}`);
    assert.deepEqual(removed.body, { removed: id(sooner) });
    assert.deepEqual(await listed(), [id(later)]);
    await server.call("DELETE", `${JOBS}/${id(later)}`);
  });

  it("run a job that is asked for, once, as work of its session", async () => {
    const made = await add({ session: "asked" });
    await server.call("POST", `${JOBS}/${id(made)}/run`);
    const isEnd = ({ type, data }: { type: string; data: object }): boolean =>
      type === "work.ended" && "session" in data && data.session === "asked";
    await server.events("/api/v1/events?after=0", isEnd);
    const { body } = await server.call("GET", "/api/v1/sessions/asked/work");
    const work = body["work"] as { origin: string; outcome: string }[];
    assert.deepEqual(
      work.map(({ origin, outcome }) => [origin, outcome]),
      [[`job:${id(made)}`, "completed"]],
    );
    await server.call("DELETE", `${JOBS}/${id(made)}`);
  });

  it("answer 404 for a job that is not there", async () => {
    for (const [method, path] of [
      ["GET", "/none"],
      ["DELETE", "/none"],
      ["POST", "/none/pause"],
      ["POST", "/none/resume"],
      ["POST", "/none/run"],
    ] as const) {
      const answer = await server.call(method, JOBS + path);
      assert.deepEqual([answer.status, code(answer)], [404, "job_not_found"], `${method} ${path}`);
    }
  });

  it("refuse what no job can be, and name it", async () => {
    const wrong: [more: object, status: number, code: string, sentence: RegExp][] = [
      [{ prompt: "" }, 400, "usage_invalid", /at prompt/],
      [{ session: undefined }, 400, "usage_invalid", /at session/],
      [{ session: "no\u0007key" }, 400, "session_key_invalid", /key/],
      [{ agent: "nowhere" }, 400, "config_invalid", /nowhere/],
      [{ colour: "red" }, 400, "usage_invalid", /colour/],
      [{ times: { kind: "often" } }, 400, "usage_invalid", /at times/],
      [{ times: { kind: "every", everyMs: 10 } }, 400, "usage_invalid", /at times\.everyMs/],
      [{ times: { kind: "at", at: 1_000 } }, 400, "usage_invalid", /never be due/],
      [{ times: { kind: "cron", expression: "61 * * * *", tz: "UTC" } }, 400, "usage_invalid", /61 \*/],
      [{ times: { kind: "cron", expression: "0 8 * * *", tz: "Mars/Base" } }, 400, "usage_invalid", /Mars/],
      [{ missed: "twice" }, 400, "usage_invalid", /at missed/],
      [{ check: { kind: "file", path: "" } }, 400, "usage_invalid", /at check\.path/],
    ];
    for (const [more, status, wanted, what] of wrong) {
      const answer = await add(more);
      assert.deepEqual([answer.status, code(answer)], [status, wanted], JSON.stringify(more));
      assert.match(sentence(answer), what);
    }
    assert.deepEqual(await listed(), []);
  });

  it("need the scope admin, and a token of a pattern reaches the jobs of its sessions alone", async () => {
    const made = await add();
    const path = `${JOBS}/${id(made)}`;
    for (const scope of ["read", "chat"]) {
      const headers = await token(scope);
      for (const [method, where, body] of [
        ["GET", JOBS, undefined],
        ["GET", path, undefined],
        ["POST", JOBS, { prompt: "Look.", session: "work", times: DAILY }],
        ["POST", `${path}/run`, undefined],
        ["DELETE", path, undefined],
      ] as const) {
        const answer = await server.call(method, where, body, headers);
        assert.deepEqual(
          [answer.status, code(answer)],
          [403, "token_invalid"],
          `${scope} ${method} ${where}`,
        );
      }
    }
    const family = await token("admin", "family-*");
    assert.deepEqual(await listed(family), []);
    for (const [method, where] of [
      ["GET", path],
      ["POST", `${path}/pause`],
      ["POST", `${path}/run`],
      ["DELETE", path],
    ] as const) {
      const answer = await server.call(method, where, undefined, family);
      assert.deepEqual([answer.status, code(answer)], [403, "token_invalid"], `${method} ${where}`);
    }
    const refused = await server.call("POST", JOBS, { prompt: "x", session: "work", times: DAILY }, family);
    assert.equal(code(refused), "token_invalid");
    const own = await server.call("POST", JOBS, { prompt: "x", session: "family-1", times: DAILY }, family);
    assert.deepEqual(await listed(family), [id(own)]);
    assert.equal((await server.call("GET", path)).body["paused"], false);
  });
});
