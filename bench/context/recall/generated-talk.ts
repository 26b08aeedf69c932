/** Conversations of two people, made from a seed: facts between small talk, with questions whose evidence is known. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { mulberry32 } from "../../generate.ts";
import type { Question } from "./facts.ts";
import type { RecallCase } from "./measure.ts";

const list = (words: string): string[] => words.split(",");
const NAMES = list(
  "Ingrid,Tomas,Leila,Bruno,Nadia,Viktor,Paula,Jonas,Mirela,Stefan,Agnes,Dario,Helga,Ruben,Selma,Oskar,Livia,Anton,Greta,Felix",
);
const TOWNS = list(
  "Bergen,Porto,Graz,Turku,Ghent,Split,Lund,Cork,Basel,Tartu,Brno,Nice,Leiden,Malaga,Gdansk,Siena,Aarhus,Lyon,Varna,Trier",
);
const THINGS = list(
  "canoe,accordion,telescope,sewing machine,greenhouse,motorbike,typewriter,loom,tent,camera,piano,kiln,tandem,barometer,hammock,sledge",
);
const PLACES = list(
  "flea market,harbour,old station,school fair,auction,library sale,garden centre,mill,museum shop,farm,bakery,tower,chapel,quarry",
);
const SKILLS = list(
  "juggle,weave baskets,sail,bake rye bread,play chess,repair clocks,dive,paint porcelain,speak Finnish,keep bees,ride,carve spoons",
);
const REASONS = list(
  "new job,quiet streets,mountains,old mother,university,cheap rent,choir,light in winter,river,sea air,hospital,railway",
);
const SMALL_TALK = list(
  "How was your day,I slept badly,It rained all morning,We had soup for lunch,I went for a walk by the river,The bus was late again,I am a bit tired,That sounds lovely,I would like to know more about it,I have to do the laundry later,My neighbour was loud last night,The coffee was too strong,I watched a film in the evening,We should meet at the weekend,It is getting cold outside,I cleaned the kitchen,I forgot my umbrella,The shop was closed,I could not find my keys,What are your plans for tomorrow",
);
const ENDINGS = list(
  "and then it was over, but that is fine, as so often, which was nice, I think, at least today, more or less, to be honest",
);
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Messages of one sitting, and how often one of them has a fact. */
const SITTING = 24;
const FACT_EVERY = 8;

class Talk {
  readonly #random: () => number;
  readonly #pairs = new Set<string>();

  constructor(seed: number) {
    this.#random = mulberry32(seed);
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #of(words: readonly string[]): string {
    return words[this.below(words.length)] ?? "";
  }

  chat(): string {
    const parts = Array.from({ length: 1 + this.below(4) }, () => this.#of(SMALL_TALK));
    return `${parts.join(". ")}, ${this.#of(ENDINGS).trim()}.`;
  }

  /** A new fact with its question; undefined where the words of the question are taken. */
  fact(): Question | undefined {
    const [name, other, town, place] = [NAMES, NAMES, TOWNS, PLACES].map((words) => this.#of(words));
    const forms = [
      {
        about: `${name} ${place}`,
        text: `${name} bought a ${this.#of(THINGS)} at the ${place}.`,
        ask: `What did ${name} buy at the ${place}?`,
      },
      {
        about: `${name} ${other}`,
        text: `${name} learns to ${this.#of(SKILLS)}, with ${other} as the teacher.`,
        ask: `What does ${name} learn with ${other} as the teacher?`,
      },
      {
        about: `${name} ${town}`,
        text: `${name} moved to ${town} because of the ${this.#of(REASONS)}.`,
        ask: `Why did ${name} move to ${town}?`,
      },
    ];
    const form = forms[this.below(forms.length)];
    if (!form || this.#pairs.has(form.about)) return undefined;
    this.#pairs.add(form.about);
    return { category: "one place", text: form.ask, gold: [form.text] };
  }
}

/** A conversation of about so many tokens. */
export function generatedTalk(seed: number, tokens: number): RecallCase {
  const talk = new Talk(seed);
  const messages: AgentMessage[] = [];
  const questions: Question[] = [];
  let time = Date.UTC(2025, 0, 1);
  for (let sum = 0; sum < tokens;) {
    time += messages.length % SITTING === 0 ? DAY_MS * (1 + talk.below(3)) : MINUTE_MS;
    const fact = talk.below(FACT_EVERY) === 0 ? talk.fact() : undefined;
    const text = [
      talk.chat(),
      ...(fact ? fact.gold : []),
      ...(talk.below(2) === 0 ? [talk.chat()] : []),
    ].join(" ");
    if (fact) questions.push(fact);
    sum += estimateTokens(text);
    messages.push(
      messages.length % 2 === 0
        ? { role: "user", content: text, timestamp: time }
        : { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", timestamp: time },
    );
  }
  return { name: `generated conversation ${seed}`, messages, questions, factor: 1 };
}
