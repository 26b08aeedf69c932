import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import type { McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import { McpServers } from "../../../packages/host/src/mcp/client/mcp-servers.ts";
import { hosted, silent, textOf, type Hosted } from "./hosted.ts";
import { oauthServers } from "./oauth-servers.ts";

const { signal } = new AbortController();

/** A host that uses logins, for one server. */
function guardedHost(t: TestContext, config: McpServerConfig, home?: string): Hosted {
  return hosted(t, { web: config }, { logins: true, ...(home === undefined ? {} : { home }) });
}

/** Follows the login page as a browser does, on this machine. */
async function logIn({ home }: Hosted, config: McpServerConfig, device = false): Promise<string[]> {
  const options = { config: { mcp: { servers: { web: config } } }, home, env: process.env, logger: silent };
  const servers = new McpServers({ ...options, logins: true });
  const seen: string[] = [];
  try {
    const result = await servers.logIn("web", {
      device,
      signal,
      show: ({ address, issuer, code }) => {
        seen.push(issuer, code ?? "");
        if (code === undefined) void fetch(address);
      },
    });
    return [...seen, result.issuer, result.scope ?? ""];
  } finally {
    await servers.close();
  }
}

function loginFiles({ home }: Hosted): string[] {
  const folder = join(home, "credentials", "mcp");
  return readdirSync(folder).map((name) => join(folder, name));
}

suite("logins to MCP servers", { concurrency: 4 }, () => {
  test("a turn opens no browser: the sentence names the command, and no address that the server names is asked", async (t) => {
    const it = await oauthServers(t);
    const host = guardedHost(t, { url: it.url });
    const { problems } = await host.offer();
    assert.match(problems[0] ?? "", /"web" asks for a login; run pagurus mcp login web, or set "headers"/);
    assert.deepEqual(it.asked, []);
    assert.equal(host.servers.list()[0]?.login, "needed");
  });

  test("a login gives tokens that later turns send, in a file for the user alone", async (t) => {
    const it = await oauthServers(t);
    const host = guardedHost(t, { url: it.url });
    assert.deepEqual(await logIn(host, { url: it.url }), [it.issuer, "", it.issuer, "tools"]);
    const [file = ""] = loginFiles(host);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual((await host.offer()).problems, []);
    assert.equal(textOf(await host.call("web__echo")), "echoed");
    assert.equal(host.servers.list()[0]?.login, "logged in");
    assert.equal(it.tokens.at(-1), "Bearer access-1-abcdef");
    assert.equal(host.servers.logOut("web"), true);
    assert.equal(host.servers.logOut("web"), false);
    assert.match(textOf(await host.call("web__echo")), /asks for a login/);
  });

  test("configured headers reach the server alone, and a token takes the place of Authorization", async (t) => {
    const it = await oauthServers(t);
    const config = { url: it.url, headers: { Authorization: "Bearer ${TOKEN}", "X-Key": "key-abcdef" } };
    const host = guardedHost(t, config);
    process.env["TOKEN"] ??= "tok-abcdef";
    await logIn(host, config);
    assert.ok(it.asked.length >= 3);
    const leaked = it.asked.filter(
      ({ headers }) => headers["x-key"] !== undefined || /tok-/.test(String(headers.authorization)),
    );
    assert.deepEqual(leaked, []);
    await host.offer();
    assert.equal(it.tokens.at(-1), "Bearer access-1-abcdef");
  });

  test("a token that has ended is refreshed once, before its use or after a refusal", async (t) => {
    const it = await oauthServers(t);
    it.lifetime = 1;
    const host = guardedHost(t, { url: it.url });
    await logIn(host, { url: it.url });
    it.lifetime = 3_600;
    await host.offer();
    assert.equal(it.tokens.at(-1), "Bearer access-2-abcdef");
    it.revoke();
    const calls = await Promise.all([host.call("web__echo"), host.call("web__echo")]);
    assert.deepEqual(calls.map(textOf), ["echoed", "echoed"]);
    const refreshes = it.asked.filter(({ body }) => body.get("grant_type") === "refresh_token");
    assert.deepEqual(
      refreshes.map(({ body }) => body.get("refresh_token")),
      ["refresh-1-abcdef", "refresh-2-abcdef"],
    );
    it.revoke();
    it.refuseRefresh();
    assert.match(textOf(await host.call("web__echo")), /"web" asks for a login; run pagurus mcp login web/);
  });

  test("further permissions are asked for by the next login", async (t) => {
    const it = await oauthServers(t);
    const host = guardedHost(t, { url: it.url });
    await logIn(host, { url: it.url });
    await host.offer();
    it.needed = "admin";
    const text = textOf(await host.call("web__echo"));
    assert.match(text, /"web" asks for further permissions \(admin\); run pagurus mcp login web/);
    assert.equal(host.servers.list()[0]?.login, "needed");
    await logIn(host, { url: it.url });
    assert.equal(textOf(await host.call("web__echo")), "echoed");
  });

  test("a server that others name has no login, also under a name that has one", async (t) => {
    const it = await oauthServers(t);
    const host = guardedHost(t, { url: it.url });
    await logIn(host, { url: it.url });
    const others = hosted(t, { web: { url: it.url } }, { home: host.home, hosts: [host.servers] });
    const { problems } = await others.offer();
    assert.match(problems[0] ?? "", /"web" refuses the login \(HTTP 401\); set "headers"/);
    assert.equal(it.tokens.at(-1), undefined);
  });

  test("a token never goes to another address", async (t) => {
    const [it, other] = [await oauthServers(t), await oauthServers(t)];
    const host = guardedHost(t, { url: it.url });
    await logIn(host, { url: it.url });
    const moved = host.again({ web: { url: other.url } });
    assert.match((await moved.offer()).problems[0] ?? "", /asks for a login/);
    assert.deepEqual([...new Set(other.tokens)], [undefined]);
  });

  test("an answer of another login is ignored, and a refusal is a sentence", async (t) => {
    const it = await oauthServers(t);
    const host = guardedHost(t, { url: it.url });
    const statuses = Promise.withResolvers<number[]>();
    const refused = host.servers.logIn("web", {
      signal,
      show: ({ address }) => {
        const back = address.searchParams.get("redirect_uri") ?? "";
        const state = address.searchParams.get("state") ?? "";
        const browse = async (): Promise<number[]> => [
          (await fetch(`${back}?code=stolen&state=other`)).status,
          (await fetch(`${back}?error=access_denied&state=${state}`)).status,
        ];
        statuses.resolve(browse());
      },
    });
    await assert.rejects(refused, {
      code: "mcp_failed",
      message: 'The MCP server "web" received no login: access_denied.',
    });
    assert.deepEqual(await statuses.promise, [400, 200]);
    assert.equal(it.asked.filter(({ line }) => line === "POST /token").length, 0);
  });

  test("a code that is entered on another device logs in, after the answers that it is pending", async (t) => {
    const it = await oauthServers(t);
    it.pending = 2;
    const host = guardedHost(t, { url: it.url });
    const seen = await logIn(host, { url: it.url }, true);
    assert.deepEqual(seen, [it.issuer, "ABCD-EFGH", it.issuer, "tools"]);
    await host.offer();
    assert.equal(textOf(await host.call("web__echo")), "echoed");
    it.revoke();
    assert.equal(textOf(await host.call("web__echo")), "echoed");
  });

  test("a client's own secret logs in without a person, again when its token has ended", async (t) => {
    const it = await oauthServers(t);
    const oauth = { grant: "client_credentials" as const, clientId: "machine", clientSecret: "s-abcdef" };
    const config = { url: it.url, oauth };
    const host = guardedHost(t, config);
    await logIn(host, config);
    await host.offer();
    it.revoke();
    assert.equal(textOf(await host.call("web__echo")), "echoed");
    const grants = it.asked.flatMap(({ body }) => body.get("grant_type") ?? []);
    assert.deepEqual(grants, ["client_credentials", "client_credentials"]);
    assert.doesNotMatch(readFileSync(loginFiles(host)[0] ?? "", "utf8"), /s-abcdef/);
  });

  test("a client of one authorization server is not shown to another one", async (t) => {
    const it = await oauthServers(t);
    const oauth = {
      grant: "client_credentials" as const,
      clientId: "machine",
      clientSecret: "s-abcdef",
      issuer: "https://login.example.com",
    };
    const host = guardedHost(t, { url: it.url, oauth });
    await assert.rejects(logIn(host, { url: it.url, oauth }), { code: "mcp_failed" });
    assert.equal(it.asked.filter(({ line }) => line === "POST /token").length, 0);
  });

  test("a program, and a server whose oauth is false, have no login", async (t) => {
    const host = hosted(t, { p: { command: "x" }, k: { url: "https://x.example/mcp", oauth: false } });
    const login = (name: string) => host.servers.logIn(name, { signal, show: () => undefined });
    await assert.rejects(login("p"), { code: "usage_invalid", message: /"p" is a program/ });
    await assert.rejects(login("k"), { code: "usage_invalid", message: /its "oauth" is false/ });
  });
});
