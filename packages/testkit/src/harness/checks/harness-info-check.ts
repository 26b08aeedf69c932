/** Checks of a harness's description of itself. */
import type { HostCapability } from "@pagurus/contract/engine/engine";
import type { Seam } from "@pagurus/contract/session/receipt";
import { must, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { MODEL_REF } from "../harness-stage.ts";

const SEAMS: ReadonlySet<string> = new Set<Seam>(["embedded", "thread", "wire", "projection"]);
const EXECUTIONS = /^(?:in-process|child-process|external)\b/;
const CAPABILITIES: Record<HostCapability, true> = {
  bootstrap: true,
  "assemble-before-prompt": true,
  "after-turn": true,
  maintain: true,
  compact: true,
  "runtime-llm-complete": true,
  "thread-bootstrap-projection": true,
};

export const infoChecks: readonly HarnessCheck[] = [
  {
    id: "info.identity",
    title:
      "The harness declares a name, where its loop runs, and the seam by which the context reaches the model.",
    async run({ stage }) {
      const { label, execution, seam } = await (await stage()).facts();
      must(typeof label === "string" && label.trim() !== "", "The harness has no label.");
      must(EXECUTIONS.test(execution), `The execution ${shown(execution)} is none that the contract knows.`);
      must(SEAMS.has(seam), `The seam ${shown(seam)} is none that the contract knows.`);
    },
  },
  {
    id: "info.capabilities",
    title: "Each capability that is declared is one that an engine can ask for, and is declared once.",
    async run({ stage }) {
      const { capabilities } = await (await stage()).facts();
      const unknown = capabilities.filter((capability) => !Object.hasOwn(CAPABILITIES, capability));
      must(unknown.length === 0, `No engine can ask for the capabilities ${shown(unknown)}.`);
      must(
        new Set(capabilities).size === capabilities.length,
        `A capability is declared twice: ${shown(capabilities)}.`,
      );
    },
  },
  {
    id: "info.supports",
    title:
      "The harness can run a model of the configuration here and now, or gives the reason in one sentence.",
    async run({ stage }) {
      const { runs } = await (await stage()).facts();
      must(runs.supported, `The harness does not run ${MODEL_REF}: ${runs.reason ?? "it gives no reason"}`);
    },
  },
];
