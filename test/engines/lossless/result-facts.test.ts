/** Measures, with a seed, how many facts from tool results are in the context after the results have left it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { excerpt } from "../../../packages/core/src/compaction/summary/text-excerpt.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { compactByRuntime } from "../../../packages/core/src/compaction/runtime-compaction.ts";
import { trimText } from "../../../packages/core/src/compaction/trim.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { assistant, call, numbered, result, user } from "../../compaction/histories.ts";
import { Drive, texts } from "./drive.ts";
import { FULL } from "../../runner/short-form.ts";

/** Pseudo-random numbers below a bound, the same for the same seed. */
function below(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

const WORDS =
  "amber basin cedar delta ember fjord grove harbor island jetty kernel ledge meadow north opal pier quarry ridge".split(
    " ",
  );

/** Lines of logs and sources around a fact. */
function noise(at: number, pick: (bound: number) => number): string {
  const word = (): string => WORDS[pick(WORDS.length)] ?? "";
  const kinds = [
    `12:${10 + (at % 50)}:${10 + pick(50)} INFO ${word()} ${word()} handled request ${at} in ${pick(90)} ms`,
    `  const ${word()} = ${word()}(${word()}, ${word()});`,
    `the ${word()} of the ${word()} went by the ${word()} as it had before`,
    `${Array.from({ length: 5 + pick(12) }, word).join(" ")}.`,
    `    if (${word()}.${word()} !== ${word()}) return ${word()}(${pick(9)});`,
    `| ${word()} | ${pick(900)} | ${word()} ${word()} | ${pick(9)}.${pick(99)} |`,
    `-rw-r--r-- 1 user user ${pick(9_000)} Nov 3 12:00 ${word()}.txt`,
  ];
  return kinds[pick(kinds.length)] ?? "";
}

const KINDS = ["owner of", "retry limit of", "release date of", "access code for", "port of"];

interface Job {
  turns: { input: AgentMessage; round: AgentMessage[]; answer: AgentMessage }[];
  facts: string[];
}

/** Turns of one call each; the result of each has a few facts among its lines, anywhere. */
function job(seed: number, turns: number): Job {
  const pick = below(seed);
  const facts: string[] = [];
  const made = Array.from({ length: turns }, (_, turn) => {
    const lines = Array.from({ length: 70 + pick(60) }, (_line, at) => noise(at, pick));
    for (let count = 0; count < 3; count += 1) {
      const value = (pick(2 ** 30) + 2 ** 30).toString(36);
      const fact = `${KINDS[pick(KINDS.length)] ?? ""} ${WORDS[pick(WORDS.length)] ?? ""}-${turn}${count} is ${value}`;
      facts.push(fact);
      lines[pick(lines.length)] = `The ${fact}.`;
    }
    return {
      input: user(`Look at report ${turn}.`),
      round: [
        assistant("", [call(`c${seed}x${turn}`, "shell", { command: `cat report_${turn}.log` })]),
        result(`c${seed}x${turn}`, lines.join("\n")),
      ],
      answer: assistant(`Report ${turn} is read.`),
    };
  });
  return { turns: made, facts };
}

const FACT = new RegExp(`(?:${KINDS.join("|")}) [a-z]+-\\d+ is [0-9a-z]+`, "g");

/** A model that copies each fact that it sees, and nothing else. */
const copying: LlmComplete = async ({ messages, maxTokens = 4_000 }) => {
  const found = [...new Set(messages.flatMap(({ content }) => content.match(FACT) ?? []))];
  const most = Math.floor((maxTokens * 0.9) / 22);
  const list = found.slice(-most).map((fact) => `- The ${fact}.`);
  const text = [
    "## Goal\nThe reports are read.",
    `## State\n${list.join("\n") || "Nothing."}`,
    "## Decisions and constraints\nNone.",
    "## Open asks\nNone.",
  ].join("\n");
  return { text, provider: "p", model: "m", agentId: "main" };
};

function share(facts: readonly string[], text: string): number {
  return facts.filter((fact) => text.includes(fact)).length / facts.length;
}

async function losslessShare({ turns, facts }: Job): Promise<number> {
  const drive = new Drive({ budget: 24_000, llm: copying });
  try {
    for (const { input, round, answer } of turns) {
      await drive.turn(input, [round], answer);
      await drive.maintain();
    }
    const turnId = drive.begin(user("And now?"));
    const { messages } = await drive.call(turnId);
    assert.ok(drive.compactions > 0);
    return share(facts, texts(messages));
  } finally {
    await drive.end();
  }
}

/** Share of facts with `legacy`, which keeps the newest messages and summarizes the rest each time the budget is exceeded. */
async function legacyShare({ turns, facts }: Job): Promise<number> {
  const tokenBudget = 24_000;
  let context: AgentMessage[] = [];
  for (const { input, round, answer } of turns) {
    context = numbered([...context, input, ...round, answer]);
    const size = context.reduce((sum, message) => sum + JSON.stringify(message.content).length / 3.2, 0);
    if (size < tokenBudget) continue;
    const { result: made } = await compactByRuntime({
      messages: context,
      liveStart: context.length,
      keepRecentTokens: 7_000,
      tokenBudget,
      windowTokens: tokenBudget + 4_000,
      llm: copying,
    });
    if (made?.summary === undefined) continue;
    const kept = context.findIndex(({ entryId }) => entryId === made.firstKeptEntryId);
    const head = user(`<conversation_summary>\n${made.summary}\n</conversation_summary>`);
    context = [head, ...context.slice(kept)];
  }
  return share(facts, texts(context));
}

const SEEDS = FULL ? [1, 2, 3, 4, 5, 6, 7, 8] : [1];
const TURNS = 40;

for (const seed of SEEDS) {
  test(`facts inside results stay in the context, seed ${seed} (finding B10)`, async () => {
    const made = job(seed, TURNS);
    // The beginning and the end of each result have less than half of them.
    const ends = made.turns.flatMap(({ round }) => round.slice(1).map(textOf));
    assert.ok(share(made.facts, ends.map((text) => trimText(text, 2_000)).join("\n")) < 0.55);
    const kept = await losslessShare(made);
    // The newest part may still be an extract.
    assert.ok(kept >= 0.8, `${kept.toFixed(2)} of the facts are in the context`);
  });

  test(`the same facts stay in the summary of legacy, seed ${seed} (finding B10)`, async () => {
    const kept = await legacyShare(job(seed, TURNS));
    assert.ok(kept >= 0.9, `${kept.toFixed(2)} of the facts are in the context`);
  });
}

test("an excerpt has whole lines of the text in order within its limit (finding B10)", () => {
  for (const seed of [7, 8, 9]) {
    const { turns, facts } = job(seed, 10);
    for (const { round } of turns) {
      const text = textOf(round[1] ?? user(""));
      const short = excerpt(text, 2_000);
      assert.ok(short.length <= 2_000);
      assert.equal(excerpt(short, 2_000), short);
      const lines = text.split("\n");
      let at = -1;
      for (const line of short.split("\n")) {
        if (/^\[\.\.\. \d+ lines? \.\.\.\]$/.test(line)) continue;
        at = lines.indexOf(line, at + 1);
        assert.ok(at >= 0, line);
      }
      assert.equal(short.split("\n")[0], lines[0]);
      assert.equal(short.split("\n").at(-1), lines.at(-1));
      assert.ok(facts.filter((fact) => text.includes(fact)).every((fact) => short.includes(fact)));
    }
  }
});

test("an excerpt of one endless line fills its limit, and never has half a character (finding B10)", () => {
  const short = excerpt("\u{1F980}".repeat(5_000), 2_000);
  assert.ok(short.length > 400 && short.length <= 2_000);
  assert.ok(short.isWellFormed());
  const fields = Array.from(
    { length: 900 },
    (_, at) => `"field_${at}":"${at === 450 ? "TypeError: E4711" : "x"}"`,
  );
  const json = excerpt(`{${fields.join(",")}}`, 2_000);
  assert.ok(json.length <= 2_000);
  assert.match(json, /^\{"field_0"[^]*TypeError: E4711[^]*"field_899":"x"\}$/);
});
