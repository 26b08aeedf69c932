/** `pagurus inspect` without a browser: who gets the page, with which policy, and that it can only read. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { buildPage } from "./built-page.ts";
import { makeSetting, run, start, type Running, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

/** The address that a started `inspect` prints. */
async function address({ child }: Running): Promise<URL> {
  let output = "";
  for await (const text of child.stdout?.setEncoding("utf8") ?? []) {
    output += String(text);
    const [found] = /http:\S+sign-in\S+/.exec(output) ?? [];
    if (found !== undefined && output.includes("Stop it")) return new URL(found);
  }
  return assert.fail(`no address: ${output}`);
}

/** The login for the code of an address; absent for one that was used. */
async function signedIn({ origin, hash }: URL): Promise<string | undefined> {
  const [, code] = /^#\/sign-in\/([\w-]+)/.exec(hash) ?? [];
  const answer = await fetch(`${origin}/sign-in`, { method: "POST", body: JSON.stringify({ code }) });
  assert.equal(answer.headers.get("set-cookie"), null);
  const { token } = (await answer.json()) as { token?: string };
  assert.equal(answer.status, token === undefined ? 401 : 200);
  return token;
}

describe("pagurus inspect", () => {
  let setting: Setting;
  let running: Running;
  let origin: string;
  let authorization: string;
  before(async () => {
    await buildPage();
    setting = makeSetting({ session: { scope: "main" } });
    assert.equal((await run(setting, "Hello", "--session", "a+b/c")).code, 0);
    running = start(setting, ["inspect", "--session", "a+b/c"]);
    const url = await address(running);
    ({ origin } = url);
    assert.equal(url.pathname, "/inspector/");
    assert.match(url.hash, /^#\/sign-in\/[\w-]{43}\/s\/main\/a%2Bb%2Fc$/);
    authorization = `Bearer ${await signedIn(url)}`;
    assert.equal(await signedIn(url), undefined, "a code works once");
  });
  after(async () => {
    running.child.kill("SIGINT");
    await once(running.child, "exit");
    setting.remove();
  });

  it("serves the page with a policy that allows nothing inline and nothing from elsewhere", async () => {
    const page = await fetch(`${origin}/inspector/`);
    const html = await page.text();
    const policy = page.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(page.headers.get("cache-control"), "no-store");
    const [script = ""] = /\.\/assets\/[\w.-]+\.js/.exec(html) ?? [];
    const asset = await fetch(new URL(script, page.url));
    assert.equal(asset.headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.match(asset.headers.get("cache-control") ?? "", /immutable/);
    await asset.arrayBuffer();
    for (const [name, type] of [
      ["manifest.webmanifest", "application/manifest+json"],
      ["icon.svg", "image/svg+xml"],
      ["icon-192.png", "image/png"],
    ] as const) {
      const answer = await fetch(`${origin}/inspector/${name}`);
      assert.equal(answer.headers.get("content-type"), type);
      await answer.arrayBuffer();
    }
    for (const path of ["assets/%2e%2e/%2e%2e/package.json", "assets/..%2findex.js", "x.js"])
      assert.equal((await fetch(`${origin}/inspector/${path}`, { headers: { authorization } })).status, 404);
  });

  it("answers reads alone, to its own browser alone", async () => {
    const status = async (method: string, path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${origin}/api/v1${path}`, {
        method,
        headers: {
          authorization,
          ...(method === "GET" ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(method === "GET" ? {} : { body: '{"prompt":"x"}' }),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    assert.equal(await status("GET", "/sessions"), 200);
    assert.equal(await status("GET", "/sessions", { authorization: "" }), 401);
    assert.equal(await status("GET", "/sessions", { origin: "http://evil.example" }), 403);
    assert.equal(await status("POST", "/sessions/main/turns"), 403);
    assert.equal(await status("DELETE", "/sessions/main"), 403);
    assert.equal(await status("GET", "/tokens"), 403);
    assert.ok(!existsSync(join(setting.home, "server")), "it leaves nothing of a server in the home");
  });

  longTest("uses the server of the home where one runs", async () => {
    const server = await ServeProcess.start(setting);
    try {
      const { stdout, code } = await start(setting, ["inspect"]).finished;
      assert.equal(code, 0);
      const url = new URL(/http:\S+sign-in\S+/.exec(stdout)?.[0] ?? "");
      assert.equal(url.origin, server.url);
      const own = await signedIn(url);
      const answer = await fetch(`${server.url}/api/v1/sessions/main/turns`, {
        method: "POST",
        headers: { authorization: `Bearer ${own}`, "content-type": "application/json" },
        body: '{"prompt":"x"}',
      });
      assert.equal(answer.status, 403);
    } finally {
      await server.kill("SIGTERM");
    }
    assert.ok(readdirSync(setting.home).includes("server"));
  });
});
