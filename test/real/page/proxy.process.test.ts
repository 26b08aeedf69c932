/** The page below a path of a reverse proxy, and as a program that is installed from there. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openPage } from "../inspector-setting.ts";
import { startPrefixProxy, type PrefixProxy } from "../../servers/prefix-proxy.ts";
import { startPageSetting, type PageSetting } from "./page-setting.ts";

describe("the page below a path of a reverse proxy", () => {
  let pages: PageSetting;
  let proxy: PrefixProxy;
  before(async () => {
    pages = await startPageSetting();
    proxy = await startPrefixProxy(pages.server.url, "/tools/pagurus");
  });
  after(async () => {
    await proxy.close();
    await pages.close();
  });

  it("asks for nothing outside of its path, from the sign-in to the answer and the sign-out", async () => {
    const { page, problems } = await openPage(pages.browser);
    page.setDefaultTimeout(60_000);
    const { body } = await pages.server.call("POST", "/api/v1/browser-codes", { scope: "admin" });
    const { hash } = new URL(String(body["url"]));
    // Without the slash at its end: the server leads to the page's own folder.
    await page.goto(`${proxy.url}/inspector${hash}`);
    assert.equal(new URL(page.url()).pathname, "/tools/pagurus/inspector/");
    const input = page.getByRole("textbox", { name: "Message" });
    assert.equal(page.workers().length, 0);
    await input.fill("show a table");
    await input.press("Enter");
    await page.getByRole("table").waitFor();
    // Colours come from a worker of a file of its own, loaded with the first code.
    await page.locator("[data-code=keyword]").first().waitFor();
    const [worker] = page.workers();
    assert.match(worker?.url() ?? "", new RegExp(`^${proxy.url}/inspector/assets/highlight-worker-`));
    await page.reload();
    await page.getByRole("table").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This page is signed out.").waitFor();
    assert.deepEqual(proxy.outside, []);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("can be installed from there: the manifest, its icons and its start are below the path", async () => {
    const { page, problems } = await openPage(pages.browser);
    await page.goto(`${proxy.url}/inspector/`);
    await page.getByText("This page is signed out.").waitFor();
    const address = await page.evaluate<string>(`document.querySelector("link[rel=manifest]").href`);
    assert.equal(address, `${proxy.url}/inspector/manifest.webmanifest`);
    // Chromium's own view of the manifest: it has no error, and its start is inside of its scope.
    const session = await page.context().newCDPSession(page);
    const { errors, data = "" } = await session.send("Page.getAppManifest");
    assert.deepEqual(errors, []);
    const { icons, start_url: start } = JSON.parse(data) as { icons: { src: string }[]; start_url: string };
    assert.equal(new URL(start, address).href, `${proxy.url}/inspector/`);
    for (const { src } of icons) {
      const answer = await page.request.get(new URL(src, address).href);
      assert.equal(answer.status(), 200, src);
    }
    assert.deepEqual(proxy.outside, []);
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
