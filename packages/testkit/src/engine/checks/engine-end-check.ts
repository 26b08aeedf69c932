/** Checks of an engine's end: at shutdown and when plugins are reloaded. */
import { member, must, onlyIf, shown } from "../../conformance-check.ts";
import { childProcesses, knowsProcesses, leftProcesses } from "../../processes.ts";
import { turns } from "../scripted-conversation.ts";
import type { EngineCheck } from "../engine-check.ts";
import type { EngineStage } from "../engine-stage.ts";

/** Globals that an engine shares with everything in the process. */
const SHARED = { Object: Object.prototype, Array: Array.prototype, Promise: Promise.prototype };

/** Compacts a history and assembles once more. */
async function use(made: EngineStage): Promise<void> {
  await made.know(turns(12));
  await made.assemble();
  await made.compact();
  await made.assemble();
}

/** State of the process that an engine must not change. */
function processState(): { cwd: string; env: Record<string, string | undefined>; names: string[][] } {
  const names = Object.values(SHARED).map((prototype) => Object.getOwnPropertyNames(prototype));
  return { cwd: process.cwd(), env: { ...process.env }, names };
}

/** Restores the process for the next check and returns what had changed. */
function putBack({ cwd, env, names }: ReturnType<typeof processState>): string[] {
  const found: string[] = [];
  if (process.cwd() !== cwd) {
    found.push("the working folder");
    process.chdir(cwd);
  }
  for (const name of new Set([...Object.keys(env), ...Object.keys(process.env)])) {
    if (process.env[name] === env[name]) continue;
    found.push(`the environment variable ${name}`);
    if (env[name] === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = env[name];
  }
  for (const [index, [type, prototype]] of Object.entries(SHARED).entries())
    for (const name of Object.getOwnPropertyNames(prototype))
      if (names[index]?.includes(name) === false) {
        found.push(`${type}.prototype.${name}`);
        Reflect.deleteProperty(prototype, name);
      }
  return found;
}

export const endChecks: readonly EngineCheck[] = [
  {
    id: "end.idle",
    title: "An engine that was never used can be disposed of.",
    needs: "dispose",
    async run({ stage }) {
      await member((await stage()).engine, "dispose")();
    },
  },
  {
    id: "end.used",
    title: "An engine that was used can be disposed of, and twice is once.",
    needs: "dispose",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      await made.assemble();
      const dispose = member(made.engine, "dispose");
      await dispose();
      await dispose();
    },
  },
  {
    id: "end.apart",
    title: "Ending one instance leaves another one of the same kind working.",
    needs: "dispose",
    async run({ stage }) {
      const [first, second] = [await stage(), await stage()];
      await second.know(turns(2));
      await member(first.engine, "dispose")();
      await second.take([{ role: "user", content: "Still there?" }]);
      await second.assemble();
    },
  },
  {
    id: "end.processes",
    title: "When an engine has ended, no process of it is left.",
    async run({ stage, graceMs }) {
      onlyIf(knowsProcesses(), "This platform does not list processes.");
      const before = childProcesses();
      const made = await stage();
      await use(made);
      await made.engine.dispose?.();
      const look = (): number[] => childProcesses().filter((pid) => !before.includes(pid));
      const left = await leftProcesses("the engine", look, graceMs);
      must(left === undefined, left ?? "");
    },
  },
  {
    id: "end.surroundings",
    title:
      "An engine leaves the process unchanged: working folder, environment, the prototypes of all objects.",
    async run({ stage }) {
      const before = processState();
      try {
        const made = await stage();
        await use(made);
        await made.engine.dispose?.();
      } finally {
        const changed = putBack(before);
        must(changed.length === 0, `The engine has changed ${shown(changed)}.`);
      }
    },
  },
];
