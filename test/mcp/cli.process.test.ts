import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { until } from "../runner/until.ts";
import { makeSetting, finish, start, type Finished } from "../turn/setting.ts";
import { child } from "./client/hosted.ts";
import { oauthServers } from "./client/oauth-servers.ts";

function pagurus(t: TestContext, servers: object, ...args: string[]): Promise<Finished> {
  const setting = makeSetting({ mcp: { servers } });
  t.after(() => setting.remove());
  return finish(setting, ["mcp", ...args]);
}

suite("pagurus mcp", { concurrency: 2 }, () => {
  test("list shows the configured servers and starts none", async (t) => {
    const servers = {
      off: { url: "https://example.com/mcp?key=secret", enabled: false },
      s: { command: "/nonexistent/program" },
    };
    const { stdout, code } = await pagurus(t, servers, "list");
    assert.equal(code, 0);
    assert.match(stdout, /^off +no +- +not known yet +https:\/\/example\.com\/mcp$/m);
    assert.match(stdout, /^s +yes +- +not known yet +\/nonexistent\/program$/m);
  });

  test("test shows tools under the names that models see, and fails with a sentence for an unusable server", async (t) => {
    const { stdout, code } = await pagurus(t, { good: child("good"), dead: child("dead") }, "test");
    assert.equal(code, 1);
    assert.match(stdout, /^good: 10 tools, ready after \d+ ms$/m);
    assert.match(stdout, /^ {2}good__echo {2}Does echo\.$/m);
    assert.match(stdout, /^The MCP server "dead" ended with code 2; its last output was: no licence/m);
  });

  test("login prints the address of the page, takes the browser's answer, and logout forgets it", async (t) => {
    const it = await oauthServers(t);
    const setting = makeSetting({ mcp: { servers: { web: { url: it.url } } } });
    t.after(() => setting.remove());
    const login = start(setting, ["mcp", "login", "web", "--no-browser"]);
    let words = "";
    login.child.stderr?.on("data", (chunk: string) => (words += chunk));
    const page = /^http:\/\/127\S+\/authorize\?\S+$/m;
    await until(() => page.test(words));
    await fetch(page.exec(words)?.[0] ?? "");
    const { stdout, stderr, code } = await login.finished;
    assert.equal(code, 0, stderr);
    assert.equal(stdout, `Logged in to web at ${it.issuer} with the permissions tools.\n`);
    assert.match(stderr, new RegExp(`^Authorization server: ${it.issuer}$`, "m"));
    assert.match((await finish(setting, ["mcp", "test", "web"])).stdout, /^web: 1 tool, ready after/m);
    assert.match((await finish(setting, ["mcp", "list"])).stdout, /^web +yes +logged in +1 +/m);
    assert.equal((await finish(setting, ["mcp", "logout", "web"])).stdout, "Logged out of web.\n");
    assert.equal((await finish(setting, ["mcp", "logout", "web"])).stdout, "There was no login to web.\n");
  });

  test("test of a name that is not configured is refused", async (t) => {
    const { stderr, code } = await pagurus(t, {}, "test", "nope");
    assert.equal(code, 2);
    assert.match(
      stderr,
      /There is no MCP server "nope": none is configured; mcp\.servers in the configuration holds them\. \[usage_invalid\]/,
    );
  });
});
