/** Ten tasks as a person tries them who uses the page for the first time: each in at most three actions. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { until } from "../../runner/until.ts";
import { openTasksHome, type TasksHome } from "./tasks-setting.ts";

const MOST_ACTIONS = 3;
const DESK = { width: 1_280, height: 800 };
const PHONE = { width: 360, height: 640, touch: true };

/** Counts what the person does: a click, a choice, a text that is typed and sent. */
class Person {
  readonly page: Page;
  #actions = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async does(action: () => Promise<unknown>): Promise<void> {
    this.#actions += 1;
    await action();
  }

  /** A button or a link by its name. */
  press(name: string | RegExp, role: "button" | "link" = "button"): Promise<void> {
    return this.does(() => this.page.getByRole(role, { name }).first().click());
  }

  tap(name: string | RegExp, role: "button" | "link" = "button"): Promise<void> {
    return this.does(() => this.page.getByRole(role, { name }).first().tap());
  }

  choose(label: string, value: string | { label: string }): Promise<void> {
    return this.does(() => this.page.getByRole("combobox", { name: label }).selectOption(value));
  }

  send(text: string): Promise<void> {
    return this.does(async () => {
      await this.page.getByRole("textbox", { name: "Message" }).fill(text);
      await this.page.keyboard.press("Enter");
    });
  }

  async isDone(): Promise<void> {
    assert.ok(this.#actions <= MOST_ACTIONS, `${this.#actions} actions`);
    await this.page.context().close();
  }
}

describe("a person who uses the page for the first time", () => {
  let home: TasksHome;
  before(async () => {
    home = await openTasksHome();
  });
  after(() => home.close());

  async function person(at: typeof DESK & { touch?: boolean; hash?: string } = DESK): Promise<Person> {
    const page = await home.open(at);
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    return new Person(page);
  }

  it("finds yesterday's answer about a ship", async () => {
    const ann = await person();
    await ann.does(() => ann.page.getByRole("searchbox", { name: "Search conversations" }).fill("old crane"));
    await ann.does(() =>
      ann.page.getByRole("region", { name: "Messages" }).getByRole("link").first().click(),
    );
    await ann.page.getByRole("log").getByText("at berth 7, by the old crane").first().waitFor();
    assert.match(ann.page.url(), /#\/talk\/main\/harbour\/e\//);
    await ann.isDone();
  });

  it("sees why a turn cost so much", async () => {
    const ann = await person({ ...DESK, hash: "#/talk/main/harbour" });
    await ann.does(() => ann.page.getByRole("log").getByRole("link", { name: "Inspect" }).last().click());
    const inside = ann.page.getByRole("complementary", { name: "Inside the turn" });
    await inside.getByText("Cost", { exact: true }).waitFor();
    assert.match(await inside.innerText(), /\$0\.\d+/);
    await inside.getByRole("listbox", { name: "Parts of the request" }).getByRole("option").first().waitFor();
    await ann.isDone();
  });

  it("undoes an edit of a message, and gets the words of the last one back", async () => {
    const { id } = await home.client.postTurn("edited", { prompt: "first form" });
    await home.server.ended(id);
    const before = await person({ ...DESK, hash: "#/talk/main/edited" });
    const { page } = before;
    await page.locator(".from-user").hover();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Message" }).fill("second form");
    await page.keyboard.press("Enter");
    await page.getByText("Answer to second form").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await before.press(/^Version before/);
    await page.getByText("Answer to first form").waitFor();
    await before.isDone();

    const ann = await person({ ...DESK, hash: "#/talk/main/plain" });
    await ann.send("/undo");
    await ann.page.locator(".from-user").waitFor({ state: "detached" });
    const field = ann.page.getByRole("textbox", { name: "Message" });
    await until(async () => (await field.inputValue()) === "A plain question");
    await ann.isDone();
  });

  it("continues a conversation in Codex", async () => {
    const ann = await person({ ...DESK, hash: "#/talk/main/harbour" });
    await ann.choose("Agent program", "codex");
    await ann.send("Which berth was it?");
    await until(async () => {
      const { requests } = await home.client.inspect.requests("harbour", {});
      return requests.some(({ runtime }) => runtime === "codex");
    });
    await ann.page.getByRole("button", { name: "Stop the turn" }).waitFor({ state: "detached" });
    await ann.page.getByRole("log").locator(".answer").last().getByText("by the old crane").waitFor();
    // Codex got the messages before it.
    assert.match(home.model.requests.at(-1)?.text ?? "", /Heron/);
    await ann.isDone();
  });

  it("stops a turn from a phone", async () => {
    const { id } = await home.client.postTurn("long", { prompt: "Begin what never ends" });
    const ann = await person(PHONE);
    await ann.tap("Open the list of conversations");
    await ann.tap(/Begin what never ends/, "link");
    await ann.tap("Stop the turn");
    assert.equal((await home.server.ended(id))["outcome"], "aborted");
    await ann.page.getByText("The turn was stopped.").waitFor();
    await ann.isDone();
  });

  it("approves a command for good", async () => {
    const asked = await home.client.postTurn("maker", { prompt: "make the file" });
    await until(async () => (await home.client.approvals()).length > 0);
    const ann = await person();
    await ann.press(/make the file/, "link");
    await ann.press(/^Always allow/);
    assert.equal((await home.server.ended(asked.id))["outcome"], "completed");
    const again = await home.client.postTurn("maker", { prompt: "make the file again" });
    assert.equal((await home.server.ended(again.id))["outcome"], "completed");
    assert.deepEqual(await home.client.approvals(), []);
    await ann.isDone();
  });

  it("changes the model, also on a phone", async () => {
    for (const at of [DESK, PHONE]) {
      const ann = await person(at);
      if (at === PHONE) await ann.tap("Options");
      await ann.choose("Model", "test/small");
      await ann.send("Who answers?");
      await ann.page.getByText("Answer to Who answers?").waitFor();
      await ann.page.locator(".end").getByText("test/small").waitFor();
      assert.equal(home.model.requests.at(-1)?.body["model"], "small");
      await ann.isDone();
    }
  });

  it("finds what was left out of a request", async () => {
    const ann = await person({ ...DESK, hash: "#/talk/main/summed" });
    // The newest turn is the last one once the conversation is there.
    await ann.page.getByRole("button", { name: "Try again" }).last().waitFor();
    await ann.does(() => ann.page.getByRole("log").getByRole("link", { name: "Inspect" }).last().click());
    await ann.press("What was left out");
    const inside = ann.page.getByRole("complementary", { name: "Inside the turn" });
    const left = inside.getByRole("listbox", { name: "Left out" });
    await left.getByRole("option").first().waitFor();
    assert.match(await left.innerText(), /Old cargo list/);
    await ann.isDone();
  });

  it("exports a conversation", async () => {
    const ann = await person();
    const saved = ann.page.waitForEvent("download");
    await ann.does(() => ann.page.getByLabel("Actions for The berths").click());
    await ann.press("Export");
    const download = await saved;
    assert.equal(download.suggestedFilename(), "harbour.html");
    assert.match(readFileSync(await download.path(), "utf8"), /by the old crane/);
    await ann.isDone();
  });

  it("pairs a person of a channel", async () => {
    const ann = await person();
    await ann.press("Board", "link");
    await ann.press(/^Let in: Ann/);
    await ann.page.getByRole("heading", { name: "May speak" }).waitFor();
    const [pilots] = await home.client.board.channels();
    assert.equal(pilots?.people.find(({ name }) => name === "Ann")?.state, "approved");
    await ann.isDone();
  });
});
