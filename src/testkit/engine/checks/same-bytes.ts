/** The same history gives the same bytes, whenever and wherever: a provider's cache lives on that. */
import { must } from "../../check.ts";
import type { EngineCheck } from "../engine-check.ts";
import { turn, turns } from "../conversation.ts";
import { withShiftedClock } from "../shifted-clock.ts";
import type { EngineStage } from "../stage.ts";

const PROMPT = "Which berths are free?";
const DAYS_MS = 3 * 24 * 3_600_000;
const BUDGET = 8_000;

async function bytes(made: EngineStage): Promise<string> {
  const { messages, systemPromptAddition, contextProjection } = await made.assemble({ prompt: PROMPT });
  // Entry ids are the host's and never sent to a model.
  const sent = messages.map(({ entryId: _id, ...message }) => message);
  return JSON.stringify({ messages: sent, systemPromptAddition, contextProjection });
}

function mustBeSame(first: string, second: string, when: string): void {
  if (first === second) return;
  let at = 0;
  while (first[at] === second[at]) at += 1;
  const [one, two] = [first, second].map((text) => text.slice(Math.max(0, at - 20), at + 40));
  must(false, `${when} the context differs: ${JSON.stringify(one)} and ${JSON.stringify(two)}.`);
}

export const sameBytesChecks: readonly EngineCheck[] = [
  {
    id: "same.twice",
    title: "The same question twice is answered with the same bytes.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(8));
      mustBeSame(await bytes(made), await bytes(made), "Asked twice,");
    },
  },
  {
    id: "same.answered",
    title: "A context that was answered stays what it was when the next one is asked for.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const { messages } = await made.assemble({ prompt: PROMPT });
      const before = JSON.stringify(messages);
      await made.take(turn(9));
      await made.assemble({ prompt: PROMPT });
      must(
        JSON.stringify(messages) === before,
        "The messages of the first answer are others after the second.",
      );
    },
  },
  {
    id: "same.fresh",
    title: "Two engines with the same history, days apart, assemble the same bytes: no times, no random ids.",
    async run({ stage }) {
      const known = async (): Promise<string> => {
        const made = await stage();
        await made.know(turns(8));
        return await bytes(made);
      };
      mustBeSame(await known(), await withShiftedClock(DAYS_MS, known), "In another engine");
    },
  },
  {
    id: "same.compacted",
    title:
      "Two engines that compact the same history, days apart, make the same summary and the same context.",
    async run({ stage }) {
      const compacted = async (): Promise<string> => {
        const made = await stage({ tokenBudget: BUDGET });
        await made.know(turns(40));
        const answered = await made.compact();
        made.apply(answered);
        return JSON.stringify(answered.result?.summary ?? null) + (await bytes(made));
      };
      mustBeSame(await compacted(), await withShiftedClock(DAYS_MS, compacted), "After a compaction");
    },
  },
];
