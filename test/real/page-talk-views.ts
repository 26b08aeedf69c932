/** The views of the page to talk in: their places, and when each is there. */
import type { Page } from "playwright-core";
import type { PageHome } from "./page-setting.ts";
import type { View } from "./page-views.ts";

/** Of 200 px each: more than the longest list of the fixtures. */
const MOST_STEPS = 2_000;

const isAtRest = (page: Page): Promise<void> =>
  page.getByRole("button", { name: "Try again" }).last().waitFor();

/** Scrolls up until a message with other versions is there, and opens the subagent below it. */
async function showVersions(page: Page): Promise<void> {
  await isAtRest(page);
  const versions = page.getByRole("group", { name: "Versions of this message" });
  for (let step = 0; (await versions.count()) === 0; step += 1) {
    if (step === MOST_STEPS) throw new Error("No message of the list has other versions.");
    await page.locator(".talk-list").evaluate((list) => {
      (list as { scrollTop: number }).scrollTop -= 200;
    });
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  }
  // The list draws its rows again while it scrolls.
  await versions.evaluate((group) =>
    (group as { scrollIntoView(at: object): void }).scrollIntoView({ block: "center" }),
  );
  const card = page.locator(".subagent");
  if ((await card.getAttribute("open")) === null) await card.locator("summary").click();
  await card.getByText("Three ships come").waitFor();
}

/** Of a filled home. */
export function talkViewsOf({ turn }: PageHome): View[] {
  return [
    {
      name: "new",
      hash: "#/",
      ready: (page) => page.getByRole("textbox", { name: "Message" }).waitFor(),
    },
    {
      name: "list",
      hash: "#/",
      ready: async (page) => {
        await page.getByRole("button", { name: /the list of conversations$/ }).waitFor();
        const open = page.getByRole("button", { name: "Open the list of conversations" });
        if ((await open.count()) > 0) await open.click();
        await page.getByRole("link", { name: "Plan the trip of the pilots." }).waitFor();
      },
    },
    { name: "conversation", hash: "#/talk/main/harbour", ready: isAtRest },
    { name: "versions", hash: "#/talk/main/trip", ready: showVersions },
    {
      name: "inside",
      hash: `#/talk/main/harbour/t/${encodeURIComponent(turn)}`,
      ready: (page) =>
        page.getByRole("listbox", { name: "Parts of the request" }).getByRole("option").first().waitFor(),
    },
    {
      name: "question",
      hash: "#/talk/main/crane",
      ready: (page) => page.getByRole("group", { name: /May it use/ }).waitFor(),
    },
    {
      name: "palette",
      hash: "#/talk/main/harbour",
      ready: async (page) => {
        await isAtRest(page);
        if ((await page.getByRole("dialog").count()) === 0) await page.keyboard.press("Control+k");
        await page.getByRole("option", { name: "New conversation" }).first().waitFor();
      },
    },
  ];
}
