/** The views of the page for everyone: no serious finding of axe in either theme, every control in reach in 12 sizes of window. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { FULL } from "../runner/short-form.ts";
import { pageFindings } from "./page-findings.ts";
import { unreached, WINDOWS } from "./page-reach.ts";
import { fill, openPageHome, type PageHome } from "./page-setting.ts";
import { talkViewsOf } from "./page-talk-views.ts";
import { viewsOf, type View } from "./page-views.ts";

const SIZES = FULL ? [320, 900, 1440] : [360, 1280];
const REACHED = FULL ? WINDOWS : WINDOWS.filter(([width]) => width === 360 || width === 1280);

describe("the views of the page", () => {
  let home: PageHome;
  let views: View[];
  before(async () => {
    home = await fill(await openPageHome());
    views = await viewsOf(home);
  });
  after(() => home.close());

  for (const colorScheme of ["light", "dark"] as const)
    it(`have no serious finding in the ${colorScheme} theme`, async () => {
      const found: string[] = [];
      const { page, problems } = await home.open("#/board", { colorScheme });
      for (const width of SIZES) {
        await page.setViewportSize({ width, height: 800 });
        for (const { name, hash, ready } of [...talkViewsOf(home), ...views]) {
          // Nothing of the view before is left open.
          await page.goto("about:blank");
          await page.goto(`${home.server.url}/inspector/${hash}`);
          await ready(page);
          found.push(...(await pageFindings(page)).map((finding) => `${name} at ${width}: ${finding}`));
        }
      }
      assert.deepEqual(found, []);
      assert.deepEqual(problems, []);
      await page.context().close();
    });

  it("have every control in reach, in small windows too", async () => {
    const missed: string[] = [];
    const { page } = await home.open("#/board", {});
    for (const { name, hash, ready } of views)
      for (const [width, height] of REACHED) {
        await page.setViewportSize({ width, height });
        await page.goto(`${home.server.url}/inspector/${hash}`);
        await ready(page);
        // The list of conversations makes way in a narrow window, where the view has one.
        if (width <= 860 && (await page.locator(".shell").count()) > 0)
          await page.locator('.shell[data-side="closed"]').waitFor();
        missed.push(...(await unreached(page)).map((each) => `${name} at ${width}×${height}: ${each}`));
      }
    assert.deepEqual(missed, []);
    await page.context().close();
  });
});
