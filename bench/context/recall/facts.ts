/** Facts planted into a history from a seed, with questions whose answers are known by rule. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { mulberry32 } from "../../generate.ts";
import { entryId } from "../../../packages/replay/src/recorded-session.ts";

export interface Question {
  category: string;
  text: string;
  /** Strings that have to be found, each of them evidence. */
  gold: readonly string[];
}

export interface PlantedHistory {
  messages: readonly AgentMessage[];
  questions: readonly Question[];
}

const CATEGORIES = [
  "user",
  "assistant",
  "tool result",
  "other words",
  "corrected",
  "two places",
  "answered",
  "looked up",
] as const;
type Category = (typeof CATEGORIES)[number];

/** Two vocabularies, so that what is tuned with one can be reported with the other. */
export type Vocabulary = 0 | 1;

/** Few things with many properties: no word of a question points to one message. */
const THINGS = [
  "billing service,search indexer,mail gateway,report builder,login page,export job,mobile client,audit log",
  "order desk,price feed,map viewer,stock ledger,chat relay,photo store,tax engine,parcel tracker",
].map((names) => names.split(","));
interface Property {
  name: string;
  /** The same question without a word of its name. */
  otherWords: string;
}
const PROPERTIES: readonly Property[] = [
  { name: "staging database", otherWords: "Where are the test data of the THING kept?" },
  { name: "on-call channel", otherWords: "Who do I write to when the THING breaks at night?" },
  { name: "release branch", otherWords: "What do we cut new versions of the THING from?" },
  { name: "cost centre", otherWords: "Who pays the invoices of the THING?" },
  { name: "feature flag", otherWords: "How can the new behaviour of the THING be switched off?" },
  { name: "backup bucket", otherWords: "Where would we restore the THING from after a fire?" },
  { name: "service account", otherWords: "Under which user does the THING run in production?" },
  { name: "error budget ticket", otherWords: "Where do we write down how often the THING was down?" },
  { name: "dashboard id", otherWords: "Where can I look at the graphs of the THING?" },
  { name: "queue name", otherWords: "Through what do jobs reach the THING?" },
];
const SYLLABLES = "var hol nem tis gra pel dor min sak lun ber fos kir tam wen zol".split(" ");
/** Sentences about a thing and a property without its value, for each fact. */
const TALKS = 6;

class Source {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = mulberry32(seed);
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  shuffled<T>(choices: readonly T[]): T[] {
    const order = choices.map((choice) => ({ choice, key: this.#random() }));
    return order.toSorted((a, b) => a.key - b.key).map(({ choice }) => choice);
  }

  /** A string that occurs nowhere else. */
  value(): string {
    const hex = Array.from({ length: 6 }, () => this.below(16).toString(16)).join("");
    return `${this.pick(SYLLABLES)}${this.pick(SYLLABLES)}-${hex}`;
  }
}

/** Messages that belong together, or a line in the middle of some tool's result. */
type Saying = { messages: AgentMessage[] } | { line: string };

interface Fact {
  category: Category;
  question: string;
  gold: readonly string[];
  /** In order of their occurrence; the later ones in a later part of the history. */
  statements: Saying[];
}

function userSays(text: string): AgentMessage {
  return { role: "user", content: text };
}

function agentSays(text: string): AgentMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

/** A call with the looked-up name, and a result that is only the value. */
function lookup(thing: string, name: string, value: string): AgentMessage[] {
  const id = `lookup_${value}`;
  const call = {
    type: "toolCall" as const,
    id,
    name: "read_setting",
    arguments: { of: thing, setting: name },
  };
  return [
    { role: "assistant", content: [call], stopReason: "toolUse" },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: call.name,
      content: [{ type: "text", text: `ok, 1 row: ${value}` }],
      isError: false,
    },
  ];
}

/** `around` puts a sentence in the middle of others. */
function factOf(
  source: Source,
  category: Category,
  { thing, property }: { thing: string; property: Property },
  around: (text: string) => string,
): Fact {
  const { name } = property;
  const value = source.value();
  const other = source.value();
  const question = `What was the ${name} of the ${thing} again?`;
  const statement = around(`For later: the ${name} of the ${thing} is ${value}. Nothing to do about it now.`);
  const fact = { category, question, gold: [value] };
  switch (category) {
    case "user":
      return { ...fact, statements: [{ messages: [userSays(statement)] }] };
    case "assistant": {
      const text = `I have set the ${name} of the ${thing} to ${value}, since the shorter one was taken.`;
      return { ...fact, statements: [{ messages: [agentSays(around(text))] }] };
    }
    case "tool result": {
      const key = `${thing} ${name}`.replaceAll(" ", "_");
      return { ...fact, statements: [{ line: `[config] ${key}=${value} reloads=${source.below(900)}` }] };
    }
    case "other words": {
      const asked = property.otherWords.replace("THING", thing);
      return { ...fact, question: asked, statements: [{ messages: [userSays(statement)] }] };
    }
    case "corrected": {
      const first = around(`The ${name} of the ${thing} is ${other}.`);
      const second = around(`I was wrong about the ${thing}: its ${name} is ${value}, not what I said.`);
      return { ...fact, statements: [first, second].map((text) => ({ messages: [userSays(text)] })) };
    }
    case "two places": {
      const first = around(`Half of the ${thing} has a ${name} of its own, ${other}.`);
      const second = around(`The other half of the ${thing} got its ${name} today: ${value}.`);
      const statements = [first, second].map((text) => ({ messages: [userSays(text)] }));
      const asked = `What are the two values of the ${name} of the ${thing}?`;
      return { category, question: asked, gold: [other, value], statements };
    }
    case "answered": {
      const asked = agentSays(around(`I need to know the ${name} of the ${thing}. What is it?`));
      return { ...fact, statements: [{ messages: [asked, userSays(`It is ${value}.`)] }] };
    }
    case "looked up":
      return { ...fact, statements: [{ messages: lookup(thing, name, value) }] };
  }
}

const PHRASES = [
  [
    "I looked at the NAME of the THING once more and found nothing that would have to change.",
    "The THING reads its NAME at the start, so a change of the NAME asks for a restart of the THING.",
    "Nobody has touched the THING this week; its NAME is as it was.",
    "There is a note on the NAME of the THING in the handbook, which is out of date.",
    "The tests of the THING do not depend on its NAME.",
    "What the THING does with its NAME is told in the comment above the function.",
  ],
  [
    "Before I go on with the THING I have checked that its NAME is used in one place only.",
    "A second look at the THING showed that the NAME does not matter for this change.",
    "The review of the THING asked why it needs a NAME at all.",
    "In the THING the NAME is validated twice, which costs nothing.",
    "I left the NAME of the THING alone, since another change of the THING is under way.",
    "The log of the THING prints its NAME at every start, so the NAME is easy to see there.",
  ],
] as const;

/** Long texts of an agent about a thing without a fact in them. */
function talk(source: Source, vocabulary: Vocabulary, thing: string, { name }: Property): AgentMessage {
  const phrases = PHRASES[vocabulary];
  const sentences = source.shuffled(phrases).slice(0, 2 + source.below(phrases.length - 2));
  return agentSays(sentences.join(" ").replaceAll("THING", thing).replaceAll("NAME", name));
}

/** Plain sentences of a history, to put others between. */
function sentencesOf(history: readonly AgentMessage[]): string[] {
  const found = new Set<string>();
  for (const message of history) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "text") continue;
      for (const [sentence] of part.text.matchAll(/[A-Z][^.!?\n]{40,200}[.!?](?=\s|$)/g)) found.add(sentence);
    }
  }
  return [...found];
}

/** Puts a sentence in the middle of two to sixteen others. */
function amid(source: Source, sentences: readonly string[], text: string): string {
  const some = (): string[] =>
    Array.from({ length: 1 + source.below(8) }, () => source.pick(sentences) ?? "");
  return [...some(), text, ...some()].filter((part) => part !== "").join(" ");
}

interface Insertion {
  /** Placed before the message of this index. */
  at: number;
  messages: readonly AgentMessage[];
}

/** Indices before which a separate message may be placed: not between a call and its results. */
function gapsOf(messages: readonly AgentMessage[]): number[] {
  return messages.flatMap((message, index) => (message.role === "toolResult" ? [] : [index]));
}

function withLine(message: AgentMessage, line: string, source: Source): AgentMessage {
  if (message.role !== "toolResult") return message;
  const content = message.content.map((part) => {
    if (part.type !== "text") return part;
    const lines = part.text.split("\n");
    lines.splice(source.below(lines.length + 1), 0, line);
    return { ...part, text: lines.join("\n") };
  });
  return { ...message, content };
}

export interface PlantOptions {
  seed: number;
  /** At most 80. */
  count: number;
  vocabulary: Vocabulary;
}

/**
 * A history with up to `count` facts at places that the seed chooses: in messages of the user or the agent, in the middle of
 * a tool's result, asked for in other words than they were stated in, corrected later, stated in two places, stated as an
 * answer to a question, looked up by a call; and with sentences about the same things without a fact. Entry ids are
 * renumbered.
 */
export function plantFacts(history: readonly AgentMessage[], options: PlantOptions): PlantedHistory {
  const { seed, count, vocabulary } = options;
  const source = new Source(seed);
  const messages = [...history];
  const gaps = gapsOf(history);
  const results = history.flatMap((message, index) => (message.role === "toolResult" ? [index] : []));
  const sentences = sentencesOf(history);
  const insertions: Insertion[] = [];
  const questions: Question[] = [];
  const pairs = (THINGS[vocabulary] ?? []).flatMap((thing) =>
    PROPERTIES.map((property) => ({ thing, property })),
  );
  for (const [number, pair] of source.shuffled(pairs).slice(0, count).entries()) {
    const category = CATEGORIES[number % CATEGORIES.length] ?? "user";
    const fact = factOf(source, category, pair, (text) => amid(source, sentences, text));
    const part = gaps.length / fact.statements.length;
    for (const [order, saying] of fact.statements.entries()) {
      const at = gaps[Math.floor(part * order + source.below(part))] ?? 0;
      if ("messages" in saying) insertions.push({ at, messages: saying.messages });
      else {
        const index = source.pick(results);
        const message = messages[index];
        if (message) messages[index] = withLine(message, saying.line, source);
      }
    }
    for (let talks = 0; talks < TALKS; talks++) {
      insertions.push({
        at: source.pick(gaps),
        messages: [talk(source, vocabulary, pair.thing, pair.property)],
      });
    }
    questions.push({ category: `fact: ${category}`, text: fact.question, gold: fact.gold });
  }
  return { messages: withInsertions(messages, insertions), questions };
}

function withInsertions(messages: readonly AgentMessage[], insertions: readonly Insertion[]): AgentMessage[] {
  const waiting = insertions.toSorted((a, b) => a.at - b.at);
  const planted: AgentMessage[] = [];
  for (const [index, message] of messages.entries()) {
    while (waiting[0]?.at === index) planted.push(...(waiting.shift()?.messages ?? []));
    planted.push(message);
  }
  return planted.map((message, index) => ({ ...message, entryId: entryId(index) }));
}
