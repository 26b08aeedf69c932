/** Checks of a turn's transcript, and of when the engine gets the finished turn. */
import { must, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { mustBeLines } from "../harness-judge.ts";
import { success, TOOL, type HarnessStage, type StageOptions } from "../harness-stage.ts";

/** Expected transcript of a turn with a tool call, and of one without. */
const CALL_LINE = `calls ${TOOL} {"word":"amber"}`;
const FIRST_TURN = ["user: Note it.", CALL_LINE, "toolResult: noted under seven", "assistant: It is noted."];
const SECOND = ["user: And now?", "assistant: All is well."];

async function twoTurns(made: HarnessStage): Promise<void> {
  made.tool = async () => success("noted under seven");
  const toolCalls = [{ id: "call_one", name: TOOL, arguments: { word: "amber" } }];
  made.replies({ toolCalls }, { text: "It is noted." }, { text: "All is well." });
  await made.ask("Note it.");
  await made.ask("And now?");
}

/** How a settle member of the engine is called for the two turns. */
function settles(member: "afterTurn" | "commitTurn", options: StageOptions): HarnessCheck["run"] {
  return async ({ stage }) => {
    const made = await stage(options);
    await twoTurns(made);
    const calls = made.engine.of(member);
    must(calls.length === 2, `${member}() was called ${calls.length} times for two turns.`);
    mustBeLines(calls[0]?.messages ?? [], FIRST_TURN, `The first ${member}()`);
    mustBeLines(calls[1]?.messages ?? [], SECOND, `The second ${member}()`);
    mustBeLines(calls[0]?.recorded ?? [], FIRST_TURN, `At the first ${member}() the transcript`);
    mustBeLines(
      calls[1]?.recorded ?? [],
      [...FIRST_TURN, ...SECOND],
      `At the second ${member}() the transcript`,
    );
    const requests = calls.map((each) => each.requests);
    must(
      requests[0] === 2 && requests[1] === 3,
      `${member}() came after ${shown(requests)} requests; the turns ended after 2 and 3.`,
    );
  };
}

export const recordChecks: readonly HarnessCheck[] = [
  {
    id: "record.transcript",
    title: "Every message of a turn is in the transcript, in order, each once.",
    async run({ stage }) {
      const made = await stage();
      await twoTurns(made);
      mustBeLines(await made.transcript(), [...FIRST_TURN, ...SECOND], "The transcript");
    },
  },
  {
    id: "record.events",
    title: "Every message of a turn but its input is an event of it, in the order of the transcript.",
    async run({ stage }) {
      const made = await stage();
      const toolCalls = [{ id: "call_one", name: TOOL, arguments: { word: "amber" } }];
      made.replies({ toolCalls }, { text: "It is noted." });
      const { events } = await made.ask("Note it.");
      const messages = events.flatMap((event) => (event.type === "message" ? [event.message] : []));
      const answered = messages.filter(({ role }) => role !== "user");
      mustBeLines(answered, [CALL_LINE, "toolResult: noted", "assistant: It is noted."], "The events");
    },
  },
  {
    id: "record.after-turn",
    title:
      "A classic engine gets each turn once, with every message of it, when the transcript has them all.",
    needs: "after-turn",
    run: settles("afterTurn", {}),
  },
  {
    id: "record.commit",
    title:
      "A durable engine gets each turn once, with every message of it, when the transcript has them all.",
    needs: "after-turn",
    run: settles("commitTurn", { durable: true }),
  },
  {
    id: "maintain.after-success",
    title: "Maintenance runs once per turn, when the engine has taken the turn.",
    needs: "maintain",
    async run({ stage }) {
      const made = await stage();
      await twoTurns(made);
      const members = made.engine.calls.map(({ member }) => member);
      const ends = members.filter((member) => member === "afterTurn" || member === "maintain");
      must(
        ends.join(" ") === "afterTurn maintain afterTurn maintain",
        `After two turns the engine had been called with ${shown(ends)}.`,
      );
    },
  },
  {
    id: "maintain.not-after-failure",
    title: "A model that refuses the request fails the turn with a reason; no maintenance follows.",
    async run({ stage }) {
      const made = await stage();
      await made.ask("The first question?");
      const before = made.engine.of("maintain").length;
      // A program may send a refused request again, with fewer of its own fields.
      made.endpoint.script = () => ({ status: 400 });
      const { last } = await made.turn("The second question?");
      must(last.type === "turn.failed", `The turn ended with ${shown(last)}, and the model had refused it.`);
      must(last.error.message.trim() !== "", "The failure has no message.");
      must(made.engine.of("maintain").length === before, "Maintenance ran after a turn that failed.");
      made.replies({ text: "Back again." });
      const { text } = await made.ask("The third question?");
      must(text === "Back again.", `The turn after the failure answered ${shown(text)}.`);
    },
  },
];
