/** The thread of `CheckpointThread`: one piece of work after the other. */
import { parentPort } from "node:worker_threads";
import { toPagurusError } from "@pagurus/contract/errors";
import { CheckpointStore } from "./checkpoint-store.ts";
import type { WorkReply, WorkRequest } from "./checkpoint-thread.ts";
import { doWork } from "./checkpoint-work.ts";

/** The folder of the newest work; another one is closed, since its entries take memory. */
let open: CheckpointStore | undefined;

function storeOf(home: string, root: string): CheckpointStore {
  if (open?.home === home && open.root === root && open.isInPlace()) return open;
  open?.close();
  open = undefined;
  open = new CheckpointStore(home, root);
  return open;
}

parentPort?.on("message", ({ id, home, root, work }: WorkRequest) => {
  const reply = (message: WorkReply): void => parentPort?.postMessage(message);
  try {
    const result = doWork(storeOf(home, root), work, () => reply({ id, isLong: true }));
    reply({ id, result });
  } catch (error) {
    const { code, message } = toPagurusError(error);
    reply({ id, error: { code, message } });
  }
});
