/** Checks of how an engine takes a finished turn: `commitTurn`, `afterTurn`, `ingestBatch` or `ingest`. */
import { isRecord } from "@pagurus/core/data/record-fields";
import { member, must, onlyIf, shown } from "../../conformance-check.ts";
import type { EngineCheck } from "../engine-check.ts";
import { answer, input, round, turn, turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold, mustHoldPast } from "../engine-judge.ts";

const PROMPT = "What was the last thing?";

export const settleChecks: readonly EngineCheck[] = [
  {
    id: "settle.ingest",
    title: "ingest() reports whether it took a message.",
    async run({ stage }) {
      const made = await stage();
      const answered: unknown = await made.engine.ingest(
        made.params({ message: input(1), isHeartbeat: false }),
      );
      const ok = isRecord(answered) && typeof answered["ingested"] === "boolean";
      must(ok, `ingest() answered ${shown(answered)}, without \`ingested\`.`);
    },
  },
  {
    id: "settle.ingest-batch",
    title: "ingestBatch() reports how many messages it took, at most those it received.",
    needs: "ingestBatch",
    async run({ stage }) {
      const made = await stage();
      const messages = [...turn(1)];
      const ingestBatch = member(made.engine, "ingestBatch");
      const answered: unknown = await ingestBatch(made.params({ messages, isHeartbeat: false }));
      const count = isRecord(answered) ? answered["ingestedCount"] : undefined;
      must(
        Number.isInteger(count) && Number(count) >= 0 && Number(count) <= messages.length,
        `ingestBatch() answered ${shown(answered)} for ${messages.length} messages.`,
      );
    },
  },
  {
    id: "settle.after-turn",
    title: "afterTurn() takes a completed turn.",
    needs: "afterTurn",
    async run({ stage }) {
      const made = await stage();
      const afterTurn = member(made.engine, "afterTurn");
      const turnId = made.write(turn(1));
      const messages = made.transcript.turnMessages(turnId);
      const { tokenBudget } = made;
      await afterTurn(
        made.fileParams({ messages, prePromptMessageCount: 0, isHeartbeat: false, tokenBudget }),
      );
      mustHold(messages, (await made.assemble({ prompt: PROMPT })).messages, "After the turn");
    },
  },
  {
    id: "settle.turns",
    title: "After each turn, the context holds the conversation.",
    async run({ stage }) {
      const made = await stage();
      for (const one of turns(4)) {
        await made.take(one);
        await mustHoldPast(made, PROMPT, "After a turn");
      }
    },
  },
  {
    id: "settle.twice",
    title: "The same turn offered twice is one turn in the context.",
    async run({ stage }) {
      const made = await stage();
      await made.take(turn(1));
      const turnId = await made.take(turn(2));
      await made.settle(turnId);
      await mustHoldPast(made, PROMPT, "After a turn that was offered twice");
    },
  },
  {
    id: "settle.equal-words",
    title: "Turns with equal words are different turns.",
    async run({ stage }) {
      const made = await stage();
      for (let index = 0; index < 5; index += 1) {
        await made.take([
          { role: "user", content: "yes" },
          { role: "assistant", content: [{ type: "text", text: "done" }] },
        ]);
      }
      const { messages } = await made.assemble({ prompt: PROMPT });
      mustHold(made.transcript.context(), messages, "After five turns with equal words");
    },
  },
  {
    id: "settle.lone-input",
    title: "A turn that was aborted before any answer is taken.",
    async run({ stage }) {
      const made = await stage();
      await made.take(turn(1));
      await made.take([input(2)]);
      await mustHoldPast(made, PROMPT, "After a turn without an answer");
    },
  },
  {
    id: "settle.heartbeat",
    title: "A heartbeat is taken like any turn; the earlier messages stay.",
    async run({ stage }) {
      const made = await stage();
      const before = await made.take(turn(1));
      await made.take([input(2), answer(2)], { isHeartbeat: true });
      const { messages } = await made.assemble({ prompt: PROMPT });
      mustBeValid(messages);
      mustHold(made.transcript.turnMessages(before), messages, "After a heartbeat");
    },
  },
  {
    id: "settle.messages-untouched",
    title: "The messages of a turn are not changed by taking it.",
    async run({ stage }) {
      const made = await stage();
      const turnId = made.write([input(3), ...round(3, 0, 2), answer(3)]);
      const messages = made.transcript.turnMessages(turnId);
      const before = JSON.stringify(messages);
      const commit = { ...made.commitParams(turnId), messages };
      const file = made.fileParams({ messages, prePromptMessageCount: 0, isHeartbeat: false });
      const { engine } = made;
      if (engine.commitTurn) await engine.commitTurn(commit);
      else if (engine.afterTurn) await engine.afterTurn(file);
      else if (engine.ingestBatch) await engine.ingestBatch(file);
      else for (const message of messages) await engine.ingest(made.params({ message, isHeartbeat: false }));
      must(JSON.stringify(messages) === before, "The messages were different after the call.");
    },
  },
  {
    id: "settle.commit",
    title: "commitTurn() answers `committed` for a turn, and `duplicate` for the same key again.",
    needs: "commitTurn",
    async run({ stage }) {
      const made = await stage();
      const commitTurn = member(made.engine, "commitTurn");
      for (const one of turns(2)) {
        const turnId = made.write(one);
        const first: unknown = await commitTurn(made.commitParams(turnId));
        const second: unknown = await commitTurn(made.commitParams(turnId));
        const [once, twice] = [first, second].map((value) => (isRecord(value) ? value["status"] : undefined));
        must(once === "committed", `A new turn was answered with ${shown(first)}.`);
        must(twice === "duplicate", `The same key again was answered with ${shown(second)}.`);
      }
    },
  },
  {
    id: "settle.commit-restart",
    title: "A turn that was committed before a restart is a duplicate after it.",
    needs: "commitTurn",
    async run({ stage }) {
      const made = await stage();
      const turnId = await made.take(turn(1));
      await made.restart();
      const again: unknown = await member(made.engine, "commitTurn")(made.commitParams(turnId));
      const status = isRecord(again) ? again["status"] : undefined;
      must(status === "duplicate", `After a restart the turn was answered with ${shown(again)}.`);
      await mustHoldPast(made, PROMPT, "After a restart");
    },
  },
  {
    id: "settle.live-restart",
    title: "An engine that keeps the history still has it after a restart.",
    async run({ stage }) {
      const made = await stage();
      onlyIf(made.engine.info.history === "live", "The engine receives the history with every call.");
      for (const one of turns(3)) await made.take(one);
      await made.restart();
      await mustHoldPast(made, PROMPT, "After a restart");
    },
  },
];
