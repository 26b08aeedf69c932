/** Keeps a home until it is killed: `node watched.child.ts <home of the programs> <home>`. Writes a line for each event. */
import { writeSync } from "node:fs";
import { SYSTEM_CLOCK } from "../../packages/core/src/data/clock.ts";
import { KeepWatch } from "../../packages/keeper/src/keep-watch.ts";
import { Keeper } from "../../packages/keeper/src/keeper.ts";
import { keeperPlace, lockKeeper } from "../../packages/keeper/src/keeper-place.ts";

const [programs = "", home = ""] = process.argv.slice(2);
const lock = lockKeeper(home);
const keeper = Keeper.open({ place: keeperPlace(home), env: { HOME: programs }, clock: SYSTEM_CLOCK });
// The watch alone does not hold the process.
const alive = setInterval(() => undefined, 60_000);
const watch = new KeepWatch(keeper, {
  ready: () => writeSync(1, "ready\n"),
  kept: ({ events }) => {
    for (const { kind, path } of events) writeSync(1, `${kind} ${path}\n`);
  },
});
process.on("SIGTERM", () => watch.stop());
await watch.run();
clearInterval(alive);
keeper.close();
lock.release();
