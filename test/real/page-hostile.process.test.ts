/** Hostile content of 40 kinds in every place of the page that shows foreign words: it runs nothing and asks for nothing. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { ReplyStep } from "../servers/server.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { HOSTILE_WORDS } from "./hostile-words.ts";
import { fill, openPageHome, type PageHome } from "./page-setting.ts";
import { viewsOf, type View } from "./page-views.ts";

const KINDS = Object.values(HOSTILE_WORDS);
const ALL = KINDS.join("\n\n");
const MARK = "the end of the hostile words";

/** Elements that the page itself has none of, besides its own script and style. */
const FOREIGN = `[...document.querySelectorAll("script, img, iframe, object, embed, svg, video, audio, base, form[action], style, marquee, math, template, meta[http-equiv]")]
  .filter((each) => !(each.tagName === "SCRIPT" && each.src.startsWith(location.origin)) && !each.closest("[data-own]") && each.innerHTML.includes("hostile"))
  .map((each) => each.outerHTML.slice(0, 120))`;
const LINKS = `[...document.querySelectorAll("a")].map((each) => each.href).filter((href) => !/^(https?:|mailto:)/.test(href))`;

describe("hostile content on the page", () => {
  let home: PageHome;
  let views: View[];

  before(async () => {
    assert.equal(KINDS.length, 40);
    home = await openPageHome((request, index): ReplyStep => {
      const { messages } = readBody("anthropic-messages", request);
      const words = JSON.stringify(messages.at(-1) ?? "");
      if (messages.at(-1)?.role !== "tool" && words.includes("Use the shell"))
        return {
          text: ALL,
          toolCalls: [
            {
              id: `call-${index}`,
              name: "shell",
              arguments: { command: `echo '${ALL.replaceAll("'", "")}'` },
            },
          ],
        };
      return { text: `${ALL}\n\n${MARK}` };
    });
    const { client, server, setting } = home;
    await server.ended((await client.postTurn("harbour", { prompt: `${ALL} berth` })).id);
    home = await fill(home);
    await client.jobs.add({ prompt: ALL, session: "harbour", times: { kind: "every", everyMs: 86_400_000 } });
    await client.createToken({ name: KINDS[0] ?? "", scope: "read" });
    const db = openServerDatabase(setting.home);
    for (const [at, words] of KINDS.entries())
      new ChannelStore(db).people.codeFor("pilots", `p${at}@h${at}.example`, words);
    db.close();
    views = await viewsOf(home);
  });
  after(() => home.close());

  it("runs nothing and asks for nothing, in no view", async () => {
    const { page, problems, asked } = await home.open("#/board", { viewport: { width: 1280, height: 900 } });
    const places = [
      ...views.map(({ name, hash }) => ({ name, hash })),
      { name: "conversation", hash: "#/talk/main/harbour" },
    ];
    for (const { name, hash } of places) {
      await page.goto(`${home.server.url}/inspector/${hash}`);
      await views.find((each) => each.name === name)?.ready(page);
      await page.waitForLoadState("networkidle").catch(() => undefined);
      const option = page.getByRole("listbox").last().getByRole("option").first();
      if (["turn", "request", "changes", "compactions"].includes(name)) await option.click();
      assert.equal(await page.evaluate("window.hostile"), undefined, name);
      assert.deepEqual(await page.evaluate(FOREIGN), [], name);
      assert.deepEqual(await page.evaluate(LINKS), [], name);
    }
    const elsewhere = asked.filter(
      (url) => !url.startsWith(home.server.url) && !/^(?:data|blob|about):/.test(url),
    );
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
