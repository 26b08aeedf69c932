/** Checks of a running turn: abort and steering. */
import { must, onlyIf, shown, Violation } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { completed, countIn, lineOf, mustShowOnce, newest } from "../harness-judge.ts";
import { success, TOOL, wordsOf, type Asked, type HarnessStage } from "../harness-stage.ts";

const POLL_MS = 20;
/** Full text of an answer of which only the beginning is sent. */
const STORY = "A long answer that never comes to its end.";
/** Number of requests after which a turn that ignored its input is given up. */
const MOST_REQUESTS = 6;
/** Time before the abort of a harness that streams nothing, ms. */
const SILENT_MS = 500;
/** Longest wait for the first request: a program may have to start first, on a busy machine. The check's own deadline is shorter. */
const LONGEST_START_MS = 120_000;

async function until(condition: () => boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}

/**
 * A turn that is aborted during the model's answer; `tookMs` from the abort to its end. Throws `Violation` if it has not ended
 * within twice its limit.
 */
async function abortedTurn(
  made: HarnessStage,
  graceMs: number,
): Promise<Asked & { tookMs: number; streamed: string }> {
  made.replies({ text: STORY, chunkSize: 7, hangAfterChunks: 8 });
  const requested = made.endpoint.requests.length;
  const run = await made.start("Write a long story.");
  const overdue = Promise.withResolvers<never>();
  let at = 0;
  const abort = (): void => {
    if (at > 0) return;
    at = performance.now();
    run.abort();
    const sentence = `The turn still runs ${Math.round(2 * graceMs)} ms after its abort.`;
    setTimeout(() => overdue.reject(new Violation(sentence)), 2 * graceMs).unref();
  };
  let isOver = false;
  // Before its request there is no connection that the abort could end.
  void until(() => isOver || made.endpoint.requests.length > requested, LONGEST_START_MS).then(() =>
    setTimeout(abort, SILENT_MS),
  );
  const events: Asked["events"] = [];
  const ended = (async () => {
    for await (const event of run) {
      events.push(event);
      if (event.type === "text.delta") abort();
    }
    isOver = true;
  })();
  // The later rejection is ignored.
  overdue.promise.catch(() => undefined);
  await Promise.race([ended, overdue.promise]);
  const last = events.at(-1);
  must(last, "The turn had no events.");
  must(at > 0, `The turn ended before it was aborted: ${shown(last)}.`);
  const streamed = events.flatMap((event) => (event.type === "text.delta" ? [event.delta] : [])).join("");
  return { events, last, text: "", tookMs: performance.now() - at, streamed };
}

const aborts: readonly HarnessCheck[] = [
  {
    id: "abort.in-time",
    title: "An abort ends the turn in time, as aborted, and the connection to the model with it.",
    async run({ stage, graceMs }) {
      const made = await stage();
      const { last, tookMs } = await abortedTurn(made, graceMs);
      must(tookMs < graceMs, `The turn ended ${Math.round(tookMs)} ms after its abort.`);
      must(
        completed(last).stopReason === "aborted",
        `The turn ended with ${shown(completed(last).stopReason)}.`,
      );
      const isLeft = await until(() => made.endpoint.left > 0, graceMs);
      must(isLeft, "The connection to the model is still open.");
    },
  },
  {
    id: "abort.partial-text",
    title: "What had been streamed before an abort is kept, and the next turn shows it once.",
    async run({ stage, graceMs }) {
      const made = await stage();
      const { streamed } = await abortedTurn(made, graceMs);
      onlyIf(streamed !== "", "The harness streams no text.");
      const messages = await made.transcript();
      const kept = wordsOf(messages.find(({ role }) => role === "assistant"));
      must(kept.startsWith(streamed.trim()), `The transcript kept ${shown(kept)} of ${shown(streamed)}.`);
      made.replies({ text: "Fine." });
      await made.ask("Go on.");
      mustShowOnce(newest(made), "Write a long story.");
      mustShowOnce(newest(made), "A long");
    },
  },
  {
    id: "abort.silent",
    title: "After an abort nothing follows: no request to the model, no text that the model had not sent.",
    async run({ stage, graceMs }) {
      const made = await stage();
      const { last } = await abortedTurn(made, graceMs);
      completed(last);
      await new Promise((resolve) => setTimeout(resolve, graceMs / 2));
      const count = made.endpoint.requests.length;
      must(count <= 1, `The model had ${count} requests; the turn was aborted in its first one.`);
      const words = (await made.transcript()).flatMap((message) =>
        message.role === "assistant" ? [wordsOf(message)] : [],
      );
      must(words.length <= 1, `The transcript holds ${shown(words)} as answers to an aborted request.`);
      must(
        STORY.startsWith(words[0] ?? ""),
        `The transcript holds ${shown(words[0])}; the model never sent it.`,
      );
    },
  },
  {
    id: "abort.settles",
    title: "The engine gets an aborted turn in time; no maintenance follows.",
    needs: "after-turn",
    async run({ stage, graceMs }) {
      const made = await stage();
      const { tookMs } = await abortedTurn(made, graceMs);
      must(tookMs < graceMs, `The engine got the turn ${Math.round(tookMs)} ms after the abort.`);
      must(made.engine.of("afterTurn").length === 1, "afterTurn() was not called for the aborted turn.");
      must(made.engine.of("maintain").length === 0, "Maintenance ran after an aborted turn.");
    },
  },
];

const steering: readonly HarnessCheck[] = [
  {
    id: "steer.joins",
    title:
      "Input that comes while a tool runs joins the turn, and the model sees it once, before it answers.",
    async run({ stage }) {
      const made = await stage();
      const steer = Promise.withResolvers<() => boolean>();
      let taken = false;
      made.tool = async () => {
        taken = (await steer.promise)();
        return success("noted");
      };
      const toolCalls = [{ id: "call_one", name: TOOL, arguments: { word: "amber" } }];
      let abort = (): void => undefined;
      made.endpoint.script = (request, index) => {
        const { items } = request;
        if (index >= MOST_REQUESTS) abort();
        if (!items.some(({ callIds }) => callIds.includes("call_one"))) return { toolCalls };
        return { text: countIn(request, "Make it basalt.") > 0 ? "Basalt, then." : "It is noted." };
      };
      const { last, text } = await made.turn("Note it.", {}, (_event, run) => {
        abort = () => run.abort();
        steer.resolve(() => run.steer("Make it basalt."));
      });
      const requests = made.endpoint.requests.length;
      const isOver = requests <= MOST_REQUESTS;
      must(
        isOver,
        `The turn made ${requests} requests to the model, and none showed the input that it had taken.`,
      );
      completed(last);
      must(taken, "The turn took no input although a tool of it ran.");
      must(
        text === "Basalt, then.",
        `The turn ended with ${shown(text)}; the input did not reach the model.`,
      );
      mustShowOnce(newest(made), "Make it basalt.");
      const lines = (await made.transcript()).map(lineOf);
      must(
        lines.filter((line) => line === "user: Make it basalt.").length === 1,
        `The transcript holds ${shown(lines)}.`,
      );
    },
  },
];

export const duringChecks: readonly HarnessCheck[] = [...aborts, ...steering];
