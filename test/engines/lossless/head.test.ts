import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summaryPieces } from "../../../packages/core/src/compaction/summary/summary-pieces.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { readSummary } from "../../../packages/contract/src/engine/summary.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { chaptersOf, measured, textOfChapters } from "../../../packages/lossless/src/head/chapters.ts";
import { NO_FACTS, type Epoch, type Facts } from "../../../packages/lossless/src/epoch.ts";
import { renderHead } from "../../../packages/lossless/src/head/head.ts";
import { makeHead } from "../../../packages/lossless/src/head/make-head.ts";
import type { NewNode } from "../../../packages/lossless/src/store/store-types.ts";
import { Pace } from "../../../packages/core/src/platform/pace.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { assertGrowing, Drive } from "./drive.ts";

const LIMITS = {
  maxTokens: 2_000,
  userTokens: 500,
  hidesTalk: false,
  leaving: 4_000,
  signal: undefined,
  sessionId: "s1",
};

function node(
  number: number,
  text = `- Part ${number} was looked after.\n- ${"The keeper wrote it down. ".repeat(12)}`,
): NewNode {
  return {
    nodeId: `n${number}`,
    sessionId: "s1",
    kind: "leaf",
    origin: "extractive",
    depth: 0,
    firstEntryId: `e${number}0`,
    lastEntryId: `e${number}9`,
    children: [],
    text: `## Decisions and constraints\n${text}`,
    tokens: estimateTokens(text) + 8,
    sourceTokens: 4_000,
    state: "prepared",
  };
}

type Made = Awaited<ReturnType<typeof makeHead>>;

function epochOf(made: Made, pins: readonly string[] = []): Epoch {
  return {
    id: "x",
    head: made.text,
    chapters: measured(made.chapters),
    pins,
    firstKeptEntryId: "e1",
    facts: made.facts,
    stubs: {},
    madeAt: 0,
    startTokens: 0,
  };
}

/** A session in which each compaction removes one user message, one command and one file. */
class Session {
  readonly messages = new Map<string, AgentMessage>();
  epoch: Epoch | undefined;
  nodes: NewNode[] = [];
  #number = 0;

  async compact(more: Partial<Parameters<typeof makeHead>[0]> = {}): Promise<Made> {
    const number = ++this.#number;
    const before: Facts = this.epoch?.facts ?? NO_FACTS;
    const id = `u${number}`;
    this.messages.set(id, { role: "user", content: `Request ${number}: look after the berth.` });
    const news = {
      users: [id],
      work: [`shell quay ${number} — done`],
      files: [`src/berth-${number}.ts (edited)`],
      troubles: [],
    };
    const facts: Facts = {
      ...before,
      users: [...before.users, ...news.users],
      work: [...before.work, ...news.work],
      files: [...before.files, ...news.files],
      strings: [...before.strings, { value: `quay_${number}_side`, said: 1, last: number }],
      left: before.left + 4,
      lastAnswer: `Answer ${number}`,
    };
    const made = await makeHead({
      ...LIMITS,
      before: this.epoch,
      isNew: false,
      facts,
      news,
      nodes: this.nodes,
      present: new Map(this.nodes.map((item) => [item.nodeId, [item]])),
      added: [node(number)],
      messages: this.messages,
      pins: [],
      pace: new Pace(),
      ...more,
    });
    this.epoch = epochOf(made, more.pins);
    this.nodes = made.nodes;
    return made;
  }
}

test("each compaction appends a chapter to the existing bytes, until the budget is used up", async () => {
  const session = new Session();
  let before = await session.compact();
  let added = 0;
  let rendered = 0;
  for (let number = 2; number <= 60; number += 1) {
    const made = await session.compact();
    if (made.text.startsWith(textOfChapters(before.chapters, ""))) added += 1;
    else rendered += 1;
    assert.ok(estimateTokens(made.text) <= LIMITS.maxTokens * 1.05, `${estimateTokens(made.text)} tokens`);
    assert.match(made.text, new RegExp(`Request ${number}:`));
    assert.match(made.text, new RegExp(`edited: src/.*berth-${number}\\.ts`));
    assert.match(made.text, new RegExp(`quay ${number} — done`), `${number}`);
    assert.ok(made.text.endsWith(`- Last said: Answer ${number}`));
    before = made;
  }
  assert.ok(rendered > 0 && added > 2 * rendered, `${added} added, ${rendered} rendered again`);
});

test("a head is sent in pieces, and those of earlier compactions stay the same", async () => {
  const session = new Session();
  await session.compact();
  const two = summaryPieces((await session.compact()).text);
  const three = summaryPieces((await session.compact()).text);
  assert.equal(three.length, 4);
  assert.deepEqual(three.slice(0, 2), two.slice(0, 2));
  assert.match(three[2] ?? "", /^# Since then\n[^]*Request 3:/);
  assert.match(three[3] ?? "", /^# At the end\n/);
  assert.equal(three.join(""), session.epoch?.head);
});

test("a model's summary replaces the extract, and only the text after it changes", async () => {
  const session = new Session();
  for (let number = 1; number <= 3; number += 1) await session.compact();
  const before = summaryPieces(session.epoch?.head ?? "");
  const written: NewNode = { ...node(3, "- The MODEL says so."), nodeId: "m3", origin: "model" };
  const [first, second] = session.nodes;
  assert.ok(first && second);
  session.nodes = [first, second, written];
  const present = new Map<string, NewNode[]>([
    [first.nodeId, [first]],
    [second.nodeId, [second]],
    ["n3", [written]],
  ]);
  const pieces = summaryPieces((await session.compact({ present })).text);
  assert.deepEqual(pieces.slice(0, 2), before.slice(0, 2));
  assert.match(pieces[2] ?? "", /### Part m3[^]*The MODEL says so/);
  assert.doesNotMatch(pieces[2] ?? "", /Part 3 was looked after/);
  assert.match(pieces[3] ?? "", /Request 4:/);
});

test("the head is rendered from scratch on request, after a change of pins, and when the old head has no chapters", async () => {
  const isOne = (made: Made): boolean => made.chapters.length === 1;
  const session = new Session();
  await session.compact();
  assert.equal(isOne(await session.compact()), false);
  assert.equal(isOne(await session.compact({ isNew: true })), true);
  session.messages.set("p1", { role: "user", content: "The gate is blue." });
  const pinned = await session.compact({ pins: ["p1"] });
  assert.equal(isOne(pinned), true);
  assert.match(pinned.text, /<pinned entry="p1">\nThe gate is blue\./);
  assert.equal(isOne(await session.compact({ pins: ["p1"] })), false);
  assert.ok(session.epoch);
  const { chapters: _, ...foreign } = session.epoch;
  session.epoch = foreign;
  assert.equal(isOne(await session.compact()), true);
});

test("chapters are parsed from the head that they measure, and from no other text", () => {
  const part = fc.string({ maxLength: 30 }).filter((text) => text !== "");
  const maybe = fc.option(part, { nil: "" });
  const chapter = fc.record(
    { words: part, summaries: maybe, facts: maybe, nodes: fc.array(part) },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(chapter, { minLength: 1, maxLength: 5 }), part, (chapters, end) => {
      const head = textOfChapters(chapters, end);
      const stored = JSON.parse(JSON.stringify(measured(chapters))) as ReturnType<typeof measured>;
      assert.deepEqual(chaptersOf(head, stored), chapters);
      const longer = stored.map((item) => ({ ...item, words: item.words + head.length }));
      assert.equal(chaptersOf(head, longer), undefined);
    }),
  );
});

test("all user messages stay while they fit; otherwise the newest and the binding ones are dropped last", async () => {
  const messages = new Map<string, AgentMessage>();
  const users = Array.from({ length: 30 }, (_, index) => {
    const binding = index === 4 ? "Never touch the north gate." : "It was a quiet day.";
    messages.set(`u${index}`, { role: "user", content: `Word ${index}. ${binding} ${"Ships. ".repeat(20)}` });
    return `u${index}`;
  });
  const facts: Facts = { ...NO_FACTS, users };
  const render = async (userTokens: number): Promise<string> => {
    const input = { facts, nodes: [], messages, pins: [], maxTokens: 1_000, userTokens, hidesTalk: false };
    return (await renderHead(input, 1, new Pace())).text;
  };
  const all = await render(10_000);
  for (const message of messages.values()) assert.ok(all.includes(textOf(message)));
  const some = await render(200);
  assert.match(some, /Word 29\./);
  assert.match(some, /Word 4\. Never touch the north gate\./);
  assert.doesNotMatch(some, /Word 0\./);
});

test("where people talk in a small window only their demands are in the head, and their messages are kept for a larger one", async () => {
  const texts = ["We went to the fair.", "Please always answer in German from now on.", "It rained all day."];
  const messages = new Map<string, AgentMessage>(
    texts.map((content, index) => [`u${index}`, { role: "user", content }]),
  );
  const facts: Facts = { ...NO_FACTS, users: [...messages.keys()] };
  const input = { facts, nodes: [], messages, pins: [], maxTokens: 1_000, userTokens: 0 };
  const small = await renderHead({ ...input, hidesTalk: true }, 1, new Pace());
  assert.match(small.text, /^- Please always answer in German from now on\.$/m);
  assert.doesNotMatch(small.text, /fair|rained/);
  const large = await renderHead({ ...input, facts: small.facts, hidesTalk: false }, 1, new Pace());
  for (const text of texts) assert.ok(large.text.includes(text), text);
});

test("a head lists what people decided, in their words, and nothing else of their talk", async () => {
  const talk = ["I don't know.", "Never mind.", "What should I do?", "I only slept two hours."];
  const decided = ["We decided to use Postgres for the store.", "Let's go with the blue logo."];
  const messages = new Map<string, AgentMessage>(
    [...talk, ...decided].map((content, index) => [`u${index}`, { role: "user", content }]),
  );
  for (const work of [[], ["Edited the file."]]) {
    const facts: Facts = { ...NO_FACTS, work, users: [...messages.keys()] };
    const input = { facts, nodes: [], messages, pins: [], maxTokens: 1_000, userTokens: 0, hidesTalk: true };
    const { text } = await renderHead(input, 1, new Pace());
    const rules = /## Decisions and constraints\n((?:- .*\n?)+)/.exec(text)?.[1]?.trim().split("\n");
    assert.deepEqual(
      rules,
      decided.map((line) => `- ${line}`),
    );
  }
});

test("where passages show the talk an extract has what people ask for, and none of the rest under its requests", async () => {
  const extract = node(1);
  const asked = [
    "Can you find a berth for the boat?",
    "Please book the ferry to Oslo.",
    "来週の天気を教えて",
  ];
  const rest = ["Thanks!", "I saw the gate and it was open.", "The week was long and we had rain."];
  extract.text = ["## Requests", ...[...asked, ...rest].map((line) => `- ${line}`)].join("\n");
  const facts: Facts = { ...NO_FACTS, users: [] };
  const input = { pins: [], messages: new Map(), maxTokens: 1_000, userTokens: 0 };
  const nodes = [{ ...extract, order: 0 }];
  const { text } = await renderHead({ ...input, facts, nodes, hidesTalk: true }, 1, new Pace());
  for (const line of asked) assert.ok(text.includes(line), line);
  for (const line of rest) assert.ok(!text.includes(line), line);
  const whole = await renderHead({ ...input, facts, nodes, hidesTalk: false }, 1, new Pace());
  for (const line of [...asked, ...rest]) assert.ok(whole.text.includes(line), line);
});

test("an extract does not repeat the rules of its head, and keeps each task", async () => {
  const rules = ["Never push to main.", "Always run `npm run lint` first.", "Never use the old port 8080."];
  const text = `Rewrite the importer. ${rules.join(" ")} ${"It was a quiet day. ".repeat(40)}`;
  const messages = new Map<string, AgentMessage>([["u1", { role: "user", content: text }]]);
  const extract = node(1);
  extract.text = [
    "## Requests",
    "- Rewrite the importer.",
    "- use the old port 8080.",
    "- Never push to main.",
    "",
    "## Decisions and constraints",
    ...rules.map((rule) => `- User: ${rule}`),
  ].join("\n");
  const facts: Facts = { ...NO_FACTS, work: ["Edited the file."], users: ["u1"] };
  const input = { facts, messages, pins: [], maxTokens: 1_000, userTokens: 0, hidesTalk: true };
  const head = await renderHead({ ...input, nodes: [{ ...extract, order: 0 }] }, 1, new Pace());
  for (const rule of rules) assert.equal(head.text.split(rule).length, 2, rule);
  // A part of a rule says something else.
  assert.match(head.text, /^- use the old port 8080\.$/m);
  assert.match(head.text, /^- Rewrite the importer\.$/m);
});

test("a part whose every line is listed elsewhere keeps its heading and its id", async () => {
  const rule = "Never push to main.";
  const messages = new Map<string, AgentMessage>([["u1", { role: "user", content: rule }]]);
  const facts: Facts = { ...NO_FACTS, users: ["u1"] };
  const input = { facts, messages, pins: [], maxTokens: 1_000, userTokens: 500, hidesTalk: false };
  const nodes = [{ ...node(1, `- User: ${rule}`), order: 0 }];
  const head = await renderHead({ ...input, nodes }, 1, new Pace());
  assert.equal(head.text.split(rule).length, 2);
  assert.match(head.text, /^### Part n1 \(entries e10 to e19, extract\)$/m);
});

test("words that people join with a sign are exact strings only where work was done", async () => {
  const words = ["and/or", "done.Then", "20th-century", "rock/pop/jazz"];
  const exact = ["AB-1234", "787/a350", "example.com", "/etc/hosts", "v2.10.1"];
  const strings = [...words, ...exact].map((value) => ({ value, said: 1, last: 0 }));
  const input = {
    nodes: [],
    messages: new Map(),
    pins: [],
    maxTokens: 1_000,
    userTokens: 0,
    hidesTalk: false,
  };
  const talk = await renderHead({ ...input, facts: { ...NO_FACTS, strings } }, 1, new Pace());
  for (const value of exact) assert.ok(talk.text.includes(value), value);
  for (const value of words) assert.ok(!talk.text.includes(value), value);
  const work = await renderHead(
    { ...input, facts: { ...NO_FACTS, strings, work: ["Edited the file."] } },
    1,
    new Pace(),
  );
  for (const value of [...words, ...exact]) assert.ok(work.text.includes(value), value);
});

test("within a long turn the heads grow at their end, and the host's entry has the same bytes", async () => {
  const drive = new Drive({
    budget: 8_000,
    config: { trigger: 6_000, headTokens: 1_700, tailTokens: 700 },
  });
  try {
    const turnId = drive.begin(input(1));
    const heads: string[] = [];
    for (let step = 0; step < 120; step += 1) {
      for (const message of round(1, step, 1, 200)) drive.append(turnId, message);
      const { messages } = await drive.call(turnId);
      const head = messages.map((message) => readSummary(textOf(message))).find((text) => text !== undefined);
      if (head !== undefined && head !== heads.at(-1)) heads.push(head);
    }
    assertGrowing(drive.sent);
    assert.ok(heads.length > 4, `${heads.length} heads`);
    const kept = heads.filter((head, index) => {
      const before = heads[index - 1];
      return before !== undefined && summaryPieces(head)[0] === summaryPieces(before)[0];
    });
    assert.ok(kept.length > heads.length / 2, `${kept.length} of ${heads.length} keep their first piece`);
  } finally {
    await drive.end();
  }
});

test("a head that leaves talk to passages has no answers but those of a model's summary, and every decision", async () => {
  const decision = "We settled on the blue boat because the red one leaks.";
  const extract = node(1);
  extract.text = `## Decisions and constraints\n- ${decision}\n\n## Answers\n- The tide is at noon.`;
  const summary: NewNode = { ...node(2), origin: "model", text: "## Answers\n- The keel is of oak." };
  const facts: Facts = { ...NO_FACTS, lastAnswer: decision };
  const headOf = async (hidesTalk: boolean): Promise<string> =>
    (
      await renderHead(
        {
          facts,
          nodes: [extract, summary].map((each, order) => ({ ...each, order })),
          messages: new Map<string, AgentMessage>(),
          pins: [],
          maxTokens: LIMITS.maxTokens,
          userTokens: LIMITS.userTokens,
          hidesTalk,
        },
        1,
        new Pace(),
      )
    ).text;
  const hidden = await headOf(true);
  const shown = await headOf(false);
  for (const head of [hidden, shown]) {
    assert.equal(head.split(decision).length, 2);
    assert.match(head, /The keel is of oak/);
  }
  assert.doesNotMatch(hidden, /The tide is at noon|Last said/);
  assert.match(shown, /The tide is at noon/);
  assert.match(shown, /Last said/);
});
