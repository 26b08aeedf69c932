import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import type { PermissionAnswer } from "../../../packages/contract/src/host/run.ts";
import type { AskPerson } from "../../../packages/host/src/mcp/client/elicitation.ts";
import { COMPILE_CACHE } from "../../runner/compile-cache.ts";
import { hosted, textOf, type Hosted } from "./hosted.ts";

type Question = Parameters<AskPerson>[0];

const { signal } = new AbortController();

async function asking(t: TestContext, timeoutMs = 60_000): Promise<Hosted> {
  const args = [join(import.meta.dirname, "asking.child.ts")];
  const host = hosted(t, { s: { command: process.execPath, args, timeoutMs, env: COMPILE_CACHE } });
  assert.deepEqual((await host.offer()).problems, []);
  return host;
}

/** The result of a tool whose question gets this answer, and the question. */
async function answered(t: TestContext, tool: string, answer: PermissionAnswer): Promise<[string, Question]> {
  const host = await asking(t);
  let seen: Question | undefined;
  const ask: AskPerson = async (question) => {
    seen = question;
    return answer;
  };
  const text = textOf(await host.call(`s__${tool}`, {}, signal, ask));
  assert.ok(seen);
  return [text, seen];
}

suite("questions of MCP servers", { concurrency: 4 }, () => {
  test("values of the person are completed with the defaults, and read as the types of the form", async (t) => {
    const [text, question] = await answered(t, "form", { content: { name: "Ann", age: "41" } });
    assert.deepEqual(JSON.parse(text), {
      action: "accept",
      content: { name: "Ann", age: 41, colour: "red", ready: true },
    });
    assert.deepEqual(question.summary.split("\n"), [
      'The MCP server "s" asks: Who are you?',
      "name (Your name): text, required",
      "age: a whole number, 30 if left out",
      'colour: one of red, blue, "red" if left out',
      "ready: yes or no, true if left out",
    ]);
  });

  for (const [title, tool, answer, result] of [
    [
      "yes sends the defaults",
      "defaults",
      "once",
      { action: "accept", content: { age: 30, colour: "red", ready: true } },
    ],
    ["yes without a required value declines", "form", "once", { action: "decline" }],
    [
      "a value that is not allowed declines",
      "form",
      { content: { name: "A", colour: "green" } },
      { action: "decline" },
    ],
    ["no declines", "defaults", "deny", { action: "decline" }],
    ["no with words declines", "defaults", { deny: "not now" }, { action: "decline" }],
    ["an address is shown, and yes accepts it", "link", "once", { action: "accept" }],
  ] as const)
    test(title, async (t) => {
      const [text] = await answered(t, tool, answer);
      assert.deepEqual(JSON.parse(text.split("\n", 1)[0] ?? ""), result);
    });

  test("an address is shown whole, with its host", async (t) => {
    const [, { summary }] = await answered(t, "link", "deny");
    assert.equal(
      summary,
      'The MCP server "s" asks: Pay here.\n' +
        "Open this address of pay.example, if you trust it, then answer:\nhttps://pay.example/1",
    );
  });

  test("a question is declined and named where no person can answer", async (t) => {
    const host = await asking(t);
    const { content } = await host.call("s__form");
    assert.deepEqual(
      content.map((part) => part.type === "text" && part.text),
      [
        '{"action":"decline"}',
        '[The MCP server "s" asks: Who are you? It was declined: no person can be asked here.]',
      ],
    );
  });

  test("a question is declined while calls of several sessions run, since it may be of either", async (t) => {
    const host = await asking(t);
    const tool = host.servers.known().tools.find(({ name }) => name === "s__defaults");
    assert.ok(tool);
    // The first question stays open until the second session has called.
    const second = Promise.withResolvers<void>();
    const first = tool.execute(
      {},
      { sessionKey: "one", signal, ask: () => second.promise.then(() => "once") },
    );
    const other = tool.execute({}, { sessionKey: "two", signal, ask: async () => "once" });
    assert.match(textOf(await other), /"decline"[^]*calls of several sessions are running/);
    second.resolve();
    assert.match(textOf(await first), /"accept"|calls of several sessions/);
  });

  test("a yes that lacks a required value is declined with the reason", async (t) => {
    const [text] = await answered(t, "form", "once");
    assert.match(
      text,
      /asks: Who are you\? It was declined: the answer cannot be sent: name is required\.\]$/,
    );
  });

  test("a failing prompt declines", async (t) => {
    const host = await asking(t);
    const ask: AskPerson = () => Promise.reject(new Error("closed"));
    assert.match(textOf(await host.call("s__form", {}, signal, ask)), /the question was not answered/);
  });
});
