/** Ending the host: nothing of the runtime is left behind. */
import { readFileSync } from "node:fs";
import { processIds } from "../../../platform/process-group.ts";
import { must, onlyIf } from "../../check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import type { HarnessStage } from "../stage.ts";

const POLL_MS = 25;

/** Children of this process, whichever part of the host has started them. */
function children(): number[] {
  return processIds().filter((pid) => {
    const stat = fileOf(pid, "stat");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parent) === process.pid && state !== "Z";
  });
}

/** Processes that were started with the environment of a stage's host, also by others that are gone. */
function marked({ mark }: HarnessStage): number[] {
  return processIds().filter((pid) => fileOf(pid, "environ").includes(mark));
}

/** Empty for a process that has ended, or that belongs to somebody else. */
function fileOf(pid: number, name: "stat" | "environ"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

async function mustBeGone(made: HarnessStage, before: readonly number[], ms: number): Promise<void> {
  const left = (): number =>
    new Set([...marked(made), ...children().filter((pid) => !before.includes(pid))]).size;
  const end = performance.now() + ms;
  while (left() > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  must(left() === 0, `${left()} processes of the runtime are left after the host has ended.`);
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
      onlyIf(processIds().length > 0, "This platform does not tell which processes there are.");
      const before = children();
      const made = await stage();
      await made.ask("The only question?");
      await made.restart();
      await mustBeGone(made, before, graceMs);
    },
  },
  {
    id: "end.during-turn",
    title: "A host that ends in the midst of a turn ends it, in time, and leaves no process.",
    async run({ stage, graceMs }) {
      const before = children();
      const made = await stage();
      const requested = Promise.withResolvers<void>();
      made.endpoint.script = () => {
        requested.resolve();
        return { text: "A long answer.", hangAfterChunks: 3 };
      };
      const turn = made.turn("Tell a long story.");
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
