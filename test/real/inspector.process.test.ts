/** `pagurus inspect` in a real browser: the way from the sessions to the words, by keyboard alone, and hostile contents. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, start, type Setting } from "../turn/setting.ts";
import { buildPage } from "../server/built-page.ts";
import { InspectProcess, openBrowser, openPage, runTurn } from "./inspector-setting.ts";

const HOSTILE = [
  "<img src=x onerror=alert(1)><script>alert(2)</script>",
  "javascript:alert(3) [a](javascript:alert(4))",
  "\u202ereversed\u202c \u200bhidden",
  "\u001b[31mred\u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007",
].join("\n");

describe("the inspector in a browser", () => {
  let model: ModelServer;
  let setting: Setting;
  let browser: Browser;
  let inspect: InspectProcess;
  let first: string;
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startServer({
      protocol: "anthropic-messages",
      script: () => ({ text: `Answer: ${HOSTILE}` }),
    });
    undo.push(() => model.close());
    setting = makeSetting(
      modelConfig(
        "anthropic-messages",
        model.url,
        {},
        { plugins: { slots: { contextEngine: "lossless" } }, gateway: { capture: true } },
      ),
    );
    undo.push(() => setting.remove());
    await runTurn(setting, `First prompt ${HOSTILE}`);
    await runTurn(setting, "Second prompt");
    browser = await openBrowser();
    undo.push(() => browser.close());
    inspect = new InspectProcess(setting);
    undo.push(async () => assert.equal(await inspect.stop(), 0));
    first = await inspect.address;
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  it("opens with a code that works once, and leaves no secret in the address", async () => {
    const { page, problems, asked } = await openPage(browser, { viewport: { width: 1200, height: 800 } });
    await page.goto(first);
    await page.getByRole("listbox", { name: "Sessions" }).waitFor();
    const { search, hash } = new URL(page.url());
    assert.deepEqual([search, hash], ["", "#/"]);
    const again = await openPage(browser);
    await again.page.goto(first);
    await again.page.getByText("This page is signed out").waitFor();

    // Only keys from here on.
    await page.keyboard.press("Enter");
    await page.getByRole("listbox", { name: "Line of time" }).waitFor();
    await page
      .getByRole("option", { name: /request.*model/ })
      .first()
      .waitFor();
    const kinds = await page.locator(".mark").allTextContents();
    assert.deepEqual(kinds.toSorted(), ["request", "request", "turn", "turn"]);
    // Newest first: the second turn's request.
    assert.equal(kinds[0], "request");
    await page.keyboard.press("Enter");
    await page.getByRole("listbox", { name: "Parts of the request" }).waitFor();
    await page.locator("[data-covered=true]").waitFor();
    const covered = await page.locator("[data-covered]").textContent();
    const [, parts, whole] = /are ([\d,]+) of the body's ([\d,]+) bytes/.exec(covered ?? "") ?? [];
    assert.equal(parts, whole);
    await page.getByText("Nothing: the request had every message of the conversation.").waitFor();

    // The oldest user message is found by its mark, with the arrow keys.
    for (let steps = 0; steps < 30; steps++) {
      const selected = (await page.locator('[aria-selected="true"] .mark').textContent()) ?? "";
      if (selected === "Earlier message") break;
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
    const readable = page.locator("pre.readable");
    await readable.waitFor();
    assert.match((await readable.textContent()) ?? "", /^First prompt <img src=x/);
    await page.getByRole("button", { name: "Bytes as sent" }).click();
    const words = page.getByLabel("Words as sent");
    await words.waitFor();
    const text = (await words.textContent()) ?? "";
    assert.ok(text.includes("First prompt <img src=x onerror=alert(1)><script>alert(2)</script>"), text);
    assert.ok(text.includes("⟦U+202E⟧reversed⟦U+202C⟧ ⟦U+200B⟧hidden"), text);
    assert.doesNotMatch(text, /[\u202e\u001b\u0007]/);

    await page.keyboard.press("Escape");
    await page.getByText("Nothing: the request had every message of the conversation.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("listbox", { name: "Line of time" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("listbox", { name: "Sessions" }).waitFor();
    // The search, and a hit with its words.
    await page.keyboard.press("/");
    await page.keyboard.type("reversed");
    await page.keyboard.press("Enter");
    await page.getByRole("listbox", { name: "Found messages" }).waitFor();
    await page.keyboard.press("Enter");
    await page
      .getByLabel("Words", { exact: true })
      .getByText("Answer: <img")
      .or(page.locator("pre.words"))
      .first()
      .waitFor();

    assert.equal(await page.locator("#app img, #app script, #app a[href^=javascript]").count(), 0);
    assert.deepEqual(problems, []);
    const { origin } = new URL(first);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(origin) && !url.startsWith("data:")),
      [],
    );
    await page.context().close();
  });

  it("only reads, also with the page's own login", async () => {
    const another = new InspectProcess(setting, ["--session", "main"]);
    try {
      const { page } = await openPage(browser);
      await page.goto(await another.address);
      await page.getByRole("listbox", { name: "Line of time" }).waitFor();
      const statuses = await page.evaluate(async () => {
        const authorization = `Bearer ${sessionStorage.getItem("pagurus-login")}`;
        const post = (path: string): Promise<number> =>
          fetch(`/api/v1${path}`, {
            method: "POST",
            headers: { authorization, "content-type": "application/json" },
            body: '{"prompt":"x"}',
          }).then(({ status }) => status);
        return [
          await post("/sessions/main/turns"),
          await post("/browser-codes"),
          await fetch("/api/v1/tokens", { headers: { authorization } }).then(({ status }) => status),
        ];
      });
      assert.deepEqual(statuses, [403, 403, 403]);
      const before = model.requests.length;
      assert.equal(before, 2);
    } finally {
      await another.stop();
    }
  });

  it("shows the compaction tree down to the words, and the request that first had a summary", async () => {
    const prompt = (at: number): string => `Prompt ${at}: ${"a harbour has quays. ".repeat(80)}`;
    const args = ["--session", "tree"];
    for (const at of [1, 2, 3, 4, 5]) await runTurn(setting, prompt(at), args);
    const { code } = await start(setting, ["compact", ...args]).finished;
    assert.equal(code, 0);
    await runTurn(setting, "And now?", args);
    const another = new InspectProcess(setting, args);
    try {
      const { page, problems } = await openPage(browser);
      await page.goto(await another.address);
      await page.getByRole("listbox", { name: "Line of time" }).waitFor();
      // Back over the curves and what can be saved, which are between the links and the list.
      for (let steps = 0; steps < 12; steps++) {
        if ((await page.evaluate("document.activeElement.textContent")) === "Compactions") break;
        await page.keyboard.press("Shift+Tab");
      }
      await page.keyboard.press("Enter");
      await page.getByRole("listbox", { name: "Compactions and summaries" }).waitFor();
      const [kind] = await page.locator(".mark").allTextContents();
      assert.equal(kind, "compaction");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      const summary = page.getByLabel("Words of the summary");
      await summary.waitFor();
      assert.ok(((await summary.textContent()) ?? "").length > 0);
      await page.getByRole("button", { name: "First words" }).waitFor();
      await page.getByRole("button", { name: "First request with it" }).press("Enter");
      await page.getByRole("listbox", { name: "Parts of the request" }).waitFor();
      await page.getByRole("listbox", { name: "Entries left out" }).waitFor();
      const head = page.locator('.mark[data-source="head"]');
      assert.ok((await head.count()) > 0);
      assert.match(
        (await page
          .getByRole("option", { name: /In a summary/ })
          .first()
          .textContent()) ?? "",
        /In a summary.*\S/,
      );
      assert.deepEqual(problems, []);
    } finally {
      await another.stop();
    }
  });

  it("fits 360 pixels, in the light and in the dark, with few elements", async () => {
    const grounds = new Set<unknown>();
    for (const colorScheme of ["light", "dark"] as const) {
      const another = new InspectProcess(setting, ["--session", "main"]);
      const { page, problems } = await openPage(browser, {
        viewport: { width: 360, height: 640 },
        colorScheme,
      });
      try {
        await page.goto(await another.address);
        await page.getByRole("listbox", { name: "Line of time" }).waitFor();
        await page.keyboard.press("Enter");
        await page.getByRole("listbox", { name: "Parts of the request" }).waitFor();
        await page.getByRole("button", { name: "Map" }).click();
        await page.locator(".tile").first().waitFor();
        const scrollWidth = Number(await page.evaluate("document.documentElement.scrollWidth"));
        const nodes = Number(await page.evaluate('document.querySelectorAll("*").length'));
        assert.ok(scrollWidth <= 360, `${scrollWidth} px`);
        assert.ok(nodes <= 500, `${nodes} nodes`);
        grounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
        assert.deepEqual(problems, []);
      } finally {
        await page.context().close();
        await another.stop();
      }
    }
    assert.equal(grounds.size, 2, "the dark page has another ground");
  });
});
