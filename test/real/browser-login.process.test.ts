/** The login of `pagurus open` in a real browser: from a file without a code on any command line, for one origin, until it is ended. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { buildPage } from "../server/built-page.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { openBrowser, openPage } from "./inspector-setting.ts";

describe("the login of a browser", () => {
  let setting: Setting;
  let server: ServeProcess;
  let browser: Browser;
  const undo: (() => unknown)[] = [];
  before(async () => {
    await buildPage();
    const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    undo.push(() => model.close());
    setting = makeSetting(modelConfig("openai-completions", model.url));
    undo.push(() => setting.remove());
    server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    const posted = await server.call("POST", "/api/v1/sessions/sea/turns", { prompt: "x" });
    await server.ended(String(posted.body["id"]));
    browser = await openBrowser();
    undo.push(() => browser.close());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  let opened = 0;
  /** The address that `pagurus open` gives to the user's browser. */
  async function addressOfOpen(): Promise<string> {
    opened += 1;
    const [program, seen] = [join(setting.root, "browser"), join(setting.root, `seen-${opened}`)];
    writeFileSync(program, `#!/bin/sh\nprintf '%s' "$*" > '${seen}.part'; mv '${seen}.part' '${seen}'\n`);
    chmodSync(program, 0o755);
    const { code } = await finish({ ...setting, env: { ...setting.env, BROWSER: program } }, ["open"]);
    assert.equal(code, 0);
    while (!existsSync(seen)) await new Promise((resolve) => setImmediate(resolve));
    return readFileSync(seen, "utf8");
  }

  async function signedIn(): Promise<{ page: Page; login: string; asked: string[] }> {
    const { page, problems, asked } = await openPage(browser);
    const address = await addressOfOpen();
    assert.match(address, /^file:\/\/\S+\.html$/);
    await page.goto(address);
    await page.getByRole("link", { name: "New conversation" }).waitFor();
    assert.deepEqual(problems, []);
    const login = await page.evaluate<string>('sessionStorage.getItem("pagurus-login")');
    assert.match(login, /^pgb_/);
    return { page, login, asked };
  }

  const isSignedOut = (page: Page): Promise<void> => page.getByText("This page is signed out").waitFor();

  async function statusWith(login: string): Promise<number> {
    const headers = { authorization: `Bearer ${login}` };
    return (await server.call("GET", "/api/v1/status", undefined, headers)).status;
  }

  it("comes from a file, leaves no code in an address, and survives a reload of its tab alone", async () => {
    const { page, asked } = await signedIn();
    assert.equal(page.url(), `${server.url}/inspector/#/`);
    assert.deepEqual(
      asked.filter((url) => url.startsWith("http") && url.includes("sign-in")),
      [`${server.url}/sign-in`],
      "no request has the code in its address",
    );
    await page.reload();
    await page.getByRole("link", { name: "New conversation" }).waitFor();
    const tab = await page.context().newPage();
    await tab.goto(`${server.url}/inspector/`);
    await isSignedOut(tab);
    await page.context().close();
  });

  it("reaches no server of another port of the same address", async () => {
    const received: string[] = [];
    const other = createServer((request: IncomingMessage, response) => {
      received.push(JSON.stringify([request.url, request.rawHeaders]));
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>other</title>");
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    try {
      const { page, login } = await signedIn();
      const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
      const tab = await page.context().newPage();
      await tab.goto(address);
      await page.goto(address);
      const kept = await page.evaluate<string>(
        "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])",
      );
      assert.equal(kept, '[{},{},""]');
      assert.ok(received.length >= 2);
      for (const text of received) {
        assert.ok(!text.includes(login), text);
        assert.doesNotMatch(text, /cookie|authorization|pgb_|sign-in/i);
      }
      assert.deepEqual(await page.context().cookies(), []);
      await page.context().close();
    } finally {
      other.close();
    }
  });

  it("ends with the button of the page", async () => {
    const { page, login } = await signedIn();
    assert.equal(await statusWith(login), 200);
    await page.getByRole("button", { name: "Sign out" }).click();
    await isSignedOut(page);
    while ((await statusWith(login)) !== 401) await new Promise((resolve) => setImmediate(resolve));
    await page.reload();
    await isSignedOut(page);
    await page.context().close();
  });

  it("ends with a command, and the page says so by itself", async () => {
    const { page, login } = await signedIn();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    const { stdout } = await finish(setting, ["token", "list"]);
    const [id = ""] = /^browser-\w+/m.exec(stdout) ?? [];
    assert.equal((await finish(setting, ["token", "revoke", "browser"])).code, 0);
    assert.notEqual(id, "");
    await isSignedOut(page);
    assert.equal(await statusWith(login), 401);
    await page.context().close();
  });
});
