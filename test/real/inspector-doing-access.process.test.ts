/** What a user does in the inspector, for everyone: no serious finding of axe in either theme, at two widths, and by keyboard alone. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { buildPage } from "../server/built-page.ts";
import { openBrowser, openPage } from "./inspector-setting.ts";
import { pageFindings } from "./page-findings.ts";

const PROTOCOL = "openai-completions";

describe("what a user does in the inspector", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let browser: Browser;
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startServer({
      protocol: PROTOCOL,
      script: (request): ReplyStep => {
        const { messages } = readBody(PROTOCOL, request);
        if (messages.at(-1)?.role === "tool") return { text: "Done." };
        const command = `echo ${"a-long-word-without-a-space".repeat(12)}`;
        return { text: "I run it.", toolCalls: [{ id: "c1", name: "shell", arguments: { command } }] };
      },
    });
    undo.push(() => model.close());
    const agents = { defaults: { permission: { mode: "ask", sandbox: "off" } } };
    setting = makeSetting(modelConfig(PROTOCOL, model.url, {}, { agents }));
    undo.push(() => setting.remove());
    server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    browser = await openBrowser();
    undo.push(() => browser.close());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  /** The name of what has the focus. */
  function focused(page: Page): Promise<string> {
    return page.evaluate<string>(
      "((at) => at.ariaLabel ?? at.labels?.[0]?.textContent ?? at.textContent)(document.activeElement)",
    );
  }

  async function tabTo(page: Page, name: RegExp): Promise<void> {
    for (let tries = 0; tries < 40; tries++) {
      if (name.test(await focused(page))) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`the focus does not reach ${String(name)}`);
  }

  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [1200, 360])
      it(`has no serious finding in the ${colorScheme} theme at ${width} px, and needs no mouse`, async () => {
        const key = `${colorScheme}-${width}`;
        const posted = await server.call("POST", "/api/v1/sessions", { key });
        assert.equal(posted.status, 201);
        const { body } = await server.call("POST", "/api/v1/browser-codes", {
          scope: "admin",
          session: { key, agent: "main" },
        });
        const { page, problems } = await openPage(browser, {
          colorScheme,
          viewport: { width, height: 720 },
        });
        page.setDefaultTimeout(20_000);
        try {
          await page.goto(String(body["url"]));
          await page.getByRole("textbox", { name: "Message" }).waitFor();
          await tabTo(page, /^Message$/);
          await page.keyboard.type("Run it");
          await page.keyboard.press("Enter");
          const question = page.getByRole("group", { name: /May it use shell/ });
          await question.waitFor();
          await page.getByRole("button", { name: "Stop the turn" }).waitFor();
          assert.ok((await question.getByRole("button").count()) > 2, "an administrator's answers too");
          const found = await pageFindings(page);
          await tabTo(page, /^Allow once$/);
          await page.keyboard.press("Enter");
          await page.getByText("The turn completed.").waitFor();
          assert.equal(await focused(page), "Message", "the focus is not lost with the question");
          await page.getByRole("listbox", { name: "Line of time" }).press("End");
          await page.keyboard.press("Enter");
          await tabTo(page, /^Fork from here$/);
          await page.keyboard.press("Enter");
          assert.equal(await focused(page), "Key of the new session");
          found.push(...(await pageFindings(page)));
          assert.deepEqual(found, []);
          assert.deepEqual(problems, []);
        } finally {
          await page.context().close();
        }
      });
});
