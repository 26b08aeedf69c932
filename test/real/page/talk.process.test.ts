/** From a fresh home to an answer with a tool call that is allowed for good, and a reload: by mouse, by keyboard alone, by touch. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { coveredControls, gateOf, startPageSetting, type PageSetting } from "./page-setting.ts";

const SIZES = [
  [320, 568],
  [360, 640],
  [360, 740],
  [390, 844],
  [640, 360],
  [768, 1_024],
  [844, 390],
  [1_024, 768],
  [1_280, 600],
  [1_280, 800],
  [1_920, 1_080],
  [2_560, 1_440],
] as const;

describe("a conversation on the page", () => {
  let pages: PageSetting;
  before(async () => {
    pages = await startPageSetting();
  });
  after(() => pages.close());

  const input = (page: Page) => page.getByRole("textbox", { name: "Message" });
  const question = (page: Page) => page.getByRole("group", { name: /May it use/ });
  const tool = (page: Page) => page.locator(".tool[data-state=done]");
  const words = (page: Page): Promise<string> => page.getByRole("log").innerText();

  async function isAtRest(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Try again" }).last().waitFor();
  }

  it("begins with an input that has the focus, and needs the keyboard alone", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1_280, height: 800 } });
    await input(page).waitFor();
    assert.equal(await page.evaluate("document.activeElement?.id"), "message");
    await page.keyboard.type("show a table");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("run it");
    await page.keyboard.press("Enter");
    await question(page).waitFor();
    // From the question itself: once, always, no.
    await page.keyboard.press("Tab");
    while (!(await page.evaluate<string>("document.activeElement.textContent")).startsWith("Always allow"))
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await isAtRest(page);
    assert.equal(await page.evaluate("document.activeElement?.id"), "message");
    await page.getByRole("table").waitFor();
    const shown = await words(page);
    assert.ok(shown.indexOf("run it") < shown.indexOf("I run it."), shown);
    assert.ok(shown.indexOf("I run it.") < shown.indexOf("The end."), shown);
    const hash = new URL(page.url()).hash;
    assert.match(hash, /^#\/talk\/main\//);

    await page.reload();
    await isAtRest(page);
    assert.equal(await words(page), shown);
    assert.equal(await tool(page).count(), 1);
    assert.equal(await page.locator("[data-code=keyword]").first().innerText(), "export");

    // The rule counts: the same command asks for nothing.
    await page.keyboard.type("run again");
    await page.keyboard.press("Enter");
    await tool(page).nth(1).waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("does the same by touch in 360 px, with an answer of its own to no", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 360, height: 640 }, hasTouch: true });
    await input(page).tap();
    await page.keyboard.type("write a file");
    await page.getByRole("button", { name: "Send" }).tap();
    await question(page).waitFor();
    await question(page).getByRole("button", { name: "No, and say why" }).tap();
    await page.getByRole("textbox", { name: "What to do instead" }).fill("Put it into src");
    await page.getByRole("button", { name: "Say no" }).tap();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.getByLabel("Output").getByText("Put it into src").waitFor();
    await page.getByRole("button", { name: "Try again" }).tap();
    await question(page).getByRole("button", { name: "Allow once" }).tap();
    await page
      .getByRole("figure", { name: "Changes of calc.js" })
      .getByText("export const two = 2;")
      .waitFor();
    await isAtRest(page);
    // The refused try has left the conversation.
    assert.equal(await page.locator(".from-user").count(), 1);
    await page.getByRole("button", { name: "Open the list of conversations" }).tap();
    await page.getByRole("link", { name: "write a file" }).waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("hides no control in any of 12 window sizes, also with a question and a long answer", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1_280, height: 800 } });
    const look = async (state: string): Promise<void> => {
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        assert.deepEqual(await coveredControls(page), [], `${state}, ${width}×${height}`);
      }
    };
    await input(page).waitFor();
    await look("a new conversation");
    await input(page).fill("long");
    await page.keyboard.press("Enter");
    await isAtRest(page);
    await look("a long answer");
    await input(page).fill("write it");
    await page.keyboard.press("Enter");
    await question(page).waitFor();
    await input(page).fill("One more thing\n".repeat(12));
    await look("a question, and a long message in the input");
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("list", { name: "Waiting messages" }).waitFor();
    await look("a question, and a message that waits");
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByRole("list", { name: "Waiting messages" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Stop the turn" }).click();
    await question(page).waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("keeps a draft over a reload, edits what waits, and stops by Escape", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1_280, height: 800 } });
    await input(page).fill("wait one");
    await page.reload();
    await input(page).waitFor();
    assert.equal(await input(page).inputValue(), "wait one");
    await page.keyboard.press("Enter");
    await gateOf(pages, "wait one", page);
    await input(page).fill("and then this");
    await page.keyboard.press("Enter");
    const waiting = page.getByRole("list", { name: "Waiting messages" });
    await waiting.getByText("and then this").waitFor();
    await waiting.getByRole("button", { name: "Edit" }).click();
    await waiting.waitFor({ state: "detached" });
    assert.equal(await input(page).inputValue(), "and then this");
    await page.keyboard.press("Escape");
    await page.getByText("The turn was stopped.").waitFor();
    pages.gates.get("wait one")?.();
    await page.getByRole("button", { name: "Stop the turn" }).waitFor({ state: "detached" });
    // An earlier message, sent in another form: what came after it is gone.
    await page.locator(".from-user").hover();
    await page.getByRole("button", { name: "Edit" }).click();
    await input(page).fill("hello instead");
    await page.keyboard.press("Enter");
    await page.getByText("Answer to hello instead").waitFor();
    await isAtRest(page);
    assert.equal(await page.locator(".from-user").count(), 1);
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
