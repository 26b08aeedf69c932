/** A page of another site in a real browser, with a server of the user's beside it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { startServer, type ModelServer } from "../servers/server.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { openBrowser } from "./inspector-setting.ts";

/** What a hostile page tries: to read, to post in each way that needs no preflight, and with one, to open an event stream. */
function hostilePage(target: string): string {
  return `<!doctype html><title>page</title><pre id="out"></pre><script>
    const tries = [
      ["read", () => fetch("${target}/api/v1/status", { credentials: "include" }).then((r) => r.text())],
      ["post text", () => fetch("${target}/api/v1/sessions/a/turns", { method: "POST", credentials: "include", body: '{"prompt":"x"}' }).then((r) => r.text())],
      ["post json", () => fetch("${target}/api/v1/sessions/a/turns", { method: "POST", headers: { "content-type": "application/json" }, body: '{"prompt":"x"}' }).then((r) => r.text())],
      ["blind post", () => fetch("${target}/api/v1/sessions/a/turns", { method: "POST", mode: "no-cors", credentials: "include", body: '{"prompt":"x"}' }).then((r) => r.type + r.status)],
      ["stream", () => new Promise((done, fail) => { const s = new EventSource("${target}/api/v1/events", { withCredentials: true }); s.onopen = () => done("open"); s.onerror = () => fail(new Error("refused")); })],
      ["socket", () => new Promise((done, fail) => { const s = new WebSocket("${target.replace("http", "ws")}/acp"); s.onopen = () => done("open"); s.onerror = () => fail(new Error("refused")); })],
    ];
    Promise.all(tries.map(([name, run]) => run().then((text) => name + ": " + text, () => name + ": refused")))
      .then((lines) => { document.getElementById("out").textContent = lines.join("\\n"); document.title = "done"; });
  </script>`;
}

describe("a page of another site", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let browser: Browser;
  before(async () => {
    browser = await openBrowser();
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await browser.close();
    await server.kill();
    await model.close();
    setting.remove();
  });

  it("in a browser can neither read from the server nor post to it", async () => {
    const page = createServer((_request, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end(hostilePage(server.url)),
    );
    page.listen(0, "127.0.0.1");
    await once(page, "listening");
    try {
      const shown = await browser.newPage();
      await shown.goto(`http://127.0.0.1:${(page.address() as AddressInfo).port}/`);
      await shown.waitForFunction('document.title === "done"');
      const lines = await shown.locator("#out").textContent();
      assert.deepEqual(lines?.split("\n"), [
        "read: refused",
        "post text: refused",
        "post json: refused",
        // The server has refused the request; its resource policy keeps the answer from the page too.
        "blind post: refused",
        "stream: refused",
        "socket: refused",
      ]);
      const { body } = await server.call("GET", "/api/v1/sessions");
      assert.deepEqual(body["sessions"], []);
      assert.equal(model.requests.length, 0);
    } finally {
      page.close();
    }
  });
});
