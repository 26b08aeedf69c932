/** Checks of compactions, and of a native thread over restarts and resets. */
import { must, onlyIf, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { completed, mustNotShow, mustShow, mustShowOnce, newest, seamOf } from "../harness-judge.ts";
import type { HarnessStage } from "../harness-stage.ts";

/** Makes the engine compact everything before the newest turn into this text, and show it from then on. */
function compactsInto(made: HarnessStage, words: string): void {
  made.engine.compaction = () => {
    made.engine.answer = ({ messages }) => ({
      messages: [{ role: "user", content: words }, ...messages.slice(-2)],
      contextProjection: { mode: "thread_bootstrap", epoch: words, fingerprint: words },
    });
    return { ok: true, compacted: true, result: { tokensBefore: 2_000, tokensAfter: 200 } };
  };
}

async function twoTurns(made: HarnessStage): Promise<void> {
  for (const word of ["first", "second"]) {
    made.replies({ text: `The ${word} answer.` });
    await made.ask(`The ${word} question?`);
  }
}

const compactions: readonly HarnessCheck[] = [
  {
    id: "compact.queued",
    title: "A compaction between turns is the engine's, and the next turn shows the context after it.",
    needs: "compact",
    async run({ stage }) {
      const made = await stage();
      await twoTurns(made);
      compactsInto(made, "A summary of the conversation.");
      const report = await (await made.host()).compact({ cwd: made.cwd });
      must(report.compacted, `The compaction was not made: ${report.reason ?? "no reason"}.`);
      must(made.engine.of("compact").length === 1, "compact() of the engine was not called once.");
      const asked = await made.ask("The third question?");
      mustShow(
        newest(made),
        [
          ["user", "A summary of the conversation."],
          ["user", "The second question?"],
          ["assistant", "The second answer."],
          ["user", "The third question?"],
        ],
        seamOf(asked),
      );
      mustNotShow(newest(made), "The first answer.", "which the compaction took away");
    },
  },
  {
    id: "compact.overflow",
    title: "A context that the model refuses as too long is compacted by the engine, and the turn continues.",
    needs: "compact",
    async run({ stage }) {
      const made = await stage();
      await twoTurns(made);
      compactsInto(made, "A summary of the conversation.");
      const error = {
        message:
          "Your input exceeds the context window of this model. Please adjust your input and try again.",
        type: "invalid_request_error",
        param: "input",
        code: "context_length_exceeded",
      };
      // The same context stays too long, however often a program sends it.
      made.endpoint.script = () =>
        made.engine.of("compact").length === 0 ? { status: 400, errorBody: { error } } : { text: "It fits." };
      const { last, text } = await made.turn("The third question?");
      must(made.engine.of("compact").length >= 1, "compact() of the engine was not called.");
      completed(last);
      must(text === "It fits.", `The turn answered ${shown(text)}.`);
      mustShowOnce(newest(made), "A summary of the conversation.");
      mustNotShow(newest(made), "The first answer.", "which the compaction took away");
    },
  },
];

const threadCheckList: readonly HarnessCheck[] = [
  {
    id: "thread.restart",
    title: "After a restart of the host the conversation continues with all its messages, each once.",
    async run({ stage }) {
      const made = await stage();
      await twoTurns(made);
      await made.restart();
      made.replies({ text: "Fine." });
      const asked = await made.ask("After the restart?");
      mustShow(
        newest(made),
        [
          ["user", "The first question?"],
          ["assistant", "The first answer."],
          ["user", "The second question?"],
          ["assistant", "The second answer."],
          ["user", "After the restart?"],
        ],
        seamOf(asked),
      );
    },
  },
  {
    id: "thread.kept",
    title: "A native thread stays bound to its session, over turns and a restart of the host.",
    async run({ stage }) {
      const made = await stage();
      made.engine.answer = () => ({ contextProjection: { mode: "thread_bootstrap", epoch: "one" } });
      await twoTurns(made);
      const bound = await made.boundTo();
      onlyIf(bound !== undefined, "The runtime binds no thread of its own to a session.");
      await made.restart();
      await made.ask("After the restart?");
      const after = await made.boundTo();
      must(
        after === bound,
        `The session continued in the thread ${shown(after)}, and not in ${shown(bound)}.`,
      );
    },
  },
  {
    id: "thread.forgotten",
    title:
      "After a reset nothing of the earlier conversation reaches the model, and no thread of it is bound.",
    async run({ stage }) {
      const made = await stage();
      await twoTurns(made);
      await (await made.host()).renew({ reason: "reset", cwd: made.cwd });
      must((await made.boundTo()) === undefined, "The thread is still bound after the reset.");
      made.replies({ text: "Fine." });
      await made.ask("After the reset?");
      for (const words of ["The first question?", "The second answer."])
        mustNotShow(newest(made), words, "which is from before the reset");
    },
  },
];

export const threadChecks: readonly HarnessCheck[] = [...compactions, ...threadCheckList];
