/** Who may use a real `pagurus serve`: tokens with scope, sessions and expiry; hosts, origins; limits of requests. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { statSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { TokenStore } from "../../packages/server/src/access/token-store.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess, type Answer } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

const NO_KEY = { authorization: "" };

describe("a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  /** Lets the model answer a prompt that waits. */
  let release: () => void = () => undefined;

  before(async () => {
    const gate = new Promise<void>((resolve) => (release = resolve));
    model = await startServer({
      protocol: "openai-completions",
      script: async ({ text }) => {
        if (text.includes("wait")) await gate;
        return { text: "hello" };
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

  async function token(...args: string[]): Promise<string> {
    const made = await finish(setting, ["token", "create", "--name", `t-${args.join("")}`, ...args]);
    assert.equal(made.code, 0, made.stderr);
    return made.stdout.trim();
  }

  const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
  const code = (body: Record<string, unknown>): unknown =>
    (body["error"] as { code?: string } | undefined)?.code;

  it("refuses a request without a token, and one with a wrong one", async () => {
    for (const headers of [
      { authorization: "" },
      as("pgr_000000_wrong"),
      as("x"),
      { authorization: "Basic eDp5" },
    ]) {
      const { status, body } = await server.call("GET", "/api/v1/status", undefined, headers);
      assert.equal(status, 401);
      assert.equal(code(body), "token_invalid");
    }
  });

  it("refuses in the error shape of the API that the client speaks", async () => {
    const anthropic = await server.call("POST", "/v1/messages", {}, as("wrong"));
    assert.deepEqual([anthropic.status, anthropic.body["type"]], [401, "error"]);
    assert.equal((anthropic.body["error"] as { type: string }).type, "authentication_error");
    const openai = await server.call("POST", "/v1/chat/completions", {}, as("wrong"));
    assert.equal((openai.body["error"] as { code: string }).code, "token_invalid");
  });

  it("keeps its files to the user, and no token in clear", async () => {
    const secret = await token();
    for (const name of ["server.db", "local-key", "server.json"])
      assert.equal(statSync(join(setting.home, "server", name)).mode & 0o077, 0, name);
    const listed = await finish(setting, ["token", "list", "--json"]);
    assert.ok(!listed.stdout.includes(secret.slice(-20)));
  });

  it("lets a token do what its scope includes, and no more", async () => {
    const read = as(await token("--scope", "read"));
    const chat = as(await token("--scope", "chat"));
    assert.equal((await server.call("GET", "/api/v1/sessions", undefined, read)).status, 200);
    const refused = await server.call("POST", "/api/v1/sessions/a/turns", { prompt: "x" }, read);
    assert.deepEqual([refused.status, code(refused.body)], [403, "token_invalid"]);
    assert.equal((await server.call("POST", "/api/v1/sessions/a/turns", { prompt: "x" }, chat)).status, 202);
    assert.equal((await server.call("DELETE", "/api/v1/sessions/a", undefined, chat)).status, 403);
    assert.equal((await server.call("GET", "/api/v1/tokens", undefined, chat)).status, 403);
  });

  it("keeps no text of a session that was deleted", async () => {
    const posted = await server.call("POST", "/api/v1/sessions/gone/turns", { prompt: "xyzzy-in-the-inbox" });
    await server.ended(String(posted.body["id"]));
    assert.equal((await server.call("DELETE", "/api/v1/sessions/gone")).status, 200);
    const db = openServerDatabase(setting.home);
    const tables = ["work", "events", "approvals"].flatMap((table) => db.all(`SELECT * FROM ${table}`));
    db.close();
    assert.doesNotMatch(JSON.stringify(tables), /xyzzy/);
    const work = await server.call("GET", `/api/v1/work/${String(posted.body["id"])}`);
    assert.equal(work.status, 404);
  });

  it("shows a token only the sessions of its pattern, also among results and events", async () => {
    const posted = await server.call("POST", "/api/v1/sessions/other/turns", { prompt: "a secret word" });
    await server.ended(String(posted.body["id"]));
    const family = as(await token("--session", "family-*"));
    const refused = await server.call("GET", "/api/v1/sessions/other", undefined, family);
    assert.equal(refused.status, 403);
    const listed = await server.call("GET", "/api/v1/sessions", undefined, family);
    assert.deepEqual(listed.body["sessions"], []);
    const found = await server.call("GET", "/api/v1/search?q=secret", undefined, family);
    assert.deepEqual(found.body["hits"], []);
    const work = await server.call("GET", `/api/v1/work/${String(posted.body["id"])}`, undefined, family);
    assert.equal(work.status, 404);
    const stream = await fetch(`${server.url}/api/v1/work/${String(posted.body["id"])}/events`, {
      headers: family,
    });
    assert.equal(stream.status, 404);
    await stream.body?.cancel();
    const fork = await server.call("POST", "/api/v1/sessions/family-a/fork", { key: "other-2" }, family);
    assert.equal(fork.status, 403);
  });

  it("shows a token the work of its own sessions, and lets it create tokens for no others", async () => {
    const { body } = await server.call("POST", "/api/v1/sessions/private/turns", { prompt: "wait" });
    while (model.requests.every(({ text }) => !text.includes("wait"))) await pause(10);
    const limited = as(await token("--scope", "admin", "--session", "guest-*"));
    const shown = async (headers?: Record<string, string>): Promise<unknown> =>
      (await server.call("GET", "/api/v1/status", undefined, headers)).body["running"];
    assert.deepEqual(await shown(limited), []);
    assert.deepEqual(await shown(), [{ work: body["id"], session: "private", agent: "main" }]);
    release();
    await server.ended(String(body["id"]));
    for (const [sessions, status] of [
      ["*", 403],
      ["guest*", 403],
      ["guest-*", 201],
      ["guest-a-*", 201],
      ["guest-a", 201],
    ] as const) {
      const made = await server.call("POST", "/api/v1/tokens", { name: "x", sessions }, limited);
      assert.equal(made.status, status, sessions);
      if (status === 403) assert.equal(code(made.body), "token_invalid");
    }
    const unnamed = await server.call("POST", "/api/v1/tokens", { name: "x" }, limited);
    assert.equal(unnamed.status, 403);
  });

  it("refuses work of a session key that no session can have, and of an unknown agent", async () => {
    for (const path of ["turns", "compact", "commands"])
      for (const key of ["guest-%00", "%20", "a%0Ab"]) {
        const request = path === "turns" ? { prompt: "x" } : path === "commands" ? { name: "x" } : {};
        const { status, body } = await server.call("POST", `/api/v1/sessions/${key}/${path}`, request);
        assert.deepEqual([status, code(body)], [400, "session_key_invalid"], `${path} ${key}`);
      }
    for (const agent of ["nope", "%00"]) {
      const path = `/api/v1/sessions/a/turns?agent=${agent}`;
      const { status, body } = await server.call("POST", path, { prompt: "x" });
      assert.deepEqual([status, code(body)], [400, "config_invalid"], agent);
    }
  });

  longTest("ends the open streams of a token that is revoked, and refuses it from then on", async () => {
    const secret = await token("--scope", "read", "--session", "*x");
    const stream = await fetch(`${server.url}/api/v1/events`, { headers: as(secret) });
    assert.equal(stream.status, 200);
    const revoked = await finish(setting, ["token", "revoke", "t---scoperead--session*x"]);
    assert.equal(revoked.code, 0, revoked.stderr);
    assert.match(await stream.text(), /^event: token\.ended\ndata: .*\n\n$/);
    assert.equal((await server.call("GET", "/api/v1/status", undefined, as(secret))).status, 401);
  });

  it("refuses a token after its expiry", async () => {
    const db = openServerDatabase(setting.home);
    const { secret } = new TokenStore(db).create({ name: "old", scope: "read", expiresAt: Date.now() - 1 });
    db.close();
    assert.equal((await server.call("GET", "/api/v1/status", undefined, as(secret))).status, 401);
    const past = await finish(setting, ["token", "create", "--name", "x", "--expires", "2020-01-01"]);
    assert.equal(past.code, 2);
    assert.match(past.stderr, /not a time in the future/);
  });

  it("refuses other host names and other origins", async () => {
    const raw = (headers: IncomingHttpHeaders): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asked = httpRequest(
          {
            port: server.port,
            host: "127.0.0.1",
            path: "/api/v1/status",
            headers: { ...as(server.key), ...headers },
          },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          },
        );
        asked.on("error", reject).end();
      });
    assert.equal(await raw({ host: "evil.example" }), 403);
    assert.equal(await raw({ host: `evil.example:${server.port}` }), 403);
    assert.equal(await raw({ origin: "https://evil.example" }), 403);
    assert.equal(await raw({ origin: "null" }), 403);
    assert.equal(await raw({ origin: `http://127.0.0.1:${server.port}` }), 200);
    assert.equal(await raw({ host: `localhost:${server.port}` }), 200);
  });

  longTest("refuses bodies that are too long, not JSON, or do not fit, and names the place", async () => {
    const path = "/api/v1/sessions/b/turns";
    const long = await server.call("POST", path, { prompt: "x".repeat(33 * 2 ** 20) });
    assert.deepEqual([long.status, code(long.body)], [413, "body_too_long"]);
    const wrong = await server.call("POST", path, { prompt: 3, policy: "other" });
    assert.equal(wrong.status, 400);
    assert.match(JSON.stringify(wrong.body), /at prompt/);
    const unknown = await server.call("POST", path, { prompt: "x", colour: "red" });
    assert.match(JSON.stringify(unknown.body), /colour/);
    const text = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: as(server.key),
      body: "not json",
    });
    assert.equal(text.status, 400);
    await text.text();
  });

  it("answers clients that disconnect, send half a request or nothing at all, and still serves the others", async () => {
    for (const bytes of [
      "",
      "GET / HT",
      "POST /api/v1/sessions/a/turns HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99\r\n\r\n{",
    ]) {
      const socket = connect(server.port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(bytes);
      socket.destroy();
    }
    assert.equal((await server.call("GET", "/api/v1/status")).status, 200);
  });

  it("signs in a browser once with a code, lists and ends its login, and counts no cookie", async () => {
    const signIn = (url: unknown): Promise<Answer> =>
      server.call("POST", "/sign-in", { code: /#\/sign-in\/([\w-]+)$/.exec(String(url))?.[1] }, NO_KEY);
    const open = async (): Promise<Answer> => {
      const { body } = await server.call("POST", "/api/v1/browser-codes", {});
      const first = await signIn(body["url"]);
      assert.deepEqual([first.status, first.headers.get("set-cookie")], [200, null]);
      const again = await signIn(body["url"]);
      assert.deepEqual([again.status, code(again.body)], [401, "token_invalid"]);
      return first;
    };
    const [one, other] = [await open(), await open()].map(({ body }) => as(String(body["token"])));
    assert.ok(one && other);
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await server.call("GET", "/api/v1/status", undefined, headers)).status;
    assert.deepEqual([await status(one), await status(other)], [200, 200]);
    const cookie = { ...NO_KEY, cookie: `pagurus_session=${one["authorization"]?.slice(7)}` };
    assert.equal(await status(cookie), 401);
    const foreign = { ...one, origin: "https://evil.example" };
    assert.equal(await status(foreign), 403);
    assert.equal((await server.call("POST", "/sign-out", undefined, one)).status, 200);
    assert.deepEqual([await status(one), await status(other)], [401, 200]);
    assert.equal((await server.call("POST", "/sign-out", undefined, as(server.key))).status, 403);
    const listed = await finish(setting, ["token", "list"]);
    assert.match(listed.stdout, /^browser-[0-9a-f]{12} +browser +chat +\* .* until /m);
    const revoked = await finish(setting, ["token", "revoke", "browser"]);
    assert.match(revoked.stdout, /^The token browser-[0-9a-f]{12} \(browser\) is revoked\.\n$/);
    assert.equal(await status(other), 401);
  });

  it("ends the logins of browsers with itself, also if it is killed", async () => {
    const { body } = await server.call("POST", "/api/v1/browser-codes", {});
    const asked = { code: /#\/sign-in\/([\w-]+)$/.exec(String(body["url"]))?.[1] };
    const login = as(String((await server.call("POST", "/sign-in", asked, NO_KEY)).body["token"]));
    assert.equal((await server.call("GET", "/api/v1/status", undefined, login)).status, 200);
    await server.kill("SIGKILL");
    await server.begin();
    assert.equal((await server.call("GET", "/api/v1/status", undefined, login)).status, 401);
  });

  it("answers 404 for a token that it does not know", async () => {
    const { status, body } = await server.call("DELETE", "/api/v1/tokens/nope");
    assert.deepEqual([status, code(body)], [404, "token_not_found"]);
    const revoked = await finish(setting, ["token", "revoke", "nope"]);
    assert.match(revoked.stderr, /There is no token "nope"/);
  });

  it("of a home that has one already is refused with the address of the first", async () => {
    const second = await finish(setting, ["serve", "--port", "0"]);
    assert.equal(second.code, 1);
    assert.match(second.stderr, new RegExp(`runs already, at ${server.url}`));
  });

  it("on another address than the loopback needs a token", async () => {
    const other = makeSetting(modelConfig("openai-completions", model.url));
    try {
      const refused = await finish(other, ["serve", "--port", "0", "--host", "0.0.0.0"]);
      assert.notEqual(refused.code, 0);
      assert.match(refused.stderr, /opens the server to other machines/);
    } finally {
      other.remove();
    }
  });
});
