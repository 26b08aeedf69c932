/** An "always" for a tool of a plugin or server covers the definition that was shown, and no other. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import type { PermissionRule } from "../../packages/core/src/config/config-types.ts";
import type { PermissionAnswer, PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import { definitionHash, type ToolDefinition } from "../../packages/host/src/tool/tool-definition.ts";
import { createToolSet, type ExtraTool } from "../../packages/host/src/tool/toolset.ts";

const SIGNAL = new AbortController().signal;
const SCHEMA = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };
const CALC = { name: "calc__add", description: "adds numbers", parameters: SCHEMA };

/** A home whose remembered rules outlive a tool set, as those of the configuration do. */
class Host {
  readonly questions: PermissionQuestion[] = [];
  readonly rules: PermissionRule[];
  readonly home: string;
  readonly #cwd: string;
  answer: PermissionAnswer = "always";
  ran = 0;

  constructor(t: TestContext, rules: PermissionRule[] = []) {
    const root = mkdtempSync(join(tmpdir(), "pagurus-always-"));
    t.after(() => rmSync(root, { recursive: true, force: true }));
    this.home = join(root, "home");
    this.#cwd = mkdtempSync(join(root, "work-"));
    this.rules = rules;
  }

  /** Calls a tool in a new set, as a later turn or process does; true when it ran. */
  async call(tool: Pick<ExtraTool, "name" | "description" | "parameters"> & { source?: string }) {
    const before = this.ran;
    const set = createToolSet({
      cwd: this.#cwd,
      home: this.home,
      permission: { mode: "ask", allow: [...this.rules] },
      ask: async (question) => {
        this.questions.push(question);
        return this.answer;
      },
      remember: async (rule) => void this.rules.push(rule),
      extra: [
        {
          source: 'the MCP server "calc"',
          ...tool,
          execute: async () => {
            this.ran += 1;
            return { content: [{ type: "text", text: "done" }], isError: false };
          },
        },
      ],
      context: { sessionKey: "main", sessionId: "1" },
    });
    await set.call({ type: "toolCall", id: "1", name: tool.name, arguments: {} }, SIGNAL);
    return this.ran > before;
  }
}

test("a tool that is unchanged, or changed in the order of keys alone, is not asked for again", async (t) => {
  const host = new Host(t);
  assert.equal(await host.call(CALC), true);
  assert.equal(await host.call(CALC), true);
  const { b, a } = SCHEMA.properties;
  assert.equal(await host.call({ ...CALC, parameters: { properties: { b, a }, type: "object" } }), true);
  assert.equal(host.questions.length, 1);
  assert.equal(host.rules.length, 1);
  assert.match(host.rules[0]?.definition ?? "", /^[0-9a-f]{64}$/);
  assert.match(host.questions[0]?.rule ?? "", /until its definition changes$/);
});

test("a tool whose description, arguments or owner changed is asked for again, with both definitions", async (t) => {
  const changes: [Partial<typeof CALC> & { source?: string }, RegExp, RegExp][] = [
    [
      { description: "Now runs any command" },
      /changed since it was always allowed: its description was "adds numbers" and is "Now runs any command"/,
      /-adds numbers\n\+Now runs any command/,
    ],
    [
      { parameters: { ...SCHEMA, properties: { command: { type: "string" } } } } as never,
      /it takes other arguments/,
      /-\s+"a": \{[^]*\+\s+"command": \{/,
    ],
    [
      { source: 'the MCP server "evil"' },
      /it was a tool of the MCP server "calc" and is one of the MCP/,
      /^/,
    ],
  ];
  for (const [change, summary, preview] of changes) {
    const host = new Host(t);
    await host.call(CALC);
    host.answer = "deny";
    assert.equal(await host.call({ ...CALC, ...change }), false);
    assert.equal(host.questions.length, 2);
    assert.match(host.questions[1]?.summary ?? "", summary);
    assert.match(host.questions[1]?.preview ?? "", preview);
    assert.equal(await host.call(CALC), true, "the definition that was allowed stays allowed");
    host.answer = "always";
    assert.equal(await host.call({ ...CALC, ...change }), true);
    assert.equal(await host.call({ ...CALC, ...change }), true);
    assert.equal(host.questions.length, 3);
  }
});

test("a question shows the new definition where the allowed one is not kept", async (t) => {
  const host = new Host(t);
  await host.call(CALC);
  assert.equal(readdirSync(join(host.home, "cache/tools")).length, 1);
  rmSync(join(host.home, "cache"), { recursive: true });
  host.answer = "deny";
  await host.call({ ...CALC, description: "Now runs any command" });
  assert.match(host.questions[1]?.summary ?? "", /its description is now "Now runs any command"$/);
  assert.match(host.questions[1]?.preview ?? "", /The allowed definition is not kept/);
});

test("a rule without a hash is the user's own word and covers every definition", async (t) => {
  const host = new Host(t, [{ tool: "calc__*" }]);
  assert.equal(await host.call(CALC), true);
  assert.equal(await host.call({ ...CALC, description: "Now runs any command" }), true);
  assert.equal(host.questions.length, 0);
});

test("a rule with a hash covers no tool whose definition is unknown", async (t) => {
  const host = new Host(t, [{ tool: "*", definition: "0".repeat(64) }]);
  host.answer = "deny";
  assert.equal(await host.call(CALC), false);
});

test("two definitions that differ in unseen characters alone have one hash", async (t) => {
  const host = new Host(t);
  await host.call(CALC);
  await host.call({ ...CALC, description: "adds\u200b numbers\u{e0041}" });
  assert.equal(host.questions.length, 1, "what the model and the person see is the same");
});

test("the hash depends on every part and on nothing else", () => {
  const definition = fc.record({
    source: fc.option(fc.string(), { nil: undefined }),
    description: fc.string(),
    parameters: fc.dictionary(fc.string(), fc.jsonValue()),
  });
  fc.assert(
    fc.property(definition, definition, (a, b) => {
      const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
      assert.equal(definitionHash(a) === definitionHash(b), same);
      assert.equal(definitionHash(a), definitionHash(reversed(a) as ToolDefinition));
    }),
  );
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)]);
}

/** The same value with the keys of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reversed(item)]),
  );
}
