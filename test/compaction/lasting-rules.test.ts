/** Lasting rules of a person: which sentences set one, and which take one back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterWords,
  NO_RULES,
  type LastingRules,
} from "../../packages/core/src/compaction/summary/lasting-rules.ts";

function after(...messages: readonly string[]): LastingRules {
  let lasting = NO_RULES;
  for (const words of messages) lasting = afterWords(lasting, words);
  return lasting;
}

function rulesAfter(...messages: readonly string[]): string[] {
  return after(...messages).rules.map(({ text }) => text);
}

test("what a person asks of all later answers is a lasting rule", () => {
  for (const sentence of [
    "Always mention the budget when I ask about travel.",
    "From now on, answer in German.",
    "When I ask about Lisbon, list the trains first.",
    "Never use tabs for indentation.",
    "Please stop adding emojis.",
    "Could you always answer in English?",
    "Call me Ada from now on.",
    "Don't ever suggest Oslo again.",
    "I want you to name the source every time I ask about prices.",
    "Antworte mir ab jetzt immer auf Deutsch.",
    "Réponds toujours en français.",
    "Responde siempre en español.",
    "从现在开始请用中文回答。",
    "今後は必ず日本語で答えてください。",
    "앞으로는 항상 한국어로 답해 주세요.",
    "Всегда отвечай на русском.",
  ])
    assert.deepEqual(rulesAfter(`It rained.\n${sentence}`), [sentence]);
});

test("courtesies, reports, questions, single orders and headings are no lasting rules", () => {
  for (const sentence of [
    "Thanks, that was lovely!",
    "I always loved that song.",
    "Never mind.",
    "My sister always forgets her keys when she visits.",
    "Why do you never mention the price?",
    "Answer in German this time.",
    "Fix the parser and run the tests.",
    "## Always on\nIt is.",
    "Every time we go there it rains.",
    "Ich habe immer Hunger.",
    "Je ne mange jamais de viande.",
    "我们以后再说吧。",
    "Keep going!",
  ])
    assert.deepEqual(rulesAfter(sentence), [], sentence);
});

test("a rule ends when its author takes it back", () => {
  const others = ["Always answer in German.", "When I ask about Oslo, list the ferries first."];
  for (const [rule, back] of [
    ["Never use tabs for indentation.", "You can use tabs again."],
    ["Always mention the budget when I ask about travel.", "Forget the rule about travel."],
    ["Please always sign your answers with Ahoy.", "No need to sign your answers any more."],
    ["Always add a table to your reports.", "Please stop adding tables."],
    ["From now on begin each answer with the weather.", "I don't need the weather any more."],
    ["Never mention Porto.", "It's fine to mention Porto again."],
  ] as const)
    assert.deepEqual(rulesAfter(...others, rule, "It was a quiet day.", back), others, back);
  assert.deepEqual(rulesAfter(...others, "Forget all my rules."), []);
  assert.deepEqual(rulesAfter(...others, "Scratch that rule."), others.slice(0, 1));
});

test("a later rule of the same kind replaces one, others stay beside it", () => {
  assert.deepEqual(rulesAfter("Always answer in English.", "From now on answer in German."), [
    "From now on answer in German.",
  ]);
  assert.deepEqual(
    rulesAfter("Always use tabs for indentation.", "From now on use spaces instead of tabs."),
    ["From now on use spaces instead of tabs."],
  );
  const both = [
    "Always mention the budget when I ask about travel.",
    "Always mention the budget when I ask about cooking.",
    "When I ask about travel, list the trains first.",
  ];
  assert.deepEqual(rulesAfter(...both), both);
  const boats = ["Never move boat 1.", "Never move boat 1.2.", "Never move boat 2.1."];
  assert.deepEqual(rulesAfter(...boats), boats);
});

test("sentences about the same things take no rule back unless they say so", () => {
  const rule = "Always answer in French when I ask about Paris.";
  for (const words of [
    "I no longer live in Paris.",
    "What should I see in Paris now?",
    "You can see the tower from here again.",
    "Paris was lovely.",
    "Answer in English this time.",
  ])
    assert.deepEqual(rulesAfter(rule, words), [rule], words);
});

test("what ended a rule is kept with it", () => {
  const { revoked } = after("Never use tabs.", "It rained. You can use tabs again.");
  assert.deepEqual(revoked, [{ text: "Never use tabs.", end: "You can use tabs again." }]);
});

test("a repeated rule is listed once, and one that was taken back may come again", () => {
  const rule = "Never use tabs.";
  assert.deepEqual(rulesAfter(rule, rule), [rule]);
  const again = after(rule, "You can use tabs again.", rule);
  assert.deepEqual(
    again.rules.map(({ text }) => text),
    [rule],
  );
  assert.deepEqual(again.revoked, []);
});

test("in a group each person's rules are their own", () => {
  let lasting = afterWords(NO_RULES, "Never use tabs.", "ann@example.org");
  lasting = afterWords(lasting, "You can use tabs again.", "bob@example.org");
  assert.equal(lasting.rules.length, 1);
  lasting = afterWords(lasting, "You can use tabs again.", "ann@example.org");
  assert.equal(lasting.rules.length, 0);
});

test("a reminder, a question about a rule, an exception and an idiom end no rule", () => {
  const rule = "Always mention the budget when I ask about travel.";
  for (const words of [
    "Don't forget the rule about travel.",
    "Did you forget the rule about travel?",
    "Did you forget all my rules?",
    "You don't have to mention the budget this time.",
    "Never mind that.",
  ])
    assert.deepEqual(rulesAfter(rule, words), [rule], words);
});

test("a form of answers replaces no prohibition of something else", () => {
  const rules = ["Never drop tables in the production database.", "From now on answer in bullet points."];
  assert.deepEqual(rulesAfter(...rules), rules);
});

test("statements in other languages that something is no longer so end no rule", () => {
  const rule = "Responde siempre en francés cuando pregunte por París.";
  assert.deepEqual(rulesAfter(rule, "Ya no vivo en París."), [rule]);
});

test("reading many revocations against many rules takes little time", () => {
  const rules = Array.from(
    { length: 60 },
    (_, at) => `Always mention the budget${at} of ship${at} when I ask about place${at}.`,
  );
  const lasting = after(...rules);
  const before = process.cpuUsage();
  for (let at = 0; at < 200; at += 1)
    afterWords(lasting, `You no longer need to mention budget${at % 60} now.`);
  const { user } = process.cpuUsage(before);
  // A second at most on slow machines; comparing all words of all rules for each word took 25 s.
  assert.ok(user < 5_000_000, `${user / 1_000} ms`);
});
