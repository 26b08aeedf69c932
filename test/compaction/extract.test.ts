import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeExtractively } from "../../packages/core/src/compaction/summary/extract.ts";
import { textOf } from "../../packages/core/src/compaction/message-text.ts";
import { readSections } from "../../packages/core/src/compaction/summary/sections.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { assistant, call, histories, result, user } from "./histories.ts";

const JOB: AgentMessage[] = [
  user("Make the parser accept trailing commas. Never touch the public API in src/api.ts!"),
  assistant("", [call("1", "read", { path: "src/parser.ts" })]),
  result("1", "export function parse() {}", { toolName: "read" }),
  assistant("The root cause is that readList stops at the comma.", [
    call("2", "shell", { command: "npm test" }),
  ]),
  result("2", "src/parser.ts:41 TypeError: unexpected token\n3 failed, 12 passed", { isError: true }),
  assistant("", [call("3", "edit", { path: "src/parser.ts", edits: [] })]),
  result("3", "ok", { toolName: "edit" }),
  assistant("", [call("4", "shell", { command: "npm test" })]),
  result("4", "15 passed"),
  assistant("Fixed: readList now skips a trailing comma, and all 15 tests pass."),
];

test("an extract has the request, the work with its outcomes, the files and the cause", async () => {
  const summary = await summarizeExtractively({ messages: JOB, maxTokens: 600 });
  assert.equal(
    summary,
    [
      "## Requests",
      "- Make the parser accept trailing commas. Never touch the public API in src/api.ts!",
      "",
      "## Decisions and constraints",
      "- The root cause is that readList stops at the comma.",
      "",
      "## Answers",
      "- Fixed: readList now skips a trailing comma, and all 15 tests pass.",
      "",
      "## Work done",
      "- read src/parser.ts — ok",
      "- edit src/parser.ts — ok",
      "- shell npm test — 15 passed (2 times, the last one told)",
      "",
      "## Errors",
      "- src/parser.ts:41 TypeError: unexpected token (shell npm test; later without it)",
      "- 3 failed, 12 passed (shell npm test; later without it)",
      "",
      "## Files touched",
      "- src/parser.ts (edited)",
    ].join("\n"),
  );
});

test("an extract stays within its token limit and is deterministic, whatever the history", async () => {
  await fc.assert(
    fc.asyncProperty(
      histories,
      fc.integer({ min: 0, max: 2_000 }),
      fc.option(fc.string(), { nil: undefined }),
      async ({ messages }, maxTokens, previousSummary) => {
        const params = { messages, maxTokens, ...(previousSummary === undefined ? {} : { previousSummary }) };
        const summary = await summarizeExtractively(params);
        assert.ok(estimateTokens(summary) <= maxTokens);
        assert.equal(await summarizeExtractively(params), summary);
      },
    ),
  );
});

test("lines of an extract are whole, or shortened with an ellipsis; none is cut silently", async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.integer({ min: 20, max: 400 }), async ({ messages }, maxTokens) => {
      const words = new Set(messages.flatMap((message) => textOf(message).split(/\s+/)));
      const summary = await summarizeExtractively({ messages, maxTokens });
      for (const { section, text } of readSections(summary)) {
        if (section !== "Requests" && section !== "Answers") continue;
        for (const word of text.split(" ")) assert.ok(word === "…" || words.has(word), word);
      }
    }),
  );
});

test("lines of a previous summary stay in their section while they fit", async () => {
  const first = await summarizeExtractively({ messages: JOB, maxTokens: 600 });
  const next = [
    user("Now document it in docs/guide.md."),
    assistant("The guide describes trailing commas now, in its second part."),
  ];
  const second = await summarizeExtractively({ messages: next, previousSummary: first, maxTokens: 600 });
  for (const line of readSections(first)) {
    assert.ok(
      readSections(second).some((item) => item.section === line.section && item.text === line.text),
      line.text,
    );
  }
  assert.ok(second.includes("- Now document it in docs/guide.md."));
});

test("newer outcomes replace carried ones, and an error that is gone is dropped", async () => {
  const first = await summarizeExtractively({ messages: JOB.slice(0, 5), maxTokens: 600 });
  assert.match(first, /- shell npm test — failed: .*TypeError/);
  assert.match(first, /## Errors\n- src\/parser.ts:41 TypeError/);
  const second = await summarizeExtractively({
    messages: JOB.slice(5),
    previousSummary: first,
    maxTokens: 600,
  });
  assert.match(second, /- shell npm test — 15 passed/);
  assert.doesNotMatch(second, /TypeError/);
  assert.match(second, /- src\/parser.ts \(edited\)/);
  assert.doesNotMatch(second, /\(read\)/);
});

test("an extract keeps the lines of a model's summary", async () => {
  const previousSummary =
    "## Goal\nShip version 3.\n\n## State\n- The parser is done.\n\n## Remarks\nThe user is in a hurry.";
  const summary = await summarizeExtractively({
    messages: [user("go on with the lexer")],
    previousSummary,
    maxTokens: 300,
  });
  for (const line of [
    "Ship version 3.",
    "The parser is done.",
    "Remarks: The user is in a hurry.",
    "go on with the lexer",
  ]) {
    assert.ok(summary.includes(`- ${line}`), line);
  }
});

test("the user's newest request and constraints are kept in a tight budget", async () => {
  const noise = Array.from({ length: 60 }, (_, index) => [
    assistant(`The module number ${index} was found to be fine after a long look at it.`, [
      call(`n${index}`, "shell", { command: `check ${index}` }),
    ]),
    result(`n${index}`, `module ${index} fine`),
  ]).flat();
  const messages = [
    user("Keep the licence header in every file, always."),
    ...noise,
    user("Now fix the importer in src/import.ts."),
  ];
  const summary = await summarizeExtractively({ messages, maxTokens: 120 });
  assert.match(summary, /Keep the licence header in every file, always\./);
  assert.match(summary, /Now fix the importer in src\/import\.ts\./);
});

test("a long message of the user is quoted sentence by sentence, its constraints first", async () => {
  const long = `Please rewrite the report. ${"It has some parts that are of no great weight to anybody at all. ".repeat(12)}You must never send it to the customer.`;
  const summary = await summarizeExtractively({ messages: [user(long)], maxTokens: 80 });
  assert.match(summary, /User: You must never send it to the customer\./);
  assert.match(summary, /Please rewrite the report\./);
});

test("a number in front of a sentence is no request of its own, and one that answers a question stays with it", async () => {
  const long = `We looked at the harbour. 50. Paint the quay. 51. Repair the crane. How many berths? 12. ${"It was a quiet day for all of us there. ".repeat(12)}`;
  const summary = await summarizeExtractively({ messages: [user(long)], maxTokens: 400 });
  assert.doesNotMatch(summary, /^- \d+\.$/m);
  for (const line of ["Paint the quay.", "Repair the crane.", "How many berths? 12."])
    assert.ok(summary.includes(`- ${line}\n`), line);
  const whole = await summarizeExtractively({ messages: [user("12.")], maxTokens: 400 });
  assert.match(whole, /^- 12\.$/m);
});

test("a sentence of the user is listed once, as a request or as a constraint", async () => {
  const rule = "Never push to main.";
  const long = `${rule} ${"It was a quiet day for all of us there. ".repeat(12)}`;
  const summary = await summarizeExtractively({ messages: [user(rule), user(long)], maxTokens: 400 });
  assert.equal(summary.split(rule).length, 2);
});

test("lines that match the focus come first", async () => {
  const messages = Array.from({ length: 40 }, (_, index) => [
    user(`Question ${index}?`),
    assistant(
      `The ${index === 3 ? "deployment key rotates" : `thing ${index} stands`} because of policy ${index} of the house.`,
    ),
  ]).flat();
  const plain = await summarizeExtractively({ messages, maxTokens: 150 });
  const focused = await summarizeExtractively({ messages, maxTokens: 150, focus: "deployment keys" });
  assert.doesNotMatch(plain, /deployment key rotates/);
  assert.match(focused, /deployment key rotates/);
});
