/** A conversation as a screen reader has it: roles, names and live regions of the browser's accessibility tree, in the order of reading. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { startPageSetting, type PageSetting } from "./page-setting.ts";
import { spokenOn, lineOf, unnamed, type Spoken } from "./screen-reader.ts";

describe("a conversation with a screen reader", () => {
  let pages: PageSetting;
  before(async () => {
    pages = await startPageSetting();
  });
  after(() => pages.close());

  const input = (page: Page) => page.getByRole("textbox", { name: "Message" });

  /** The places of the patterns, each after the one before; fails where one is missing. */
  function inOrder(spoken: readonly Spoken[], patterns: readonly RegExp[]): void {
    const lines = spoken.map(lineOf);
    let from = 0;
    for (const pattern of patterns) {
      const at = lines.findIndex((line, index) => index >= from && pattern.test(line));
      assert.ok(
        at >= 0,
        `${String(pattern)} is not after ${lines[from - 1] ?? "the beginning"} in\n${lines.join("\n")}`,
      );
      from = at + 1;
    }
  }

  it("is read from the first message to the input, with a question that is announced and each control named", async () => {
    const { page, problems } = await pages.open({ viewport: { width: 1_280, height: 800 } });
    await input(page).waitFor();
    const begun = await spokenOn(page);
    assert.deepEqual(unnamed(begun), []);
    inOrder(begun, [/^main /, /^heading "What shall we work on\?"/, /^textbox "Message"/, /^button "Send"/]);
    assert.equal(begun.filter(({ isFocused, role }) => isFocused && role === "textbox").length, 1);

    await page.keyboard.type("run it");
    await page.keyboard.press("Enter");
    await page.getByRole("group", { name: /May it use/ }).waitFor();
    await page.getByText("A question waits for you.").waitFor();
    const asked = await spokenOn(page);
    assert.deepEqual(unnamed(asked), []);
    inOrder(asked, [
      /^log "Conversation"/,
      /^article "You"/,
      /^article "Answer"/,
      /^DisclosureTriangle ".*shell.*echo made/,
      /^status /,
      /^group "May it use shell\?"/,
      /^button "Allow once"/,
      /^button "Always allow/,
      /^button "No, and say why"/,
      /^textbox "Message"/,
    ]);
    const question = asked.find(({ role, name }) => role === "group" && name.startsWith("May it use"));
    assert.equal(question?.live, "assertive");
    assert.equal(question.isFocused, true);
    // The words that come are read by who wants them, and not one by one as they come.
    assert.equal(asked.find(({ role }) => role === "log")?.live, "");

    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.getByText("The turn has ended.").waitFor({ state: "attached" });
    const ended = await spokenOn(page);
    assert.deepEqual(unnamed(ended), []);
    inOrder(ended, [
      /^article "You"/,
      /^article "Answer"/,
      /^DisclosureTriangle ".*done.*shell/,
      /^article "Answer"/,
      /^heading "Result"/,
      /^link "a link"/,
      /^table /,
      /^columnheader "name"/,
      /^button "Copy/,
      /^button "Copy the answer"/,
      /^button "Try again"/,
      /^link "Inspect"/,
      /^status /,
      /^textbox "Message"/,
    ]);
    assert.ok(ended.some(({ role, live }) => role === "status" && live === "polite"));
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
