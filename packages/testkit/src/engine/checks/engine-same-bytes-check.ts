/** Checks of determinism: the same history gives the same bytes, at any time and in any engine, as a provider's cache requires. */
import { must } from "../../conformance-check.ts";
import type { CheckContext, EngineCheck } from "../engine-check.ts";
import { turn, turns } from "../scripted-conversation.ts";
import { withShiftedClock } from "../shifted-clock.ts";
import type { EngineStage, StageOptions } from "../engine-stage.ts";

const PROMPT = "Which berths are free?";
const DAYS_MS = 3 * 24 * 3_600_000;
const BUDGET = 8_000;

/** The messages of the next turn's context, as sent to a model. */
async function sentBytes(made: EngineStage): Promise<string> {
  const { messages, systemPromptAddition } = await made.assemble({ prompt: PROMPT });
  // Entry ids are never sent to a model.
  const sent = messages.map(({ entryId: _id, ...message }) => message);
  return made.withoutIds(JSON.stringify({ messages: sent, systemPromptAddition }));
}

/** The same with the projection, whose epoch may be named for this session alone. */
async function requestBytes(made: EngineStage): Promise<string> {
  const { contextProjection } = await made.assemble({ prompt: PROMPT });
  return (await sentBytes(made)) + JSON.stringify(contextProjection ?? null);
}

function mustBeSame(first: string, second: string, when: string): void {
  if (first === second) return;
  let at = 0;
  while (first[at] === second[at]) at += 1;
  const [one, two] = [first, second].map((text) => text.slice(Math.max(0, at - 20), at + 40));
  must(false, `${when} the context differs: ${JSON.stringify(one)} and ${JSON.stringify(two)}.`);
}

/**
 * Runs the same work with two engines, days apart. Their answers may contain ids, raw or hashed. So the second engine first
 * gets sessions of its own, as a persistent store needs them, and where that differs the very same ids.
 */
async function mustRepeat(
  stage: CheckContext["stage"],
  options: StageOptions,
  when: string,
  work: (made: EngineStage) => Promise<string>,
): Promise<void> {
  const made = await stage(options);
  const wanted = await work(made);
  const later = (more: StageOptions): Promise<string> =>
    withShiftedClock(DAYS_MS, async () => await work(await stage({ ...options, ...more })));
  const other = await later({});
  if (other === wanted || (await later({ ids: [...made.givenIds] })) === wanted) return;
  mustBeSame(wanted, other, when);
}

export const sameBytesChecks: readonly EngineCheck[] = [
  {
    id: "same.twice",
    title: "The same question twice is answered with the same bytes.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(8));
      mustBeSame(await requestBytes(made), await requestBytes(made), "Asked twice,");
    },
  },
  {
    id: "same.answered",
    title: "A returned context stays unchanged when the next one is assembled.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const { messages } = await made.assemble({ prompt: PROMPT });
      const before = JSON.stringify(messages);
      await made.take(turn(9));
      await made.assemble({ prompt: PROMPT });
      must(
        JSON.stringify(messages) === before,
        "The messages of the first answer have changed after the second.",
      );
    },
  },
  {
    id: "same.fresh",
    title: "Two engines with the same history, days apart, assemble the same bytes: no times, no random ids.",
    run: ({ stage }) =>
      mustRepeat(stage, {}, "In another engine", async (made) => {
        await made.know(turns(8));
        return await sentBytes(made);
      }),
  },
  {
    id: "same.compacted",
    title:
      "Two engines that compact the same history, days apart, make the same summary and the same context.",
    run: ({ stage }) =>
      mustRepeat(stage, { tokenBudget: BUDGET }, "After a compaction", async (made) => {
        await made.know(turns(40));
        const answered = await made.compact();
        made.apply(answered);
        const summary = made.withoutIds(JSON.stringify(answered.result?.summary ?? null));
        return summary + (await sentBytes(made));
      }),
  },
];
