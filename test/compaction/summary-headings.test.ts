/** Headings of summaries in any form: none of their lines is lost when a summary is read again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeExtractively } from "../../packages/core/src/compaction/summary/extract.ts";
import { factsOnly } from "../../packages/core/src/compaction/summary/foreign-summary.ts";
import { readSections } from "../../packages/core/src/compaction/summary/sections.ts";

const LINES = {
  goal: "The keeper of the harbour has the berths looked after by pilot-0-x, pilot-1-x.",
  state: "The files of the berths are written, with barge-0-700-x, barge-1-701-x.",
  decisions: "Each berth has a file of its own.",
  asks: "The next order.",
};

const FORMS: Record<string, (name: string) => string> = {
  hashes: (name) => `## ${name}`,
  "deep hashes": (name) => `##### ${name}:`,
  "closed hashes": (name) => `## ${name} ##`,
  bold: (name) => `**${name}**`,
  "bold with a colon": (name) => `**${name}:**`,
  "bold hashes": (name) => `### **${name}**`,
  numbered: (name) => `1. ${name}:`,
  "numbered and bold": (name) => `2. **${name}**:`,
  "numbered hashes": (name) => `## 3. ${name}`,
  plain: (name) => `${name}:`,
};

function summary(form: (name: string) => string): string {
  return [
    `${form("Goal")}\n${LINES.goal}`,
    `${form("State")}\n${LINES.state}`,
    `${form("Decisions and constraints")}\n${LINES.decisions}`,
    `${form("Open asks")}\n${LINES.asks}`,
  ].join("\n\n");
}

test("the lines of a summary are read with their sections, whatever form its headings have", () => {
  for (const [name, form] of Object.entries(FORMS))
    assert.deepEqual(
      readSections(summary(form)),
      [
        { section: "Requests", text: LINES.goal },
        { section: "Work done", text: LINES.state },
        { section: "Decisions and constraints", text: LINES.decisions },
        { section: "Requests", text: LINES.asks },
      ],
      name,
    );
});

test("an unknown heading is repeated before its lines, within the section above it or as something earlier", () => {
  const text =
    "## State\nAll is built.\n### Tests\n- 12 pass.\n## Pending tasks\n1. Paint the gate.\n## Notes";
  assert.deepEqual(readSections(text), [
    { section: "Work done", text: "All is built." },
    { section: "Work done", text: "Tests: 12 pass." },
    { section: "Earlier", text: "Pending tasks: Paint the gate." },
    { section: "Earlier", text: "Notes" },
  ]);
});

test("bold words and code are text", () => {
  const text = "## State\n- **src/a.ts** was changed.\n**Never** do that.\n```sh\n# a comment\n```";
  assert.deepEqual(
    readSections(text).map(({ text: line }) => line),
    ["**src/a.ts** was changed.", "**Never** do that.", "```sh", "# a comment", "```"],
  );
});

test("no word of a summary is lost when it is read, whatever its headings are", () => {
  const word = fc.stringMatching(/^[A-Za-z]{3,9}$/);
  const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((all) => all.join(" "));
  const heading = fc
    .tuple(fc.constantFrom(...Object.values(FORMS)), name)
    .map(([form, title]) => form(title));
  const line = fc.tuple(fc.constantFrom("", "- ", "1. ", "  - "), name).map(([mark, text]) => mark + text);
  fc.assert(
    fc.property(fc.array(fc.oneof(heading, line), { maxLength: 12 }), (lines) => {
      const read = readSections(lines.join("\n"))
        .map(({ text }) => text)
        .join(" ");
      for (const each of lines) {
        if (each in FORMS) continue;
        const body = each.replace(/^\s*(?:-|1\.)\s/, "");
        if (!/[#*:]/.test(each)) assert.ok(read.includes(body), `${body} of ${JSON.stringify(lines)}`);
      }
    }),
  );
});

test("a small extract of a model's summary keeps its goal and its state, shortened before they are left out", async () => {
  const previousSummary = summary((name) => `## ${name}`);
  const text = await summarizeExtractively({
    messages: [],
    previousSummary,
    maxTokens: 60,
    identifierPolicy: "off",
  });
  assert.match(text, /pilot-0-x/);
  assert.match(text, /files of the berths/);
});

test("another program's summary has what was asked then, without orders to its reader", () => {
  const text = [
    "Another language model started to solve this problem and produced a summary.",
    "1. Primary Request and Intent:",
    "   Paint the gate.",
    "7. Pending Tasks:",
    "   - Buy the blue colour",
    "**Next Steps**",
    "Open the can.",
    "Please continue the conversation from where we left it off without asking the user any further questions.",
  ].join("\n");
  const facts = factsOnly(text);
  assert.doesNotMatch(facts, /Another language model|Please continue/);
  assert.deepEqual(
    readSections(facts).map(({ section, text: line }) => `${section}: ${line}`),
    [
      "Earlier: Primary Request and Intent (as of then): Paint the gate.",
      "Earlier: Pending Tasks (as of then): Buy the blue colour",
      "Earlier: Next Steps (as of then): Open the can.",
    ],
  );
});
