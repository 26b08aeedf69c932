/** The palette, the keys, and the settings of the page, in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { pageFindings } from "../page-findings.ts";
import { until } from "../../runner/until.ts";
import { startPageSetting, type PageSetting } from "./page-setting.ts";

describe("the palette of the page", () => {
  let pages: PageSetting;
  before(async () => {
    pages = await startPageSetting();
  });
  after(() => pages.close());

  const input = (page: Page) => page.getByRole("textbox", { name: "Message" });
  const finder = (page: Page) => page.getByRole("combobox", { name: "Go to anything, do anything" });
  const isAtMessage = (page: Page) => page.evaluate<boolean>('document.activeElement?.id === "message"');
  const hash = (page: Page) => new URL(page.url()).hash;

  /** The layer is hidden at once, and removed when what was chosen has run. */
  const closed = (page: Page) =>
    page.locator('dialog.palette[aria-label^="Go to"]').waitFor({ state: "detached" });

  async function choose(page: Page, typed: string, label: string): Promise<void> {
    await page.keyboard.press("Control+k");
    await finder(page).waitFor();
    await page.keyboard.type(typed);
    await page.getByRole("option", { name: label }).first().waitFor();
    await page.locator('.palette [aria-selected="true"]', { hasText: label }).waitFor();
    await page.keyboard.press("Enter");
    await closed(page);
  }

  it("leads by keyboard alone to views, conversations, commands and choices, and Escape leaves it", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1280, height: 800 } });
    await input(page).fill("hello");
    await input(page).press("Enter");
    await page.getByText("Answer to hello").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    const talk = hash(page);

    await choose(page, "line of", "Line of time of this conversation");
    await page.getByRole("listbox", { name: "Line of time" }).waitFor();
    // From the inspector too.
    await choose(page, "hello", "hello");
    await until(() => hash(page) === talk);
    await input(page).waitFor();
    await choose(page, "inside", "Look inside the last turn");
    await page.getByRole("complementary", { name: "Inside the turn" }).waitFor();
    await page.keyboard.press("Escape");
    await choose(page, "/cost", "/cost");
    await until(async () => (await input(page).inputValue()) === "/cost ");
    await until(() => isAtMessage(page));
    await input(page).fill("");
    await choose(page, "thinking high", "Thinking: high");
    await page
      .getByRole("combobox", { name: "Thinking" })
      .locator("option:checked", { hasText: "long" })
      .waitFor({ state: "attached" });

    await page.keyboard.press("Control+k");
    await finder(page).fill("no such thing at all");
    await page.getByText("Nothing has these words.").waitFor();
    await page.keyboard.press("Escape");
    await closed(page);
    await until(() => isAtMessage(page));
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("does not stop a turn by the Escape that closes it", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1280, height: 800 } });
    await input(page).fill("wait palette");
    await input(page).press("Enter");
    const stop = page.getByRole("button", { name: "Stop the turn" });
    await stop.waitFor();
    await page.keyboard.press("Control+k");
    await finder(page).waitFor();
    await page.keyboard.press("Escape");
    await closed(page);
    const open = await gate(page, "wait palette");
    open();
    await page.getByText("Answer to wait palette").waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  async function gate(page: Page, prompt: string): Promise<() => void> {
    for (;;) {
      const open = pages.gates.get(prompt);
      if (open) return open;
      await page.evaluate("new Promise((done) => requestAnimationFrame(done))");
    }
  }

  it("changes the theme and the motion for good, and shows the keys; neither has a finding", async () => {
    const { page, problems } = await pages.open({
      viewport: { width: 360, height: 740 },
      colorScheme: "light",
    });
    await input(page).waitFor();
    const root = (name: string) => page.evaluate<string>(`document.documentElement.dataset.${name} ?? ""`);
    const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await choose(page, "theme dark", "Theme: dark");
    await choose(page, "motion", "Motion: off");
    await until(async () => (await ground()) !== light);
    await page.reload();
    await input(page).waitFor();
    assert.deepEqual([await root("theme"), await root("motion")], ["dark", "off"]);
    assert.notEqual(await ground(), light);
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
    assert.deepEqual(await pageFindings(page), []);
    await page.keyboard.press("Escape");
    await choose(page, "keys", "Keys of this page");
    await page.getByRole("dialog", { name: "Keys" }).getByText("New line").waitFor();
    assert.deepEqual(await pageFindings(page), []);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("is reached by touch from the list of conversations", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 360, height: 740 }, hasTouch: true });
    await page.getByRole("button", { name: "Open the list of conversations" }).tap();
    await page.getByRole("button", { name: "Go to …" }).tap();
    await page.getByRole("option", { name: "Board" }).tap();
    await page.getByRole("heading", { name: "Health" }).waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
