import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { ToolOutcome } from "../../packages/contract/src/harness/tool.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { checkArguments } from "../../packages/host/src/tool/arguments.ts";
import { createToolSet, type ExtraTool } from "../../packages/host/src/tool/toolset.ts";
import { fixture, textOf } from "./fixture.ts";

const CONTEXT = { sessionKey: "main", sessionId: "s1" };

function echoTool(name: string, more: Partial<ExtraTool> = {}): ExtraTool {
  return {
    name,
    description: "Says what it got.",
    parameters: { type: "object", properties: { text: { type: "string" } } },
    execute: async (params, context): Promise<ToolOutcome> => ({
      content: [
        { type: "text", text: JSON.stringify({ params, key: context.sessionKey, cwd: context.cwd }) },
      ],
      isError: false,
    }),
    ...more,
  };
}

test("the catalog is small, stable and fingerprinted by its content alone", (t) => {
  const { set, root } = fixture(t);
  const names = set.specs.map(({ name }) => name);
  assert.deepEqual(names, ["read", "write", "edit", "glob", "search", "shell", "web_fetch"]);
  assert.ok(countTokens(JSON.stringify(set.specs)) <= 1_200);
  assert.match(set.fingerprint, /^[\da-f]{64}$/);
  const make = (extra: ExtraTool[]) =>
    createToolSet({ cwd: root, permission: { mode: "deny" }, context: CONTEXT, extra });
  assert.equal(make([]).fingerprint, set.fingerprint);
  const [one, two] = [echoTool("one"), echoTool("two")];
  assert.equal(make([one, two]).fingerprint, make([two, one]).fingerprint);
  assert.deepEqual(
    make([two, one])
      .specs.slice(-2)
      .map(({ name }) => name),
    ["one", "two"],
  );
  assert.notEqual(make([one]).fingerprint, set.fingerprint);
  const sameKeys = echoTool("one", {
    parameters: { properties: { text: { type: "string" } }, type: "object" },
  });
  assert.equal(make([sameKeys]).fingerprint, make([one]).fingerprint);
});

test("descriptions and schemas of tools of others reach the model without direction marks, hidden letters and tags", (t) => {
  const { root } = fixture(t);
  const hidden = "a\u202eb\u200bc\u{e0041}d";
  const tool = echoTool("one", {
    description: hidden,
    parameters: { type: "object", properties: { text: { type: "string", description: hidden } } },
  });
  const set = createToolSet({ cwd: root, permission: { mode: "deny" }, context: CONTEXT, extra: [tool] });
  assert.doesNotMatch(JSON.stringify(set.specs), /[\u202e\u200b\u{e0041}]/u);
  assert.equal(set.specs.at(-1)?.description, "abcd");
});

test("a set is refused for a missing folder and for two tools of one name", (t) => {
  const { root } = fixture(t);
  const make = (cwd: string, extra: ExtraTool[] = []) =>
    createToolSet({ cwd, permission: { mode: "deny" }, context: CONTEXT, extra });
  const hasCode = (code: string) => (error: unknown) => error instanceof PagurusError && error.code === code;
  assert.throws(() => make(join(root, "missing")), hasCode("usage_invalid"));
  assert.throws(() => make(root, [echoTool("read")]), hasCode("plugin_duplicate_id"));
});

test("an unknown tool and wrong arguments are reported so that the model can correct them", async (t) => {
  const { call } = fixture(t);
  assert.match(textOf(await call("bash", {})), /There is no tool "bash"\. Tools: read, write/);
  const wrong = await call("read", { offset: "3", file: "x" });
  assert.equal(wrong.isError, true);
  assert.match(textOf(wrong), /"path" is missing/);
  assert.match(textOf(wrong), /"offset" must be integer, not string/);
  assert.match(textOf(wrong), /"file" is not known \(known: path, offset, limit\)/);
  assert.match(textOf(await call("read", { path: "x", offset: 0 })), /at least 1/);
});

test("a call with invalid JSON is answered with the received text, and nothing runs", async (t) => {
  const { call } = fixture(t, { beforeCall: () => assert.fail("no hook sees it") });
  const outcome = await call("write", { __invalid_json: `{"path": ${"x".repeat(300)}` });
  assert.equal(outcome.isError, true);
  assert.match(
    textOf(outcome),
    /^The arguments were not a valid JSON object: \{"path": x{191}…\nNothing was done\. Call write again/,
  );
});

test("the checker knows enum, items, nested objects, and treats null as absent", () => {
  const schema = {
    type: "object",
    properties: {
      mode: { enum: ["a", "b"] },
      list: { type: "array", items: { type: "number" } },
      inner: { type: "object", properties: { x: { type: "boolean" } }, required: ["x"] },
      maybe: { type: ["string", "null"] },
      text: { type: "string" },
    },
    required: ["mode"],
  };
  assert.deepEqual(checkArguments(schema, { mode: "a", text: null, maybe: null, other: 1 }), {
    params: { mode: "a", maybe: null, other: 1 },
  });
  assert.deepEqual(checkArguments(schema, { mode: "c", list: [1, "x"], inner: {} }), {
    problem: '"mode" must be one of ["a","b"]; "list[1]" must be number, not string; "inner.x" is missing',
  });
  assert.deepEqual(checkArguments(schema, { mode: null }), { problem: '"mode" is missing' });
  assert.deepEqual(checkArguments(schema, []), { problem: "the arguments must be an object, not array" });
});

test("a hook may block a call or rewrite its arguments, which are checked again", async (t) => {
  const seen: unknown[] = [];
  let verdict: { block?: boolean; blockReason?: string; params?: Record<string, unknown> } | undefined;
  const { call, write } = fixture(t, {
    beforeCall: async () => verdict,
    afterCall: async (toolCall, outcome) => void seen.push([toolCall.arguments, outcome.isError]),
  });
  write("a.txt", "A");
  write("b.txt", "B");
  verdict = { block: true, blockReason: "not on Sundays" };
  assert.match(textOf(await call("read", { path: "a.txt" })), /^Blocked: not on Sundays/);
  verdict = { params: { path: "b.txt" } };
  assert.equal(textOf(await call("read", { path: "a.txt" })), "1\tB");
  verdict = { params: { path: 7 } };
  assert.match(textOf(await call("read", { path: "a.txt" })), /Invalid arguments/);
  verdict = undefined;
  await call("read", { path: "missing" });
  assert.deepEqual(seen, [
    [{ path: "b.txt" }, false],
    [{ path: "missing" }, true],
  ]);
});

test("a call that could not be recorded as running does not run, and a call that only reads needs no record", async (t) => {
  const ran: string[] = [];
  const tool = (name: string, readOnly: boolean): ReturnType<typeof echoTool> =>
    echoTool(name, {
      readOnly,
      execute: async () => {
        ran.push(name);
        return { content: [{ type: "text", text: "done" }], isError: false };
      },
    });
  const { call } = fixture(t, {
    extra: [tool("change", false), tool("look", true)],
    onRun: () => {
      throw new Error("the store is away");
    },
  });
  assert.match(textOf(await call("change", {})), /the store is away/);
  assert.equal((await call("look", {})).isError, false);
  assert.deepEqual(ran, ["look"]);
});

test("no error of a hook, a tool or a watcher leaves the set", async (t) => {
  const extra = [echoTool("broken", { readOnly: true, execute: () => Promise.reject(new Error("kaputt")) })];
  const blocked = fixture(t, { beforeCall: () => Promise.reject(new Error("hook down")) });
  const refused = await blocked.call("glob", { pattern: "*" });
  assert.equal(refused.isError, true);
  assert.match(textOf(refused), /hook down/);
  const watched = fixture(t, { extra, afterCall: () => Promise.reject(new Error("watcher down")) });
  assert.equal((await watched.call("glob", { pattern: "*" })).isError, false);
  assert.equal(textOf(await watched.call("broken", {})), "broken failed: kaputt");
});

test("a plugin's tool gets the session and needs permission unless it only reads", async (t) => {
  const extra = [echoTool("acts"), echoTool("recalls", { readOnly: true })];
  const { call, root } = fixture(t, { extra, permission: { mode: "deny" } });
  assert.match(textOf(await call("acts", { text: "x" })), /Permission denied for acts/);
  assert.equal(
    textOf(await call("recalls", { text: "x" })),
    JSON.stringify({ params: { text: "x" }, key: "main", cwd: root }),
  );
});

test("a call that is aborted before it starts does nothing", async (t) => {
  const { call, root } = fixture(t);
  const outcome = await call("write", { path: "a.txt", content: "x" }, AbortSignal.abort());
  assert.match(textOf(outcome), /Aborted before/);
  assert.match(textOf(await call("read", { path: join(root, "a.txt") })), /does not exist/);
});

test("a decorated name calls the one tool that it means, under that tool's own name", async (t) => {
  const { root } = fixture(t);
  const seen: string[] = [];
  const set = createToolSet({
    cwd: root,
    permission: { mode: "deny" },
    context: CONTEXT,
    extra: [echoTool("probe", { readOnly: true })],
    native: ["shell"],
    beforeCall: async ({ name }) => void seen.push(name),
  });
  const call = (name: string): Promise<ToolOutcome> =>
    set.call({ type: "toolCall", id: "1", name, arguments: {} }, new AbortController().signal);
  for (const name of ["functions.probe", " probe ", "Probe"]) assert.equal((await call(name)).isError, false);
  assert.deepEqual(seen, ["probe", "probe", "probe"]);
  assert.match(textOf(await call("functions.shell")), /There is no tool "functions\.shell"/);
});
