import assert from "node:assert/strict";
import { test } from "node:test";
import { recallPassages } from "../../../../packages/lossless/src/recall/pages.ts";
import { byLength } from "../../../runner/short-form.ts";
import { chain, withStore } from "./fixtures.ts";

const COUNT = byLength(500, 60, 20);

const THINGS = [
  "dentist appointment",
  "password of the cabin router",
  "shoe size of Mia",
  "flight to Lisbon",
  "deadline of the tax form",
  "birthday dinner",
  "piano lesson",
  "key of the boathouse",
  "parking place at the office",
  "appointment with the plumber",
  "code of the garage door",
  "train to Bergen",
  "name of the new cat",
  "size of the bicycle frame",
  "colour of the curtains",
  "meeting point for the hike",
  "return date of the library book",
  "seat in the theatre",
  "dose of the allergy medicine",
  "address of the summer camp",
  "start of the swimming course",
  "number of guests at the wedding",
  "place of the spare keys",
  "allergy test",
  "delivery of the sofa",
];
const VALUES = [
  "Tuesday at three",
  "Friday at noon",
  "number 38",
  "number 41",
  "the blue one",
  "row seven",
  "May 14",
  "June 2",
];
const OWNERS =
  "Alva Bruno Celia Dario Edith Fabio Greta Henrik Ines Jonas Klara Leon Mira Nils Olga Pavel Rosa Sven Tilda Viktor".split(
    " ",
  );
/** Ways to state a fact, and to correct it later. */
const FACTS = [
  (thing: string, value: string): string => `The ${thing} is ${value}.`,
  (thing: string, value: string): string =>
    `Please remember: the ${thing} is ${value}, that is important to me.`,
  (thing: string, value: string): string => `I noted that the ${thing} is ${value}.`,
];
const CORRECTIONS = [
  (thing: string, value: string): string => `Correction: the ${thing} is ${value} now.`,
  (thing: string, value: string): string =>
    `The ${thing} was changed to ${value}, forget what I wrote before about it.`,
  (thing: string, value: string): string => `By the way, the ${thing} is ${value} after all.`,
];
const TALK = [
  "Lovely weather again.",
  "Did you see the match?",
  "I am tired today.",
  "Let us cook something.",
  "Thanks a lot!",
];

function of<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

interface Fact {
  question: string;
  older: string;
  newer: string;
}

/** Facts with their corrections, each about its own thing of its own person. */
function facts(): Fact[] {
  return Array.from({ length: COUNT }, (_, index) => {
    const thing = `${of(THINGS, index)} for ${of(OWNERS, Math.floor(index / THINGS.length))}`;
    const value = of(VALUES, index);
    return {
      question: `What is the ${thing}?`,
      older: of(FACTS, index)(thing, value),
      newer: of(CORRECTIONS, Math.floor(index / 2))(thing, of(VALUES, index + 3)),
    };
  });
}

test(`of ${COUNT} facts that were corrected, the newer statement comes first, and the older one names it`, async () => {
  await withStore(async (store) => {
    const all = facts();
    const talk = (index: number): string => `${of(TALK, index)} ${index}`;
    const texts = [
      ...all.map(({ older }) => older),
      ...all.map((_, index) => talk(index)),
      ...all.map(({ newer }) => newer),
    ];
    const entries = chain(texts);
    store.ingestTurn("s", entries);
    const wrong: string[] = [];
    for (const [index, { question, older, newer }] of all.entries()) {
      const { passages } = await recallPassages(store, {
        query: question,
        sessions: ["s"],
        budgetTokens: 2_000,
      });
      const at = (text: string): number => passages.findIndex((passage) => passage.text.includes(text));
      const id = entries[2 * COUNT + index]?.id ?? "";
      const isMarked = at(older) < 0 || passages[at(older)]?.text.includes(`(older than ${id})`) === true;
      if (at(newer) < 0 || (at(older) >= 0 && at(older) < at(newer)) || !isMarked)
        wrong.push(`${question} newer ${at(newer)}, older ${at(older)}, marked ${isMarked}`);
    }
    assert.deepEqual(wrong, []);
  });
});

type Pair = readonly [question: string, older: string, newer: string];

const NATURAL: readonly Pair[] = [
  [
    "When is my dentist appointment?",
    "My dentist appointment is on Tuesday.",
    "Actually the dentist moved me to Friday.",
  ],
  [
    "When is my dentist appointment?",
    "My dentist appointment is on Tuesday at three.",
    "The appointment got moved to Friday at noon.",
  ],
  ["When does my flight leave?", "My flight leaves at 9:15.", "The airline changed my flight to 10:40."],
  [
    "What is the wifi password of the cabin?",
    "The wifi password of the cabin is swordfish.",
    "The password is marlin now.",
  ],
  [
    "Which database do we use for the store?",
    "We use Postgres for the store.",
    "We now use MySQL for the store instead.",
  ],
  ["Where does Mia live?", "Mia lives in Rome.", "Mia moved to Oslo in spring and lives there now."],
  ["When is the team meeting?", "The team meeting is on Monday.", "Turns out the meeting is on Wednesday."],
  ["What size are Mia's shoes?", "Mia's shoe size is 34.", "Mia's shoe size is 36 now."],
  [
    "Who has the spare keys?",
    "The spare keys are with Anna.",
    "The spare keys are no longer with Anna, Bob has them.",
  ],
  [
    "When is the parents' evening?",
    "The parents' evening is on May 14.",
    "In fact the parents' evening is on June 2.",
  ],
  [
    "When is the piano lesson of Lea?",
    "Lea has her piano lesson on Monday.",
    "Lea's piano lesson was moved to Thursday.",
  ],
  ["Which port does the server use?", "The server uses port 8080.", "The server uses port 9090 now."],
  ["When is Anna's meeting?", "Anna: my meeting is on Tuesday.", "Anna: actually my meeting is on Friday."],
  [
    "Wann ist mein Zahnarzttermin?",
    "Mein Zahnarzttermin ist am Dienstag.",
    "Der Zahnarzttermin wurde auf Freitag verschoben.",
  ],
  [
    "Wie lautet das Passwort vom Router?",
    "Das Passwort vom Router ist Hecht.",
    "Das Passwort ist jetzt Karpfen.",
  ],
  [
    "Quand est mon rendez-vous chez le dentiste ?",
    "Mon rendez-vous chez le dentiste est mardi.",
    "En fait, le dentiste est vendredi.",
  ],
  [
    "¿Cuándo es mi cita con el dentista?",
    "Mi cita con el dentista es el martes.",
    "En realidad el dentista es el viernes.",
  ],
  ["What is my address?", "My address is Main Street 5.", "I moved, my address is Elm Street 9."],
  ["What does the cat eat?", "The cat eats dry food.", "The cat only eats wet food now."],
  ["Where do we meet?", "We meet at the harbour cafe at 3.", "Change of plans: we meet at the library at 4."],
  [
    "Which package manager do we use?",
    "We use npm as package manager.",
    "We switched to pnpm as package manager.",
  ],
  [
    "What is the password for the cabin?",
    "The password for the cabin is pike.",
    "Sorry for the confusion, the cabin password is carp now.",
  ],
  ["When does the course start?", "The course starts on Monday.", "The course begins on Tuesday now."],
  ["When does the bakery open?", "The bakery opens at 7.", "The bakery opens at 8 now, and closes at 18:00."],
];

const OTHERS: readonly Pair[] = [
  [
    "What is in ticket 3?",
    "Ticket 3: look after the berth of the ferry.",
    "Ticket 4: now look after the berth of the tug.",
  ],
  [
    "When does my daughter have piano lessons?",
    "My daughter Mia has piano lessons on Monday.",
    "My daughter Lea has piano lessons on Thursday.",
  ],
  [
    "What are my brother's pets called?",
    "My brother's cat is called Tom.",
    "My brother's dog is called Rex.",
  ],
  [
    "Which phone number was mentioned?",
    "Anna: My phone number is 555-1000.",
    "Bob: My phone number is 555-2000.",
  ],
  [
    "Which phone number was mentioned?",
    "Anna (anna@example.org) in the group Harbour:\n\nMy phone number is 555-1000.",
    "Bob (bob@example.org) in the group Harbour:\n\nMy phone number is now 555-2000.",
  ],
  ["What is the phone number?", "My phone number is 555-1000.", "Bob: My phone number is 555-2000."],
  [
    "When is the meeting with the office?",
    "The meeting with the harbour office is at three on Tuesday.",
    "The meeting with the tax office is at four on Monday.",
  ],
  [
    "What is the password for the account?",
    "The account password for Anna is swordfish.",
    "The account password for Bob is marlin.",
  ],
  [
    "When are the piano lessons?",
    "Piano lessons for Mia: Monday at four.",
    "Piano lessons for Lea: Thursday at five.",
  ],
  ["Which of my family lives abroad?", "My sister lives abroad in Rome.", "My brother lives abroad in Oslo."],
  ["Who plays the cello?", "Alva plays the cello on Mondays.", "Bruno plays the cello on Fridays."],
  [
    "What colour is the car?",
    "The car of my mother is red in colour.",
    "The car of my father is blue in colour.",
  ],
  [
    "When is my dentist appointment?",
    "My dentist appointment is on Tuesday.",
    "Actually the dentist is a nice guy.",
  ],
  [
    "When is my dentist appointment?",
    "My dentist appointment is on Tuesday.",
    "The dentist now wants 300 euros.",
  ],
  [
    "When is my dentist appointment?",
    "My dentist appointment is on Tuesday.",
    "The dentist's birthday is actually on Friday.",
  ],
  [
    "Which lessons does Mia have?",
    "Mia has piano lessons on Monday.",
    "Mia also has swimming lessons on Friday.",
  ],
  [
    "Which pet does my brother have?",
    "My brother has a dog as a pet.",
    "My brother has another pet now, a cat.",
  ],
  [
    "What is my reservation number?",
    "My reservation number is VA5SGQ.",
    "I have my reservation number now. Can we change the seats?",
  ],
  [
    "When is my dentist appointment?",
    "My dentist appointment is on Tuesday.",
    "When is my dentist appointment?",
  ],
  [
    "Wann hat meine Tochter Klavier?",
    "Meine Tochter Mia hat am Montag Klavier.",
    "Meine Tochter Lea hat am Donnerstag Klavier.",
  ],
  ["What was my first car?", "My first car was a Volvo.", "My new car is a Tesla."],
  ["Which room has the projector?", "Room 12 has the projector.", "Room 14 has the whiteboard now."],
  ["When does the bakery open?", "The bakery opens at 7.", "The bakery closes at 18:00 now."],
  [
    "When does the train to Berlin leave?",
    "The train to Berlin leaves at 8.",
    "I am now on the train to Berlin.",
  ],
  ["When is the flight?", "The flight to Paris is at 9.", "The flight back from Paris is at 18."],
  [
    "Which store do we use?",
    "We use the store Postgres for the orders.",
    "We use the store Redis for the cache.",
  ],
  ["What do we use?", "We use Postgres for the orders.", "We use Redis for the cache."],
  ["Which pill do I take?", "I take the blue pill on Monday.", "I now take the red pill on Tuesday."],
  [
    "What is the password of the cabin router?",
    "The cabin router guest password is pike.",
    "The cabin router admin password is carp now.",
  ],
];

/** Whether the older statement of a pair is marked, and comes after the newer one. */
async function outcomeOf([question, older, newer]: Pair): Promise<"corrected" | "both" | "mixed"> {
  const texts = [older, ...TALK, newer, ...TALK.map((text) => `${text} Really.`)];
  return await withStore(async (store) => {
    store.ingestTurn("s", chain(texts));
    const found = await recallPassages(store, { query: question, sessions: ["s"], budgetTokens: 2_000 });
    const all = found.passages.map(({ text }) => text).join("\n");
    const isMarked = all.includes("(older than");
    const [old, young] = [older, newer].map((text) => all.indexOf(text.split("\n").at(-1) ?? text));
    if (old === undefined || young === undefined || old < 0 || young < 0) return isMarked ? "mixed" : "both";
    if (!isMarked) return "both";
    return young < old ? "corrected" : "mixed";
  });
}

test("a correction in natural words comes first, though it repeats only some words, and the older statement names it", async () => {
  const wrong: Pair[] = [];
  for (const pair of NATURAL) if ((await outcomeOf(pair)) !== "corrected") wrong.push(pair);
  assert.deepEqual(wrong, []);
});

test("statements of or about other people, and about other things, correct nothing", async () => {
  const wrong: Pair[] = [];
  for (const pair of OTHERS) if ((await outcomeOf(pair)) !== "both") wrong.push(pair);
  assert.deepEqual(wrong, []);
});

test("statements about different things of one kind stay in their order, without a mark", async () => {
  await withStore(async (store) => {
    const texts = [
      "Alva plays the cello on Mondays.",
      "Bruno repairs bicycles near the harbour.",
      "Alva moved the harbour festival.",
    ];
    store.ingestTurn("s", chain(texts));
    const { passages } = await recallPassages(store, { query: "Alva", sessions: ["s"], budgetTokens: 2_000 });
    assert.ok(passages.every(({ text }) => !text.includes("older than")));
  });
});
