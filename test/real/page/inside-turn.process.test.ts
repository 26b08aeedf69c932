/** The inspector as a panel of a turn, in the conversation. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fill, openPageHome, type PageHome } from "../page-setting.ts";

describe("the inspector of a turn in its conversation", () => {
  let home: PageHome;
  before(async () => {
    home = await fill(await openPageHome());
  });
  after(() => home.close());

  it("opens from the turn, shows words before bytes, and closes from the inside out by Escape", async () => {
    const { page, problems } = await home.open("#/talk/main/harbour", {
      viewport: { width: 1440, height: 900 },
    });
    const panel = page.getByRole("complementary", { name: "Inside the turn" });
    const opener = page.locator(`[data-turn="${home.turn}"]`);
    await opener.scrollIntoViewIfNeeded();
    await opener.click();
    const rows = panel.getByRole("listbox", { name: "Parts of the request" }).getByRole("option");
    await rows.filter({ hasText: "Use the shell to look at the plan." }).click();
    const words = panel.getByLabel("Words", { exact: true });
    assert.equal(await words.innerText(), "Use the shell to look at the plan.");
    await panel.getByRole("button", { name: "Side by side" }).click();
    assert.match(await panel.getByLabel("Words as sent").innerText(), /^\{"role":"user"/);
    assert.equal(await words.count(), 1);
    // The conversation is still there beside it.
    await page.getByRole("textbox", { name: "Message" }).click({ trial: true });
    await panel.getByRole("button", { name: "Side by side" }).focus();
    await page.keyboard.press("Escape");
    await rows.first().waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).hash, "#/talk/main/harbour");
    assert.equal(await page.evaluate("document.activeElement?.dataset.turn"), home.turn);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it("has an address, the price of a cache miss, and the place of what was left out", async () => {
    const { requests } = await home.client.inspect.requests("harbour");
    const missed = requests.findLast(({ cache, purpose }) => cache?.miss && purpose === undefined);
    assert.ok(missed?.turnId !== undefined && missed.cache?.miss?.cost !== undefined);
    const { page, problems } = await home.open(`#/talk/main/harbour/t/${missed.turnId}`, {
      viewport: { width: 360, height: 740 },
    });
    const panel = page.getByRole("complementary", { name: "Inside the turn" });
    const choice = panel.getByLabel("Request", { exact: true });
    if ((await choice.count()) > 0) await choice.selectOption(missed.id);
    assert.match(await panel.locator("[data-cache-miss]").innerText(), /\$[\d.]+ more than from the cache/);
    await page.reload();
    await panel.locator("[data-cache-miss]").waitFor();

    // The newest turn comes after a compaction, so older messages are in a summary.
    const newest = requests.findLast(({ purpose }) => purpose === undefined);
    await page.goto(`${home.server.url}/inspector/#/talk/main/harbour/t/${newest?.turnId ?? ""}`);
    await panel.getByRole("button", { name: "What was left out" }).click();
    const left = panel.getByRole("listbox", { name: "Entries left out" }).getByRole("option");
    assert.match(await left.first().innerText(), /In a summary/);
    await left.first().click();
    await panel.getByText("In its place the request has this summary").waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
