/** A server with the page, a scripted model that calls tools, and a browser. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { buildPage } from "../../server/built-page.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { openBrowser, openPage } from "../inspector-setting.ts";

const PROTOCOL = "openai-completions";
/** A slow machine starts a server and an engine in this time, ms; nothing is measured by it. */
const PATIENCE_MS = 60_000;

export const MARKDOWN = [
  "## Result",
  "A **table** and [a link](https://example.org):",
  "| name | value |\n|---|---:|\n| one | 1 |\n| two | 2 |",
  "```ts\nexport const add = (a: number, b: number): number => a + b;\n```",
  "The end.",
].join("\n\n");

const LONG = Array.from({ length: 120 }, (_, at) => `Paragraph ${at + 1} of a long answer.`).join("\n\n");

export class PageSetting {
  readonly model: ModelServer;
  readonly setting: Setting;
  readonly server: ServeProcess;
  readonly browser: Browser;
  /** Answers that wait, by the prompt. */
  readonly gates: Map<string, () => void>;

  constructor(parts: Pick<PageSetting, "model" | "setting" | "server" | "browser" | "gates">) {
    this.model = parts.model;
    this.setting = parts.setting;
    this.server = parts.server;
    this.browser = parts.browser;
    this.gates = parts.gates;
  }

  async open(
    options: BrowserContextOptions,
    scope: "read" | "chat" | "admin" = "admin",
  ): Promise<{ page: Page; problems: string[]; asked: string[] }> {
    const opened = await openPage(this.browser, options);
    opened.page.setDefaultTimeout(PATIENCE_MS);
    const { body } = await this.server.call("POST", "/api/v1/browser-codes", { scope });
    await opened.page.goto(String(body["url"]));
    return opened;
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.server.kill();
    await this.model.close();
    this.setting.remove();
  }
}

export async function startPageSetting(): Promise<PageSetting> {
  await buildPage();
  const gates = new Map<string, () => void>();
  const model = await startServer({
    protocol: PROTOCOL,
    script: async (request): Promise<ReplyStep> => {
      const { messages } = readBody(PROTOCOL, request);
      const text =
        messages
          .findLast(({ role }) => role === "user")
          ?.text.split("\n")
          .at(-1) ?? "";
      const isFirst = messages.at(-1)?.role !== "tool";
      if (/^wait \w+$/.test(text)) await new Promise<void>((resolve) => gates.set(text, resolve));
      if (text.startsWith("run ") && isFirst)
        return {
          text: "I run it.",
          toolCalls: [
            { id: `c${messages.length}`, name: "shell", arguments: { command: "echo made > made.txt" } },
          ],
        };
      if (text.startsWith("write ") && isFirst) {
        const args = { path: "calc.js", content: "export const one = 1;\nexport const two = 2;\n" };
        return {
          text: "I write it.",
          toolCalls: [{ id: `w${messages.length}`, name: "write", arguments: args }],
        };
      }
      if (text.startsWith("delegate ") && isFirst) {
        const args = { task: "count the ships" };
        return {
          text: "Another agent does it.",
          toolCalls: [{ id: `s${messages.length}`, name: "spawn_agent", arguments: args }],
        };
      }
      if (text === "long") return { text: LONG };
      return { text: text.startsWith("show") || text.startsWith("run") ? MARKDOWN : `Answer to ${text}` };
    },
  });
  const more = {
    agents: { defaults: { permission: { mode: "ask", sandbox: "off" } } },
    plugins: { slots: { contextEngine: "lossless" } },
  };
  const setting = makeSetting(modelConfig(PROTOCOL, model.url, {}, more));
  const server = await ServeProcess.start(setting);
  return new PageSetting({ model, setting, server, browser: await openBrowser(), gates });
}

/** A scripted answer that waits for its gate. */
export async function gateOf({ gates }: PageSetting, prompt: string, page: Page): Promise<() => void> {
  for (;;) {
    const open = gates.get(prompt);
    if (open) return open;
    await page.waitForTimeout(20);
  }
}

/** In the page: what scrolls is reached by scrolling; what lies around it has to be reached at once. */
const COVERED = `(() => {
  const problems = [];
  const scrolled = ".talk-list *, .side-list *, .question-words *, .offers *, .waiting-list *, .command-text *";
  const shade = document.querySelector(".side-shade");
  const isModal = shade !== null && getComputedStyle(shade).display !== "none";
  for (const control of document.querySelectorAll("button, a[href], input, select, textarea, summary")) {
    if (control.matches(scrolled) || (isModal && control.closest(".view"))) continue;
    const box = control.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const hit = document.elementFromPoint(x, y);
    const name = control.getAttribute("aria-label") ?? control.textContent;
    if (!hit || !(control.contains(hit) || hit.contains(control)))
      problems.push(name + " at " + Math.round(x) + "," + Math.round(y) + " is under " + (hit?.className ?? "nothing"));
  }
  if (document.documentElement.scrollWidth > innerWidth) problems.push("the page is too wide");
  return problems;
})()`;

/** Controls whose middle is under something else, or outside of the window: a sentence for each. */
export async function coveredControls(page: Page): Promise<string[]> {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  return page.evaluate<string[]>(COVERED);
}
