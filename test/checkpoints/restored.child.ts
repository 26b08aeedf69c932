/** Restores a checkpoint and kills itself at a step: `node restored.child.ts <home> <root> <checkpoint> <step>`. */
import { CheckpointStore } from "../../packages/host/src/checkpoints/checkpoint-store.ts";
import { planRestore, restore } from "../../packages/host/src/checkpoints/restore.ts";

const [home = "", root = "", checkpoint = "0", stop = "0"] = process.argv.slice(2);
const store = new CheckpointStore(home, root);
let steps = 0;
restore(store, planRestore(store, Number(checkpoint)), {
  onStep: () => {
    steps += 1;
    if (steps === Number(stop)) process.kill(process.pid, "SIGKILL");
  },
});
store.close();
