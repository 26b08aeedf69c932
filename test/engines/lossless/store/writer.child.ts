/** Writes to the store of a folder until it is killed; reports each completed step on standard output. */
import { writeSync } from "node:fs";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { cursorOver } from "./fixtures.ts";
import { killedNode, killedPath, killedTurn, TURN } from "./killed.ts";

const [mode, folder] = process.argv.slice(2);
const store = openLosslessStore(folder ?? "");

function report(step: number): void {
  writeSync(1, `${step}\n`);
}

async function main(): Promise<void> {
  if (mode === "turns") {
    for (let turn = 0; ; turn++) {
      store.ingestTurn("s", killedTurn(turn));
      report(turn);
    }
  } else if (mode === "summaries") {
    store.ingestTurn("s", killedPath(50 * TURN));
    for (let step = 0; ; step++) {
      store.addNode(killedNode(step));
      store.publishFrontier("s", step, {
        nodeIds: [killedNode(step).nodeId],
        firstKeptEntryId: "k00000",
      });
      report(step);
    }
  } else if (mode === "adopt") {
    const onProgress = ({ stored }: { stored: number }): void => report(stored);
    await store.adopt("s", cursorOver(killedPath(2_000)), { onProgress });
  } else {
    store.ingestTurn("stays", killedPath(20));
    store.ingestTurn("s", killedPath(600, "secret"));
    report(0);
    await store.deleteSession(["s"]);
    report(1);
  }
  setInterval(() => undefined, 1_000);
}

await main();
