/** The page for people who read from the right, and for those whom motion disturbs. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator, Page } from "playwright-core";
import { gateOf, startPageSetting, type PageSetting } from "./page-setting.ts";

describe("reading the page", () => {
  let pages: PageSetting;
  before(async () => {
    pages = await startPageSetting();
  });
  after(() => pages.close());

  const input = (page: Page) => page.getByRole("textbox", { name: "Message" });
  const styleOf = (of: Locator, name: string): Promise<string> =>
    of.evaluate((node, property) => {
      const style = (
        globalThis as unknown as { getComputedStyle(node: unknown): Record<string, string> }
      ).getComputedStyle(node);
      return style[property] ?? "";
    }, name);

  it("goes from the right where the words do, and code and paths stay as they are", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1280, height: 800 } });
    const words = "מתי הגאות מתחלפת?";
    await input(page).fill(words);
    assert.equal(await styleOf(input(page), "direction"), "rtl");
    await input(page).press("Enter");
    await page.getByRole("button", { name: "Try again" }).waitFor();
    assert.equal(await styleOf(page.locator(".bubble"), "direction"), "rtl");
    const listed = page.locator(".side-title", { hasText: words });
    await listed.waitFor();
    assert.equal(await styleOf(listed, "direction"), "rtl");
    // An answer that begins with a Latin word goes from the left.
    assert.equal(await styleOf(page.locator(".answer p").first(), "direction"), "ltr");
    assert.equal(await styleOf(page.locator("html"), "direction"), "ltr");
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("moves nothing where the system asks for less motion, or the user has turned it off", async () => {
    for (const how of ["system", "user"] as const) {
      const { page, problems } = await pages.open({
        viewport: { width: 1280, height: 800 },
        reducedMotion: how === "system" ? "reduce" : "no-preference",
      });
      await input(page).waitFor();
      if (how === "user") {
        await page.evaluate(`localStorage.setItem("pagurus-motion", "off")`);
        await page.reload();
      }
      await input(page).fill(`wait ${how}`);
      await input(page).press("Enter");
      const pulse = page.locator(".pulse");
      await pulse.waitFor();
      assert.equal(await styleOf(pulse, "animationName"), "none", how);
      (await gateOf(pages, `wait ${how}`, page))();
      await page.getByText(`Answer to wait ${how}`).waitFor();
      assert.deepEqual(problems, []);
      await page.context().close();
    }
    const { page } = await pages.open({ reducedMotion: "no-preference" });
    await input(page).fill("wait moving");
    await input(page).press("Enter");
    assert.notEqual(await styleOf(page.locator(".pulse"), "animationName"), "none");
    (await gateOf(pages, "wait moving", page))();
    await page.getByText("Answer to wait moving").waitFor();
    await page.context().close();
  });
});
