/** A process that starts children in a folder: `<folder> <point>`; it prints `here` at the point and stays there. */
import { writeSync } from "node:fs";
import { Setting, untilAborted } from "./setting.ts";

const [root = "", point = ""] = process.argv.slice(2);

/** Blocks the whole process, as a kill in the middle of a synchronous step would find it. */
function stay(): void {
  writeSync(1, "here\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const setting: Setting = new Setting(
  { after: () => undefined },
  {
    engine: {
      prepareSubagentSpawn: () => {
        if (point === "prepare") stay();
        return Promise.resolve(undefined);
      },
      onSubagentEnded: () => {
        if (point === "tell") stay();
        return Promise.resolve();
      },
    },
    script: ({ signal, say }) => {
      if (point === "run") stay();
      if (point === "race") return untilAborted(signal);
      return say("done");
    },
  },
  root,
);
const create = setting.store.create.bind(setting.store);
setting.store.create = (key, options) => {
  const record = create(key, options);
  if (point === "created") stay();
  return record;
};

if (point === "race") {
  const spawns = Array.from({ length: 6 }, () => setting.subagents.spawn({ task: "x" }));
  const settled = await Promise.allSettled(spawns);
  const started = settled.filter(({ status }) => status === "fulfilled").length;
  writeSync(1, `started ${started}\n`);
  setInterval(() => undefined, 1_000);
} else {
  await (
    await setting.subagents.spawn({ task: "x" })
  ).ended;
}
