/** Checks of a conversation over several starts: its history, its record, and the engine's compaction. */
import { must, shown } from "../../conformance-check.ts";
import { countIn, mustBeLines, mustShow } from "../../harness/harness-judge.ts";
import type { ProgramCheck } from "../program-check.ts";
import { newestOf, PRINT_BARGE } from "./program-start-check.ts";

const THINGS = "anchor barrel capstan davit ensign fender gangway hawser jetty keel lantern mast".split(" ");
const LINES = 36;

/** Some 700 tokens, no sentence twice: programs take repeated text for a loop. */
function promptSentences(order: number): string[] {
  return Array.from({ length: LINES }, (_, at) => {
    const thing = THINGS[at % THINGS.length] ?? "";
    return `The ${thing} of quay ${order * LINES + at} was counted ${at * 37 + order * 5 + 11} times in week ${at + 20}.`;
  });
}

function order(number: number): string {
  return `Order ${number}: berth ${number} is looked after by pilot-${number}-x. ${promptSentences(number).join(" ")}`;
}

export const programConversationChecks: readonly ProgramCheck[] = [
  {
    id: "resume.history",
    title: "Each later start shows the earlier messages, in order, each once, with their roles.",
    async run({ stage }) {
      const made = await stage();
      for (const word of ["first", "second"]) {
        made.replies({ text: `The ${word} answer.` });
        await made.ask(`The ${word} question?`);
      }
      await made.ask("The third question?");
      mustShow(
        newestOf(made),
        [
          ["user", "The first question?"],
          ["assistant", "The first answer."],
          ["user", "The second question?"],
          ["assistant", "The second answer."],
          ["user", "The third question?"],
        ],
        made.recipe.seam,
      );
    },
  },
  {
    id: "record.transcript",
    title: "Every message of the conversation is in the folder's session, in order, each once.",
    async run({ stage }) {
      const made = await stage();
      const call = made.recipe.call(PRINT_BARGE);
      made.replies({ toolCalls: [{ id: "call_one", ...call }] }, { text: "It is noted." });
      await made.ask("Note the barge.");
      made.replies({ text: "All is well." });
      await made.ask("And now?");
      mustBeLines(
        await made.transcript(),
        [
          "Note the barge.",
          `calls ${call.name} `,
          "barge-42-x",
          "assistant: It is noted.",
          "And now?",
          "assistant: All is well.",
        ],
        "The session",
      );
    },
  },
  {
    id: "receipt.names",
    title: "Receipts name the engine and the seam.",
    async run({ stage }) {
      const made = await stage();
      await made.ask("The first question?");
      await made.ask("The second question?");
      const receipts = (await made.receipts()).filter(({ purpose }) => purpose === undefined);
      const { length } = receipts;
      must(length > 0, "The turns have no receipts.");
      const named = new Set(receipts.map(({ engine, seam }) => `${engine}, ${seam}`));
      const wanted = `lossless, ${made.recipe.seam}`;
      must(named.size === 1 && named.has(wanted), `The receipts name ${shown([...named])}, not ${wanted}.`);
    },
  },
  {
    id: "usage.reported",
    title: "The usage that the model's provider reports is that of the receipt.",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "Fine.", usage: { input: 1_234, output: 56 } });
      await made.ask("How are you?");
      const totals = (await made.receipts()).flatMap(({ usage }) => usage?.totalTokens ?? []);
      must(totals.includes(1_290), `The receipts have ${shown(totals)} tokens; the provider reported 1,290.`);
    },
  },
  {
    id: "compact.engine",
    title: "After a compaction the next start shows the engine's summary, and not what it replaced.",
    async run({ stage }) {
      const made = await stage();
      for (const number of [0, 1, 2]) await made.ask(order(number));
      must(
        sentencesIn(made.mains.at(-1), 0) === LINES,
        "The first prompt was not whole before the compaction.",
      );
      await made.compact();
      await made.ask(order(3));
      const request = newestOf(made);
      const left = sentencesIn(request, 0);
      must(
        left < LINES / 2,
        `After the compaction ${left} of ${LINES} sentences of the first prompt are left.`,
      );
      must(countIn(request, "pilot-0-x") > 0, "The summary lacks a name of the first prompt.");
      must(sentencesIn(request, 3) === LINES, "The new prompt is not whole.");
    },
  },
];

function sentencesIn(request: Parameters<typeof countIn>[0] | undefined, number: number): number {
  if (!request) return 0;
  return promptSentences(number).filter((sentence) => countIn(request, sentence) > 0).length;
}
