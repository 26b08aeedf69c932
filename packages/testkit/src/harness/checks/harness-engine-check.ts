/** Checks of the engine's part in a turn: when it is called, and that the model sees its answer. */
import type { AgentMessage } from "@pagurus/contract/message";
import { must, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { countIn, mustNotShow, mustShow, mustShowOnce, newest, seamOf } from "../harness-judge.ts";
import { TOOL, type HarnessStage } from "../harness-stage.ts";

function head(words: string): AgentMessage {
  return { role: "user", content: words };
}

/** Starts each context with the text, in an epoch of that name. */
function inEpoch(made: HarnessStage, epoch: string, words: string): void {
  made.engine.answer = ({ messages }) => ({
    messages: [head(words), ...messages],
    contextProjection: { mode: "thread_bootstrap", epoch, fingerprint: epoch },
  });
}

const lifecycle: readonly HarnessCheck[] = [
  {
    id: "engine.bootstrap",
    title: "bootstrap() is called once for a session with a history, before the engine's first assemble().",
    needs: "bootstrap",
    async run({ stage }) {
      const made = await stage();
      await made.host("legacy");
      await made.ask("Before the engine came?");
      await made.restart();
      await made.ask("After it came?");
      await made.ask("And later?");
      const members = made.engine.calls.map(({ member }) => member).filter((member) => member !== "dispose");
      must(members[0] === "bootstrap", `The engine was called with ${shown(members.slice(0, 3))} first.`);
      must(made.engine.of("bootstrap").length === 1, "bootstrap() was called more than once.");
      mustShowOnce(newest(made), "Before the engine came?");
    },
  },
  {
    id: "engine.assemble-first",
    title: "assemble() is called in every turn, before the turn's first request to the model.",
    needs: "assemble-before-prompt",
    async run({ stage }) {
      const made = await stage();
      for (const turn of [0, 1]) {
        await made.ask(`Question ${turn}?`);
        const isAsked = made.engine.of("assemble").some(({ requests }) => requests === turn);
        must(isAsked, `In turn ${turn + 1} no assemble() came before the request to the model.`);
      }
    },
  },
  {
    id: "engine.llm",
    title: "The engine can call a model by itself while it assembles a context.",
    needs: "runtime-llm-complete",
    async run({ stage }) {
      const made = await stage();
      let answered: string | undefined;
      made.endpoint.script = ({ items }) => ({
        text: items.some(({ text }) => text.includes("Sum it up.")) ? "A short sum." : "Fine.",
      });
      made.engine.beforeAnswer = async ({ runtimeContext }) => {
        const asked = { messages: [{ role: "user" as const, content: "Sum it up." }] };
        answered = (await runtimeContext?.llm.complete(asked))?.text;
      };
      const { text } = await made.ask("How are you?");
      must(answered === "A short sum.", `The engine's model answered ${shown(answered)}.`);
      must(text === "Fine.", `The turn answered ${shown(text)}.`);
      mustNotShow(newest(made), "Sum it up.", "which is the engine's own");
    },
  },
  {
    id: "engine.assemble-fails",
    title: "When the engine fails to assemble, the input is still sent, and nothing twice.",
    needs: "assemble-before-prompt",
    async run({ stage }) {
      const made = await stage();
      await made.ask("The first question?");
      made.engine.answer = () => {
        throw new Error("no idea");
      };
      const { events } = await made.ask("The second question?");
      mustShowOnce(newest(made), "The second question?");
      must(countIn(newest(made), "The first question?") <= 1, "The model saw the history twice.");
      must(
        events.some((event) => event.type === "context.degraded" && event.stage === "assemble"),
        "No event reports that the engine failed.",
      );
    },
  },
];

const assembled: readonly HarnessCheck[] = [
  {
    id: "engine.assembled",
    title: "The model sees the assembled context, and nothing that the engine left out.",
    needs: "assemble-before-prompt",
    async run({ stage }) {
      const made = await stage();
      made.engine.answer = ({ messages }) => ({ messages: [head("A short head."), ...messages.slice(-2)] });
      for (const word of ["first", "second"]) {
        made.replies({ text: `The ${word} answer.` });
        await made.ask(`The ${word} question?`);
      }
      const asked = await made.ask("The third question?");
      mustShow(
        newest(made),
        [
          ["user", "A short head."],
          ["user", "The second question?"],
          ["assistant", "The second answer."],
          ["user", "The third question?"],
        ],
        seamOf(asked),
      );
      mustNotShow(newest(made), "The first answer.", "which the engine had left out");
    },
  },
  {
    id: "engine.untouched",
    title: "A turn does not change the messages that the engine assembled.",
    needs: "assemble-before-prompt",
    async run({ stage }) {
      const made = await stage();
      const answers: { messages: AgentMessage[]; before: string[] }[] = [];
      const kept = head("A short head.");
      made.engine.answer = (params) => {
        const messages = [kept, ...params.messages];
        answers.push({ messages, before: messages.map((message) => JSON.stringify(message)) });
        return { messages };
      };
      const toolCalls = [{ id: "call_one", name: TOOL, arguments: { word: "amber" } }];
      made.replies({ toolCalls }, { text: "It is noted." });
      await made.ask("Note it.");
      await made.ask("And now?");
      for (const { messages, before } of answers) {
        const after = messages.map((message) => JSON.stringify(message));
        const at = before.findIndex((message, index) => message !== after[index]);
        must(
          at < 0,
          `The turn changed message ${at} of the engine from ${before[at]} to ${after[at] ?? "none"}.`,
        );
        must(after.length === before.length, "The turn added messages to the engine's list.");
      }
    },
  },
  {
    id: "engine.addition",
    title: "The engine's addition to the system prompt reaches the model once in every turn.",
    needs: "assemble-before-prompt",
    async run({ stage }) {
      const made = await stage();
      made.engine.answer = () => ({ systemPromptAddition: "Speak of ships alone." });
      for (const turn of [1, 2]) {
        const asked = await made.ask(`Question ${turn}?`);
        mustShow(newest(made), [["system", "Speak of ships alone."]], seamOf(asked));
      }
    },
  },
  {
    id: "engine.addition-new",
    title: "A new addition replaces the previous one.",
    needs: "assemble-before-prompt",
    async run({ stage }) {
      const made = await stage();
      made.engine.answer = () => ({ systemPromptAddition: "Speak of ships alone." });
      await made.ask("The first question?");
      made.engine.answer = () => ({ systemPromptAddition: "Speak of quays alone." });
      await made.ask("The second question?");
      mustShowOnce(newest(made), "Speak of quays alone.");
      mustNotShow(newest(made), "Speak of ships alone.", "which the engine adds no more");
    },
  },
];

const epochs: readonly HarnessCheck[] = [
  {
    id: "epoch.begins",
    title: "An epoch's head comes before the history, each message with its role.",
    needs: "thread-bootstrap-projection",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "The first answer." });
      await made.ask("The first question?");
      inEpoch(made, "one", "The head of the first epoch.");
      const asked = await made.ask("The second question?");
      mustShow(
        newest(made),
        [
          ["user", "The head of the first epoch."],
          ["user", "The first question?"],
          ["assistant", "The first answer."],
          ["user", "The second question?"],
        ],
        seamOf(asked),
      );
    },
  },
  {
    id: "epoch.grows",
    title: "Within an epoch each request begins with the one before it, so that a provider's cache holds.",
    needs: "thread-bootstrap-projection",
    async run({ stage }) {
      const made = await stage();
      inEpoch(made, "one", "The head of the first epoch.");
      for (const turn of [1, 2, 3]) await made.ask(`Question ${turn}?`);
      for (const [index, { items }] of made.endpoint.requests.entries()) {
        const before = made.endpoint.requests[index - 1]?.items ?? [];
        const place = before.findIndex((item, at) => JSON.stringify(item) !== JSON.stringify(items[at]));
        must(
          place < 0,
          `Request ${index + 1} differs from the one before it at item ${place}: ${shown(items[place]?.text)}.`,
        );
      }
    },
  },
  {
    id: "epoch.ends",
    title: "A new epoch shows the new context, and nothing of the previous head.",
    needs: "thread-bootstrap-projection",
    async run({ stage }) {
      const made = await stage();
      inEpoch(made, "one", "The head of the first epoch.");
      made.replies({ text: "The first answer." });
      await made.ask("The first question?");
      inEpoch(made, "two", "The head of the second epoch.");
      const asked = await made.ask("The second question?");
      mustShow(
        newest(made),
        [
          ["user", "The head of the second epoch."],
          ["user", "The first question?"],
          ["assistant", "The first answer."],
          ["user", "The second question?"],
        ],
        seamOf(asked),
      );
      mustNotShow(newest(made), "The head of the first epoch.", "which is of the epoch that is over");
    },
  },
];

export const engineChecks: readonly HarnessCheck[] = [...lifecycle, ...assembled, ...epochs];
