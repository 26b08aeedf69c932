/** Checks of the host's end: no process of the runtime remains. */
import { must, onlyIf } from "../../conformance-check.ts";
import { childProcesses, knowsProcesses, leftProcesses, processesWith } from "../../processes.ts";
import type { HarnessCheck } from "../harness-check.ts";
import type { HarnessStage } from "../harness-stage.ts";

async function mustBeGone({ mark }: HarnessStage, before: readonly number[], ms: number): Promise<void> {
  const look = (): number[] => [
    ...new Set([...processesWith(mark), ...childProcesses().filter((pid) => !before.includes(pid))]),
  ];
  const left = await leftProcesses("the runtime", look, ms);
  must(left === undefined, left ?? "");
}

export const endChecks: readonly HarnessCheck[] = [
  {
    id: "end.idle",
    title: "A host whose runtime never ran a turn ends.",
    async run({ stage }) {
      const made = await stage();
      await made.facts();
      await made.restart();
    },
  },
  {
    id: "end.after-turn",
    title: "When the host ends, no process of the runtime is left.",
    async run({ stage, graceMs }) {
      onlyIf(knowsProcesses(), "This platform does not list processes.");
      const before = childProcesses();
      const made = await stage();
      await made.ask("The only question?");
      await made.restart();
      await mustBeGone(made, before, graceMs);
    },
  },
  {
    id: "end.during-turn",
    title: "A host that ends during a turn ends it, in time, and leaves no process.",
    async run({ stage, graceMs }) {
      const before = childProcesses();
      const made = await stage();
      const requested = Promise.withResolvers<void>();
      made.endpoint.script = () => {
        requested.resolve();
        return { text: "A long answer.", hangAfterChunks: 3 };
      };
      const turn = made.turn("Write a long story.");
      await requested.promise;
      const at = performance.now();
      await made.restart();
      await turn;
      const took = performance.now() - at;
      must(took < 2 * graceMs, `The host took ${Math.round(took)} ms to end.`);
      await mustBeGone(made, before, graceMs);
    },
  },
];
