/** Conversations from a seed in which a person sets rules, takes some back and replaces others, between much else. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { generateTranscript, mulberry32 } from "../../generate.ts";
import { entryId } from "../../../packages/replay/src/recorded-session.ts";
import type { RuleForm } from "./templates.ts";

const TOPICS = (
  "Lisbon,Porto,Oslo,Gdansk,Trieste,Utrecht,Bergen,Malaga,Ghent,Riga,sourdough,beetroot soup,orchids,tomato plants,bicycles,chess openings," +
  "violin strings,night trains,ferries,museums,budget planning,running shoes,photo lenses,hiking trails,espresso,kayaks,board games,podcasts"
).split(",");
const DETAILS = (
  "the price,the date of the last change,the opening hours,the source,the distance in steps,the name of the author,the weather,a warning about allergies," +
  "the travel time,the nearest station,the colour code,an alternative,the year,the risk,the phone number,a short history,the water level,the size"
).split(",");
const SMALL_TALK = [
  "Thanks, that was lovely!",
  "I always loved that song, you know.",
  "Never mind, it was nothing.",
  "We should meet more often, everybody says so.",
  "I never saw such a storm before.",
  "Good morning! How was your weekend?",
  "My sister always forgets her keys when she visits.",
  "You must be tired after all that work.",
  "Keep it up, you are doing great!",
  "From what I hear, the market is closed on Mondays.",
  "If I had more time I would read that book again.",
  "Every time we go there it rains.",
];
const THINGS =
  "anchor,barrel,candle,drawer,engine,fountain,garden,harbour,island,jacket,kettle,ladder,mirror,needle".split(
    ",",
  );
const ANSWERS = [
  "## Plan\n- Always check the THING first.\n- Never leave it outside.",
  "The THING was moved to the other room, and the list has NUMBER more of them.",
  "Sure! Here is what I found about the THING: there were NUMBER of them in week NUMBER.",
  "Don't forget the THING next time. I will always remind you of it.",
];

export type Fate = "kept" | "taken back" | "replaced";

export interface SetRule {
  text: string;
  fate: Fate;
  /** What ended it. */
  end?: string;
  form: RuleForm;
}

export interface RuleConversation {
  messages: AgentMessage[];
  rules: SetRule[];
}

export interface ConversationOptions {
  seed: number;
  forms: readonly RuleForm[];
  /** Characters of all messages, at least. */
  characters: number;
  rules: number;
  /** Tool calls of an agent at work between the talk. */
  works: boolean;
}

class Author {
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

  /** Takes one out. */
  take<T>(choices: T[]): T {
    return choices.splice(this.below(choices.length), 1)[0] as T;
  }

  talk(): string {
    const thing = this.pick(THINGS);
    const story = `The ${thing} of house ${this.below(900)} was painted ${this.below(50)} years ago, and ${this.pick(THINGS)} ${this.below(900)} is still there.`;
    return this.below(3) === 0 ? this.pick(SMALL_TALK) : `${story} ${this.pick(SMALL_TALK)}`;
  }

  answer(): string {
    const text = this.pick(ANSWERS).replaceAll("THING", this.pick(THINGS));
    return text.replaceAll("NUMBER", () => String(this.below(900)));
  }
}

function filled(form: string, topic: string, detail: string): string {
  const text = form.replaceAll("{topic}", topic).replaceAll("{detail}", detail);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function said(content: string): AgentMessage {
  return { role: "user", content };
}

function answered(text: string): AgentMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

const FATES: readonly Fate[] = ["kept", "taken back", "kept", "replaced"];

export function ruleConversation(options: ConversationOptions): RuleConversation {
  const author = new Author(options.seed);
  const topics = [...TOPICS];
  const details = [...DETAILS];
  const rules = Array.from({ length: options.rules }, (_, index): SetRule => {
    const form = options.forms[(options.seed + index * 7) % options.forms.length] as RuleForm;
    const [topic, detail] = [author.take(topics), author.take(details)];
    const wanted = FATES[(options.seed + index) % FATES.length] ?? "kept";
    const fate = wanted === "replaced" && form.instead === undefined ? "taken back" : wanted;
    const end = fate === "kept" ? undefined : fate === "replaced" ? form.instead : form.back;
    return {
      text: filled(form.rule, topic, detail),
      form,
      ...(end === undefined ? { fate: "kept" } : { fate, end: filled(end, topic, detail) }),
    };
  });
  const filler = options.works ? generateTranscript({ seed: options.seed, messages: 4_000 }) : [];
  const messages: AgentMessage[] = [];
  let characters = 0;
  const add = (message: AgentMessage): void => {
    characters += JSON.stringify(message.content).length;
    messages.push({ ...message, entryId: entryId(messages.length), timestamp: messages.length * 60_000 });
  };
  /** What is added once so much of the conversation is there. */
  const due = rules
    .flatMap((rule, index) => [
      { at: 0.02 + (0.3 * index) / rules.length, text: rule.text },
      ...(rule.end === undefined ? [] : [{ at: 0.4 + (0.3 * index) / rules.length, text: rule.end }]),
    ])
    .toSorted((a, b) => a.at - b.at);
  while (characters < options.characters || due.length > 0) {
    const next = due[0];
    const isDue = next !== undefined && characters >= next.at * options.characters;
    const own = isDue ? due.shift()?.text : undefined;
    const alone = author.below(2) === 0;
    add(said(own === undefined ? author.talk() : alone ? own : `${author.talk()} ${own}`));
    if (options.works) {
      // A turn of the agent, from its first answer to before the next request.
      while (filler[0]?.role === "user") filler.shift();
      const end = filler.findIndex(({ role }) => role === "user");
      for (const message of filler.splice(0, end < 0 ? filler.length : end)) add(message);
    }
    add(answered(author.answer()));
  }
  return { messages, rules };
}
