/** Versions of a message and subagents, in a conversation of a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { startPageSetting, type PageSetting } from "./page-setting.ts";

describe("the versions of a message on the page", () => {
  let pages: PageSetting;
  before(async () => {
    pages = await startPageSetting();
  });
  after(() => pages.close());

  const input = (page: Page) => page.getByRole("textbox", { name: "Message" });
  const bubbles = (page: Page) => page.locator(".from-user .bubble").allInnerTexts();
  const isAtRest = (page: Page) => page.getByRole("button", { name: "Try again" }).last().waitFor();

  it("come from an edit and from another try, and each is shown again with all that followed it", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1280, height: 800 } });
    const say = async (words: string): Promise<void> => {
      await input(page).fill(words);
      await input(page).press("Enter");
      await page.locator(".answer", { hasText: `Answer to ${words}` }).waitFor();
      await isAtRest(page);
    };
    await say("by train");
    await say("who pays");
    await page.locator(".from-user").first().hover();
    await page.getByRole("button", { name: "Edit" }).first().click();
    await say("by boat");
    const versions = page.getByRole("group", { name: "Versions of this message" });
    await versions.getByText("2/2").waitFor();
    assert.deepEqual(await bubbles(page), ["by boat"]);

    await page.getByRole("button", { name: "Try again" }).click();
    await versions.getByText("3/3").waitFor();
    await isAtRest(page);
    assert.deepEqual(await bubbles(page), ["by boat"]);

    // Back to the first one: its later turn is there too, and the words of both are those of the reload.
    await versions.getByRole("button", { name: /^Version before/ }).click();
    await versions.getByText("2/3").waitFor();
    await versions.getByRole("button", { name: "Version before: by train" }).click();
    await versions.getByText("1/3").waitFor();
    await page.getByText("Answer to who pays").waitFor();
    assert.deepEqual(await bubbles(page), ["by train", "who pays"]);
    await page.reload();
    await versions.getByText("1/3").waitFor();
    assert.deepEqual(await bubbles(page), ["by train", "who pays"]);
    // What is sent now continues this version.
    await say("and when");
    assert.deepEqual(await bubbles(page), ["by train", "who pays", "and when"]);
    assert.equal(await versions.getByRole("button", { name: /^Version before/ }).isDisabled(), true);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("are offered at the end of a conversation that was moved back", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 360, height: 740 }, hasTouch: true });
    await input(page).fill("one way");
    await input(page).press("Enter");
    await isAtRest(page);
    await input(page).fill("/undo");
    await page.getByRole("button", { name: "Send" }).tap();
    const left = page.getByRole("group", { name: "What followed here" });
    await left.getByRole("button", { name: "one way" }).tap();
    await page.locator(".answer", { hasText: "Answer to one way" }).waitFor();
    await left.waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("do not hide a subagent, whose conversation opens in its place", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1280, height: 800 } });
    await input(page).fill("delegate it");
    await input(page).press("Enter");
    await isAtRest(page);
    const card = page.locator(".subagent");
    const nested = card.getByRole("group", { name: "Conversation of the subagent" });
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload();
      await card.getByText("count the ships").click();
      await nested.getByText("Answer to count the ships").waitFor();
      assert.equal(await card.count(), 1);
    }
    await nested.getByRole("link", { name: "Open it as a conversation" }).click();
    await page.getByRole("button", { name: "To its parent" }).click();
    await card.waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
