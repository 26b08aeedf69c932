/** What a user does in the inspector of a running server, in a real browser: send, answer, stop, compact, fork, pin; and who may not. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { buildPage } from "../server/built-page.ts";
import { InspectProcess, openBrowser, openPage, runTurn } from "./inspector-setting.ts";

const PROTOCOL = "openai-completions";

describe("the inspector of a user who may chat", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let browser: Browser;
  let page: Page;
  let problems: string[];
  /** Answers of the model that wait, by the prompt. */
  const gates = new Map<string, () => void>();
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startServer({
      protocol: PROTOCOL,
      script: async (request): Promise<ReplyStep> => {
        const { messages } = readBody(PROTOCOL, request);
        // Inputs without an answer are one message.
        const text =
          messages
            .findLast(({ role }) => role === "user")
            ?.text.split("\n")
            .at(-1) ?? "";
        if (/^wait \w+$/.test(text)) await new Promise<void>((resolve) => gates.set(text, resolve));
        if (text.startsWith("shell") && messages.at(-1)?.role !== "tool")
          return {
            text: "I run it.",
            toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo made > made.txt" } }],
          };
        return { text: `Answer to ${text}` };
      },
    });
    undo.push(() => model.close());
    setting = makeSetting(
      modelConfig(
        PROTOCOL,
        model.url,
        {},
        {
          agents: { defaults: { permission: { mode: "ask", sandbox: "off" } } },
          plugins: { slots: { contextEngine: "lossless" } },
        },
      ),
    );
    undo.push(() => setting.remove());
    server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    const { body } = await server.call("POST", "/api/v1/sessions/sea/turns", { prompt: "First prompt" });
    await server.ended(String(body["id"]));
    browser = await openBrowser();
    undo.push(() => browser.close());
    ({ page, problems } = await openPage(browser, { viewport: { width: 1200, height: 800 } }));
    page.setDefaultTimeout(20_000);
    // What the page looks at without an event would hide a missing one.
    await page.addInitScript("globalThis.setInterval = () => 0");
    await page.goto(await addressFor("chat"));
    await page.getByRole("listbox", { name: "Line of time" }).waitFor();
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function addressFor(scope: "read" | "chat" | "admin"): Promise<string> {
    const session = { key: "sea", agent: "main" };
    const { body } = await server.call("POST", "/api/v1/browser-codes", { scope, session });
    return String(body["url"]);
  }

  async function send(text: string): Promise<void> {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
  }

  async function waitsFor(text: string): Promise<() => void> {
    for (let tries = 0; tries < 3_000; tries++) {
      const open = gates.get(text);
      if (open) return open;
      await page.waitForTimeout(20);
    }
    throw new Error(`the model got no ${text}`);
  }

  function row(name: RegExp): ReturnType<Page["getByRole"]> {
    return page.getByRole("listbox", { name: "Line of time" }).getByRole("option", { name });
  }

  it("sends a message, and shows its turn and its answer as they come", async () => {
    await send("Second prompt");
    await row(/turn ?Second prompt.*completed/).waitFor();
    assert.equal(await page.getByLabel("Answer", { exact: true }).textContent(), "Answer to Second prompt");
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "");
    await page.getByText("The turn completed.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Stop the turn" }).count(), 0);
  });

  it("keeps the keys of the page out of the message", async () => {
    await page.getByRole("textbox", { name: "Message" }).focus();
    await page.keyboard.type("one / two");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("three");
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "one / two\nthree");
    await page.getByRole("textbox", { name: "Message" }).fill("");
  });

  it("queues, takes back and steers while a turn runs, and stops it", async () => {
    await send("wait one");
    await waitsFor("wait one");
    const policy = page.getByRole("combobox", { name: "While a turn runs" });
    await policy.waitFor();
    await send("later");
    await page.getByText("It waits for the work before it.").waitFor();
    await page.getByRole("button", { name: "Take back" }).press("Enter");
    await page.getByRole("list", { name: "Waiting work" }).waitFor({ state: "detached" });
    await policy.selectOption("steer");
    await send("also this");
    await page.getByText("Added to the turn before its next model request.").waitFor();
    await page.getByRole("button", { name: "Stop the turn" }).press("Enter");
    await page.getByText("The turn was stopped.").waitFor();
    await row(/turn ?wait one.*aborted/).waitFor();
    // What was to join the turn is recorded in it.
    await page.getByRole("button", { name: "Stop the turn" }).waitFor({ state: "detached" });
    gates.get("wait one")?.();
  });

  it("shows that a turn was stopped, also when the answer to the button comes after that", async () => {
    await send("wait stop");
    await waitsFor("wait stop");
    const answers: string[] = [];
    await page.route("**/stop?**", async (route) => {
      const response = await route.fetch();
      await row(/turn ?wait stop.*aborted/).waitFor();
      answers.push(String(response.status()));
      await route.fulfill({ response });
    });
    const answered = page.waitForResponse("**/stop?**");
    await page.getByRole("button", { name: "Stop the turn" }).press("Enter");
    await answered;
    await page.getByText("The turn was stopped.").waitFor();
    await page.unroute("**/stop?**");
    gates.get("wait stop")?.();
    assert.equal(answers.length, 1);
  });

  it("interrupts a turn with the next message", async () => {
    await send("wait two");
    await waitsFor("wait two");
    await page.getByRole("combobox", { name: "While a turn runs" }).selectOption("interrupt");
    await send("now this");
    await row(/turn ?now this.*completed/).waitFor();
    await row(/turn ?wait two.*aborted/).waitFor();
    gates.get("wait two")?.();
  });

  it("answers permission questions, and shows who answered", async () => {
    await send("shell please");
    const question = page.getByRole("group", { name: /May it use shell/ });
    await question.waitFor();
    const choices = await question.getByRole("button").allTextContents();
    assert.deepEqual(choices, ["Allow once", "Deny"]);
    await question.getByRole("button", { name: "Allow once" }).press("Enter");
    await page.getByText(/Allowed once in a browser of this machine: shell/).waitFor();
    await question.waitFor({ state: "detached" });
    await row(/turn ?shell please.*completed/).waitFor();

    // Another client's answer appears as well.
    await send("shell again");
    await question.waitFor();
    const { body } = await server.call("GET", "/api/v1/approvals");
    const [open] = body["approvals"] as { id: string }[];
    await server.call("POST", `/api/v1/approvals/${open?.id}`, { answer: "deny" });
    await page.getByText(/Denied by a command of this machine: shell/).waitFor();
    await question.waitFor({ state: "detached" });
    await row(/turn ?shell again.*completed/).waitFor();
  });

  it("compacts, and shows from how many tokens to how many, or why not", async () => {
    await page.getByRole("button", { name: "Compact now" }).press("Enter");
    await page.getByText(/^(Compacted from|Not compacted: )/).waitFor();
  });

  it("pins an entry, and opens a fork that ends with it", async () => {
    await page.getByRole("listbox", { name: "Line of time" }).press("End");
    await row(/turn ?Second prompt/).click();
    await page.getByRole("button", { name: "Pin", exact: true }).press("Enter");
    await page.getByText(/^Pinned .*Second prompt/).waitFor();
    await page.getByRole("button", { name: "Unpin" }).press("Enter");
    await page.getByText(/is not pinned any more/).waitFor();
    await page.getByRole("button", { name: "Fork from here" }).press("Enter");
    await page.getByRole("textbox", { name: "Key of the new session" }).fill("sea two");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText(/key/i).first().waitFor();
    await page.getByRole("textbox", { name: "Key of the new session" }).fill("sea-two");
    await page.keyboard.press("Enter");
    await row(/fork/).waitFor();
    assert.match(new URL(page.url()).hash, /#\/s\/main\/sea-two$/);
    await row(/turn ?Second prompt/).waitFor();
    assert.equal(await row(/turn ?now this/).count(), 0);
    await send("In the fork");
    await row(/turn ?In the fork.*completed/).waitFor();
    assert.deepEqual(problems, [
      "console: Failed to load resource: the server responded with a status of 400 (Bad Request)",
    ]);
  });

  it("has nothing of it for a login that reads, and the server refuses it", async () => {
    const other = await openPage(browser);
    await other.page.goto(await addressFor("read"));
    await row(/turn/).first().waitFor();
    await other.page.getByRole("listbox", { name: "Line of time" }).waitFor();
    await other.page.getByRole("listbox", { name: "Line of time" }).press("End");
    await other.page.getByRole("option", { name: /turn ?First prompt/ }).click();
    await other.page.getByLabel("Words", { exact: true }).first().waitFor();
    const status = await other.page.evaluate(async () =>
      fetch("/api/v1/status", {
        headers: { authorization: `Bearer ${sessionStorage.getItem("pagurus-login")}` },
      }).then(async (answer) => ((await answer.json()) as { scope: string }).scope),
    );
    assert.equal(status, "read");
    assert.equal(await other.page.locator(".doing, .composer, .approvals").count(), 0);
    assert.equal(await other.page.getByRole("button", { name: /Fork|Pin|Send|Stop|Compact/ }).count(), 0);
    assert.deepEqual(await refusals(other.page), [403, 403, 403, 403, 403]);
    await other.page.context().close();
  });

  it("has nothing of it in pagurus inspect alone, whose server refuses it", async () => {
    const own = makeSetting(modelConfig(PROTOCOL, model.url));
    await runTurn(own, "First prompt");
    const inspect = new InspectProcess(own, ["--session", "main"]);
    try {
      const other = await openPage(browser);
      await other.page.goto(await inspect.address);
      await other.page.getByRole("option", { name: /turn ?First prompt/ }).click();
      await other.page.getByLabel("Words", { exact: true }).first().waitFor();
      assert.equal(await other.page.locator(".doing, .composer, .approvals").count(), 0);
      assert.equal(await other.page.getByRole("button", { name: /Fork|Pin|Send|Stop|Compact/ }).count(), 0);
      assert.deepEqual(await refusals(other.page), [403, 403, 403, 403, 403]);
    } finally {
      await inspect.stop();
      own.remove();
    }
  });

  it("takes no message from a page of another origin, also with the page's login", async () => {
    const login = await page.evaluate<string>('sessionStorage.getItem("pagurus-login")');
    const post = async (headers: Record<string, string>): Promise<number> => {
      const body = '{"prompt":"from elsewhere"}';
      return (await fetch(`${server.url}/api/v1/sessions/sea/turns`, { method: "POST", headers, body }))
        .status;
    };
    assert.equal(await post({ authorization: `Bearer ${login}`, origin: "http://127.0.0.1:1" }), 403);
    assert.equal(await post({ cookie: `pagurus_session=${login}` }), 401);
    assert.deepEqual(await page.context().cookies(), []);
  });
});

/** Statuses of what a login that only reads may not do. */
function refusals(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const posts = [
      ["turns", '{"prompt":"x"}'],
      ["stop", ""],
      ["compact", "{}"],
      ["fork", '{"key":"other"}'],
      ["commands", '{"name":"pin"}'],
    ] as const;
    return Promise.all(
      posts.map(async ([what, body]) => {
        const authorization = `Bearer ${sessionStorage.getItem("pagurus-login")}`;
        const headers = { authorization, "content-type": "application/json" };
        return (await fetch(`/api/v1/sessions/main/${what}`, { method: "POST", headers, body })).status;
      }),
    );
  });
}
