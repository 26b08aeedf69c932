/** Checks of a session that had a history before the engine saw it. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { isRecord } from "@pagurus/core/data/record-fields";
import { must, shown } from "../../conformance-check.ts";
import type { EngineCheck } from "../engine-check.ts";
import { turn, turns } from "../scripted-conversation.ts";
import { mustHoldPast } from "../engine-judge.ts";
import type { EngineStage } from "../engine-stage.ts";

const PROMPT = "What do you know?";

function write(made: EngineStage, count: number): void {
  for (const one of turns(count)) made.write(one);
}

export const bootstrapChecks: readonly EngineCheck[] = [
  {
    id: "bootstrap.answer",
    title: "bootstrap() reports whether it took over the session, with a count or a reason.",
    needs: "bootstrap",
    async run({ stage }) {
      const made = await stage();
      write(made, 4);
      const answered: unknown = await made.bootstrap();
      must(isRecord(answered), `bootstrap() answered ${shown(answered)}, not an object.`);
      const { bootstrapped, importedMessages: count, reason } = answered;
      must(
        typeof bootstrapped === "boolean",
        `bootstrap() answered ${shown(answered)}, without \`bootstrapped\`.`,
      );
      must(
        count === undefined || (Number.isInteger(count) && Number(count) >= 0),
        `importedMessages is ${shown(count)}.`,
      );
      must(reason === undefined || typeof reason === "string", `reason is ${shown(reason)}.`);
    },
  },
  {
    id: "bootstrap.history",
    title: "After bootstrap() the context holds the earlier messages.",
    needs: "bootstrap",
    async run({ stage }) {
      const made = await stage();
      write(made, 5);
      await made.bootstrap();
      await mustHoldPast(made, PROMPT, "After bootstrap()");
    },
  },
  {
    id: "bootstrap.twice",
    title: "A second bootstrap() of the same session adds nothing.",
    needs: "bootstrap",
    async run({ stage }) {
      const made = await stage();
      write(made, 4);
      await made.bootstrap();
      const before = JSON.stringify((await made.assemble({ prompt: PROMPT })).messages);
      await made.bootstrap();
      const after = JSON.stringify((await made.assemble({ prompt: PROMPT })).messages);
      must(before === after, "The context was different after the second bootstrap().");
    },
  },
  {
    id: "bootstrap.then-turns",
    title: "Turns after bootstrap() join the history, each once.",
    needs: "bootstrap",
    async run({ stage }) {
      const made = await stage();
      write(made, 3);
      await made.bootstrap();
      await made.take(turn(30));
      await made.take(turn(31));
      await mustHoldPast(made, PROMPT, "After bootstrap() and two turns");
    },
  },
  {
    id: "bootstrap.missing-file",
    title: "A missing transcript file makes bootstrap() fail or import nothing; the engine stays usable.",
    needs: "bootstrap",
    async run({ stage }) {
      const made = await stage();
      rmSync(made.transcript.file);
      const answered: unknown = await made.bootstrap().catch((error: unknown) => error);
      const fine =
        answered instanceof Error || (isRecord(answered) && (answered["importedMessages"] ?? 0) === 0);
      must(fine, `bootstrap() answered ${shown(answered)} for a missing file.`);
      const { messages } = await made.assemble({ prompt: PROMPT });
      must(messages.length === 0, `The context of an empty session has ${messages.length} messages.`);
    },
  },
  {
    id: "bootstrap.file-untouched",
    title: "The host's transcript file keeps its bytes, whatever the engine is called with.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const before = existsSync(made.transcript.file) && readFileSync(made.transcript.file, "utf8");
      await made.assemble({ prompt: PROMPT });
      await made.engine.maintain?.(made.fileParams({}));
      await made.compact();
      const after = existsSync(made.transcript.file) && readFileSync(made.transcript.file, "utf8");
      must(before !== false && before === after, "The transcript file has other bytes than before.");
    },
  },
];
