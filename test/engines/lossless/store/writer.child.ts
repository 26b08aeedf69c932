/** Writes to the store of a folder until it is killed; each step that is done is told on standard output. */
import { writeSync } from "node:fs";
import { openLosslessStore } from "../../../../src/engines/lossless/store/store.ts";
import { cursorOver } from "./fixtures.ts";
import { killedNode, killedPath, killedTurn, TURN } from "./killed.ts";

const [mode, folder] = process.argv.slice(2);
const store = openLosslessStore(folder ?? "");

function tell(step: number): void {
  writeSync(1, `${step}\n`);
}

async function main(): Promise<void> {
  if (mode === "turns") {
    for (let turn = 0; ; turn++) {
      store.ingestTurn("s", killedTurn(turn));
      tell(turn);
    }
  } else if (mode === "summaries") {
    store.ingestTurn("s", killedPath(50 * TURN));
    for (let step = 0; ; step++) {
      store.addNode(killedNode(step));
      store.publishFrontier("s", step, {
        nodeIds: [killedNode(step).nodeId],
        firstKeptEntryId: "k00000",
      });
      tell(step);
    }
  } else if (mode === "adopt") {
    const onProgress = ({ stored }: { stored: number }): void => tell(stored);
    await store.adopt("s", cursorOver(killedPath(2_000)), { onProgress });
  } else {
    store.ingestTurn("stays", killedPath(20));
    store.ingestTurn("s", killedPath(600, "secret"));
    tell(0);
    await store.deleteSession(["s"]);
    tell(1);
  }
  setInterval(() => undefined, 1_000);
}

await main();
