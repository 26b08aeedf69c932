import { realpathSync } from "node:fs";
import { hasCheckpoints } from "../../packages/host/src/checkpoints/checkpoint-root.ts";
import { CheckpointStore } from "../../packages/host/src/checkpoints/checkpoint-store.ts";
import { until } from "../runner/until.ts";

/** Waits until the checkpoint at the start of the first turn is complete, as a model's answer takes longer. */
export async function beforeAnswer(home: string, cwd: string): Promise<void> {
  const root = realpathSync(cwd);
  await until(() => {
    if (!hasCheckpoints(home, root)) return false;
    const store = new CheckpointStore(home, root);
    try {
      return store.db.all("SELECT turn FROM turns").length > 0;
    } finally {
      store.close();
    }
  });
}
