/** Checks of one start of the program: what the model sees, what the user sees, and what is left. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { must, onlyIf, shown } from "../../conformance-check.ts";
import { knowsProcesses } from "../../processes.ts";
import { mustShow } from "../../harness/harness-judge.ts";
import type { ProgramCheck } from "../program-check.ts";
import type { ProgramStage } from "../program-stage.ts";
import type { SeenRequest } from "../../endpoint/seen.ts";

const POLL_MS = 50;
/** Prints "barge-42-x", which is not in the command itself. Gemini CLI refuses whatever has "$(" in it. */
export const PRINT_BARGE = "printf 'barge-%d-x' 0x2a";

/** The newest request of the conversation. Throws `Violation` without one. */
export function newestOf({ mains }: ProgramStage): SeenRequest {
  const request = mains.at(-1);
  must(request, "No request of the conversation reached the model.");
  return request;
}

export const programStartChecks: readonly ProgramCheck[] = [
  {
    id: "start.answer",
    title: "A start with a prompt prints the model's answer and ends with success.",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "The harbour is open." });
      const { output } = await made.ask("Is the harbour open?");
      must(output.includes("The harbour is open."), `The program printed ${shown(output.slice(-200))}.`);
    },
  },
  {
    id: "start.input-once",
    title: "The prompt reaches the model once, as the user's words, in one request.",
    async run({ stage }) {
      const made = await stage();
      await made.ask("Which quay is free?");
      must(made.mains.length === 1, `An answer without tool calls took ${made.mains.length} requests.`);
      mustShow(newestOf(made), [["user", "Which quay is free?"]], made.recipe.seam);
    },
  },
  {
    id: "start.tools",
    title: "A call of its shell is made, its result reaches the model, and the turn continues.",
    async run({ stage }) {
      const made = await stage();
      const call = made.recipe.call(`${PRINT_BARGE} > berth.txt; cat berth.txt`);
      made.replies({ toolCalls: [{ id: "call_one", ...call }] }, { text: "It is moored." });
      const { output } = await made.ask("Moor the barge.");
      const written = attempt(() => readFileSync(join(made.cwd, "berth.txt"), "utf8").trim());
      must(written === "barge-42-x", `The command of the call wrote ${shown(written ?? "nothing")}.`);
      must(made.mains.length === 2, `A turn with one call took ${made.mains.length} requests.`);
      const result = newestOf(made).items.find(({ role }) => role === "tool");
      must(result?.text.includes("barge-42-x"), `The model saw the result ${shown(result?.text ?? "none")}.`);
      must(output.includes("It is moored."), `The program printed ${shown(output.slice(-200))}.`);
    },
  },
  {
    id: "start.refused",
    title: "A request that the model refuses is reported to the user, and the next start continues.",
    async run({ stage }) {
      const made = await stage();
      await made.ask("The first question?");
      const before = made.mains.length;
      made.replies(...Array.from({ length: 9 }, () => ({ status: 400 })));
      const { output } = await made.prompt("The second question?");
      must(made.mains.length > before, "The second prompt was not sent to the model.");
      must(output.includes("scripted status 400"), `The program printed ${shown(output.slice(-300))}.`);
      made.replies({ text: "Back again." });
      const next = await made.ask("The third question?");
      must(next.output.includes("Back again."), `The next start printed ${shown(next.output.slice(-200))}.`);
      const wanted = [["user", "The first question?"] as const, ["user", "The third question?"] as const];
      mustShow(newestOf(made), wanted, made.recipe.seam);
    },
  },
  {
    id: "start.interrupted",
    title: "An interrupt ends the start and its request, and the next start continues.",
    async run({ stage, graceMs }) {
      const made = await stage();
      await made.ask("The first question?");
      const before = made.mains.length;
      made.replies({ text: "A long answer about the tides.", hangAfterChunks: 3 });
      const running = made.prompt("The second question?");
      const end = performance.now() + graceMs * 5;
      while (made.mains.length === before && performance.now() < end) await pause(POLL_MS);
      must(made.mains.length > before, "The second prompt was not sent to the model.");
      await made.interrupt();
      const left = made.left(graceMs);
      await running;
      const sentence = await left;
      must(sentence === undefined, sentence ?? "");
      must(made.endpoint.left > 0, "The request to the model stayed open.");
      await made.ask("The third question?");
      const wanted = [["user", "The first question?"] as const, ["user", "The third question?"] as const];
      mustShow(newestOf(made), wanted, made.recipe.seam);
    },
  },
  {
    id: "start.ends",
    title: "No process of a start is left after it.",
    async run({ stage, graceMs }) {
      onlyIf(knowsProcesses(), "This platform does not list processes.");
      const made = await stage();
      await made.ask("The only question?");
      const sentence = await made.left(graceMs);
      must(sentence === undefined, sentence ?? "");
    },
  },
];

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
