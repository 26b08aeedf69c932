/** Runs one operation on the store of a folder, and reports its end; `kill-at.hook.ts` kills it before that. */
import { statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { rebuildStore } from "../../../../packages/lossless/src/command/rebuild.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import { openSessionStore } from "../../../../packages/host/src/stores/files/session-store.ts";
import { cursorOver } from "../store/fixtures.ts";
import { killedNode, killedPath, killedTurn, TURN } from "../store/killed.ts";
import { KILLED_ENTRIES } from "./kill-plan.ts";

const [mode = "", folder = ""] = process.argv.slice(2);

const MODES: Record<string, (store: LosslessStore) => unknown> = {
  index: (store) => store.indexed(),
  adopt: (store) => store.adopt("s", cursorOver(killedPath(KILLED_ENTRIES))),
  delete: (store) => store.deleteSession(["s"]),
  // An interrupted deletion continues by itself when the store is opened; checks run after it.
  scrub: (store) => store.verify(),
  backup: (store) => store.backup(killedWhileWritten(join(folder, "..", "backup.db"))),
  turn: (store) => store.ingestTurn("s", killedTurn(KILLED_ENTRIES / TURN)),
  summary: (store) =>
    store.transaction(() => {
      store.addNode(killedNode(7));
      store.publishFrontier("s", 0, { nodeIds: ["n7"], firstKeptEntryId: "k00008" });
    }),
  ledger: (store) => {
    const span = { firstEntryId: "k00000", lastEntryId: "k00003" };
    store.putDebt({ debtId: "d", sessionId: "s", ...span, attempts: 1, nextAt: 5 });
    store.takeLease({ leaseId: "l", owner: "one", now: 1, ttlMs: 5, sessionId: "s" });
    store.pin("s", { entryId: "k00001", pinnedAt: 3 });
    store.setSessionState("s", { keys: ["one"] });
  },
};

/** SQLite copies a file outside of countable statements: checks the copy at each turn of the event loop. */
function killedWhileWritten(file: string): string {
  const [, looks = "1"] = (process.env["KILL_AT"] ?? "").split(":");
  let seen = 0;
  const look = (): void => {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) seen += 1;
    if (seen >= Number(looks)) process.kill(process.pid, "SIGKILL");
    setImmediate(look);
  };
  look();
  return file;
}

/** As `pagurus lossless rebuild`, which opens the stores itself. */
async function rebuild(): Promise<void> {
  const transcripts = openSessionStore({ agentDir: folder, agentId: "main" });
  await rebuildStore({ agentDir: folder, config: {}, transcripts });
  transcripts.close();
}

writeSync(1, "begun\n");
if (mode === "rebuild") await rebuild();
else await MODES[mode]?.(openLosslessStore(folder));
writeSync(1, "done\n");
process.exit(0);
