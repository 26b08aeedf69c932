/** Checks of what the model sees in a turn, and of the turn's result. */
import { must, onlyIf, shown } from "../../conformance-check.ts";
import type { SeenRequest } from "../../endpoint/seen.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { completed, mustNotShow, mustShow, mustShowOnce, newest, seamOf } from "../harness-judge.ts";
import { OTHER_RUNTIME } from "../other-harness.ts";
import { MODEL_REF, success, TOOL, type HarnessStage } from "../harness-stage.ts";

/** Red, 8 by 8. */
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC";

/** Holds the same conversation in two sessions, with a tool call. */
async function requestsOfTwo(made: HarnessStage): Promise<readonly (readonly string[])[]> {
  made.tool = async () => success("noted under seven");
  const requests: string[][] = [];
  for (const sessionKey of ["amber", "basalt"]) {
    const from = made.endpoint.requests.length;
    const toolCalls = [{ id: "call_one", name: TOOL, arguments: { word: "quay" } }];
    made.replies({ toolCalls }, { text: "It is noted." }, { text: "All is well." });
    await made.ask("Note it.", { sessionKey });
    await made.ask("And now?", { sessionKey });
    // A program's report of a tool result is its own format and may contain a duration.
    const shownItems = ({ items }: SeenRequest) =>
      items.map((item) => (item.role === "tool" ? { ...item, text: "" } : item));
    requests.push(made.endpoint.requests.slice(from).map((request) => JSON.stringify(shownItems(request))));
  }
  return requests;
}

export const turnChecks: readonly HarnessCheck[] = [
  {
    id: "turn.answer",
    title: "A turn ends with the model's answer, in its events and in its summary.",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "The harbour is open." });
      const { last, text, events } = await made.ask("Is the harbour open?");
      const { stopReason, runtime, model } = completed(last);
      must(text === "The harbour is open.", `The turn answered ${shown(text)}.`);
      must(stopReason === "stop", `The turn ended with the stop reason ${shown(stopReason)}.`);
      must(
        runtime === made.runtime && model === MODEL_REF,
        `The turn was run by ${runtime} with ${model}, as its last event says.`,
      );
      const streamed = events.flatMap((event) => (event.type === "text.delta" ? [event.delta] : [])).join("");
      must(
        streamed === "" || streamed === text,
        `What was streamed is ${shown(streamed)}, and not the text that came of it.`,
      );
    },
  },
  {
    id: "turn.input-once",
    title: "The input reaches the model once, as the user's words, in one request.",
    async run({ stage }) {
      const made = await stage();
      const asked = await made.ask("Which quay is free?");
      must(
        made.endpoint.requests.length === 1,
        `An answer without tool calls took ${made.endpoint.requests.length} requests.`,
      );
      mustShow(newest(made), [["user", "Which quay is free?"]], seamOf(asked));
    },
  },
  {
    id: "turn.history",
    title: "Later turns show the earlier messages, in order, each once, with their roles.",
    async run({ stage }) {
      const made = await stage();
      for (const word of ["first", "second"]) {
        made.replies({ text: `The ${word} answer.` });
        await made.ask(`The ${word} question?`);
      }
      const asked = await made.ask("The third question?");
      mustShow(
        newest(made),
        [
          ["user", "The first question?"],
          ["assistant", "The first answer."],
          ["user", "The second question?"],
          ["assistant", "The second answer."],
          ["user", "The third question?"],
        ],
        seamOf(asked),
      );
    },
  },
  {
    id: "turn.other-runtime",
    title: "Turns of another runtime in between are in the next turn's context, once.",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "Answered by this one." });
      await made.ask("Asked of this one?");
      made.otherAnswer = "Answered by the other.";
      await made.ask("Asked of the other?", { runtime: OTHER_RUNTIME });
      made.replies({ text: "Fine." });
      const asked = await made.ask("And now?");
      mustShow(
        newest(made),
        [
          ["user", "Asked of this one?"],
          ["assistant", "Answered by this one."],
          ["user", "Asked of the other?"],
          ["assistant", "Answered by the other."],
          ["user", "And now?"],
        ],
        seamOf(asked),
      );
    },
  },
  {
    id: "turn.sessions-apart",
    title: "Sessions that run at the same time see nothing of each other.",
    async run({ stage }) {
      const made = await stage();
      const words = ["amber", "basalt"];
      const both = (nth: string): Promise<unknown> =>
        Promise.all(words.map((word) => made.ask(`The ${nth} ${word} question?`, { sessionKey: word })));
      await both("first");
      await both("second");
      const later = made.endpoint.requests.slice(-2);
      for (const [index, word] of words.entries()) {
        const request = later.find(({ items }) =>
          items.some(({ text }) => text.includes(`second ${word} question`)),
        );
        must(request, `No request shows the second question of the session ${word}.`);
        mustShowOnce(request, `The first ${word} question?`);
        mustNotShow(request, `${words[1 - index]} question`, "which is from another session");
      }
    },
  },
  {
    id: "turn.prompt-hook",
    title: "A hook's addition to the system prompt reaches the model once, and not as a user message.",
    async run({ stage }) {
      const made = await stage();
      made.prepended = "The hook asks for brevity.";
      const asked = await made.ask("Is it far?");
      mustShow(newest(made), [["system", "The hook asks for brevity."]], seamOf(asked));
    },
  },
  {
    id: "turn.additional-context",
    title: "Additional context reaches the model once, also when it stays the same for two turns.",
    async run({ stage }) {
      const made = await stage();
      const additionalContext = {
        page: { value: "The page shows a lighthouse.", kind: "untrusted" as const },
      };
      await made.ask("What is on it?", { additionalContext });
      mustShowOnce(newest(made), "The page shows a lighthouse.");
      await made.ask("And beside it?", { additionalContext });
      mustShowOnce(newest(made), "The page shows a lighthouse.");
    },
  },
  {
    id: "turn.image",
    title: "An image of the input reaches the model, beside its words, and stays with them.",
    async run({ stage }) {
      const made = await stage();
      const parts = [{ type: "image" as const, data: IMAGE, mimeType: "image/png" }];
      const asked = await made.ask("What is on the picture?", { parts });
      const isReported = asked.events.some(
        (event) => event.type === "context.degraded" && /image/i.test(event.reason),
      );
      onlyIf(!isReported, "The runtime says that it shows no images.");
      const images = (): number => newest(made).items.flatMap((item) => item.images ?? []).length;
      must(images() === 1, `The model saw ${images()} images; the input has one.`);
      mustShowOnce(newest(made), "What is on the picture?");
      await made.ask("Which colour?");
      // A history rendered as text has none.
      const fits = seamOf(asked) === "projection" ? images() <= 1 : images() === 1;
      must(fits, `In the next turn the model saw ${images()} images; the history has one.`);
    },
  },
  {
    id: "turn.same-bytes",
    title: "The same conversation in two sessions reaches the model as the same bytes: no ids, no times.",
    async run({ stage }) {
      const [one = [], two = []] = await requestsOfTwo(await stage());
      must(one.length === two.length, `The same turns took ${one.length} requests, then ${two.length}.`);
      for (const [index, first] of one.entries()) {
        const second = two[index] ?? "";
        let at = 0;
        while (at < first.length && first[at] === second[at]) at += 1;
        const [left, right] = [first, second].map((text) => text.slice(Math.max(0, at - 20), at + 40));
        must(
          first === second,
          `In the second session request ${index + 1} differs: ${shown(left)} and ${shown(right)}.`,
        );
      }
    },
  },
];
