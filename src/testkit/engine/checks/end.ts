/** The end of an engine: at shutdown and when plugins are loaded anew. */
import type { EngineCheck } from "../engine-check.ts";
import { member } from "../../check.ts";
import { turns } from "../conversation.ts";

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
    title: "Ending one instance leaves another one of the same kind at work.",
    needs: "dispose",
    async run({ stage }) {
      const [first, second] = [await stage(), await stage()];
      await second.know(turns(2));
      await member(first.engine, "dispose")();
      await second.take([{ role: "user", content: "Still there?" }]);
      await second.assemble();
    },
  },
];
