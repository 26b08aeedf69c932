/**
 * Conversations made from a seed and the sentences of a language (`languages.ts`), with questions about what was stated, and questions about
 * what was never mentioned: about people that no message names, and about things that none has.
 */
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import { estimateTokens } from "../../../../packages/core/src/tokens/estimate.ts";
import { mulberry32 } from "../../../generate.ts";
import type { Split } from "../cases.ts";
import type { FactKind, LanguagePart, Person, TalkLanguage } from "./talk-language.ts";

export interface BlockQuestion {
  text: string;
  /** The statement that answers it, verbatim; undefined for what was never mentioned. */
  gold: string | undefined;
  kind: string;
}

export interface BlockCase {
  name: string;
  /** Conversations of one set and script are counted together. */
  group: string;
  messages: readonly AgentMessage[];
  questions: readonly BlockQuestion[];
}

const SEEDS: Readonly<Record<Split, number>> = { tuning: 5, reporting: 17 };
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START = Date.parse("2025-03-03T18:00:00Z");
/** Messages of a sitting. */
const SITTING = 24;
/** Facts are in the first part of a conversation, so that they are out of sight at its end. */
const FACT_SHARE = 0.6;

function filled(text: string, [plain, owner = plain]: Person, value: string): string {
  const sentence = text.replaceAll("{P}", plain).replaceAll("{G}", owner).replaceAll("{V}", value);
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

function isOfPerson({ says }: FactKind): boolean {
  return /\{[PG]\}/.test(says);
}

const NO_PERSON: Person = [""];

interface Stated {
  statement: string;
  question: string;
}

function statedIn({ people, facts }: LanguagePart): Stated[] {
  return facts.flatMap((fact) =>
    fact.values.map((value, index) => {
      const person = (isOfPerson(fact) ? people[index] : undefined) ?? NO_PERSON;
      return { statement: filled(fact.says, person, value), question: filled(fact.asks, person, "") };
    }),
  );
}

function neverIn({ people, strangers, facts, never }: LanguagePart): BlockQuestion[] {
  const ofStrangers = facts
    .filter(isOfPerson)
    .flatMap(({ asks }) => strangers.map((person) => filled(asks, person, "")))
    .map((text) => ({ text, gold: undefined, kind: "a person who was never mentioned" }));
  const others = never.flatMap((text) => {
    const isAbout = /\{[PG]\}/.test(text);
    const kind = isAbout ? "nothing of it about a known person" : "nothing of it";
    const persons = isAbout ? people.slice(0, 2) : [NO_PERSON];
    return persons.map((person) => ({ text: filled(text, person, ""), gold: undefined, kind }));
  });
  return [...ofStrangers, ...others];
}

/** A conversation of at least so many estimated tokens. */
export function madeTalk({ name, parts }: TalkLanguage, split: Split, tokens: number): BlockCase {
  const random = mulberry32(SEEDS[split]);
  const below = (bound: number): number => Math.floor(random() * bound);
  const part = parts[split];
  const { chat, answers } = part;
  const pick = (choices: readonly string[]): string => choices[below(choices.length)] ?? "";
  const lines: string[] = [];
  let size = 0;
  while (size < tokens) {
    const pair = [`${pick(chat)} ${pick(chat)}`, pick(answers)];
    lines.push(...pair);
    size += pair.reduce((sum, text) => sum + estimateTokens(text), 0);
  }
  const stated = statedIn(part);
  // A statement takes the place of a message of the user, an even one.
  const places = Array.from({ length: Math.floor((lines.length * FACT_SHARE) / 2) }, (_, at) => 2 * at);
  for (const { statement } of stated) lines[places.splice(below(places.length), 1)[0] ?? 0] = statement;
  const messages = lines.map((text, index): AgentMessage => {
    const timestamp = START + Math.floor(index / SITTING) * DAY_MS + (index % SITTING) * MINUTE_MS;
    return index % 2 === 0
      ? { role: "user", content: text, timestamp }
      : { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", timestamp };
  });
  const known = stated.map(({ statement, question }) => ({
    text: question,
    gold: statement,
    kind: "stated",
  }));
  const questions = [...known, ...neverIn(part)];
  return { name: `${name}, ${split}`, group: `made talk, ${name}`, messages, questions };
}
