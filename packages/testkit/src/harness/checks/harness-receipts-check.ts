/** Checks of a turn's receipts and usage. */
import type { Receipt } from "@pagurus/contract/session/receipt";
import { must, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { completed } from "../harness-judge.ts";
import { SUITE_ENGINE } from "../recording-engine.ts";
import { MODEL_REF, TOOL, type HarnessStage } from "../harness-stage.ts";

async function receiptsOf(made: HarnessStage): Promise<Receipt[]> {
  return (await made.host()).context.receipts({ sessionKey: "main" });
}

export const receiptChecks: readonly HarnessCheck[] = [
  {
    id: "receipt.request",
    title: "A turn has a receipt of its request: parts with tokens, the live input among them.",
    async run({ stage }) {
      const made = await stage();
      await made.ask("The first question?");
      await made.ask("The second question?");
      const [receipt] = await receiptsOf(made);
      must(receipt, "The turn has no receipt.");
      must(receipt.parts.length > 0, "The receipt has no parts.");
      must(
        receipt.parts.some(({ source }) => source === "live"),
        `The receipt has no live part: ${shown(receipt.parts.map(({ source }) => source))}.`,
      );
      must(
        receipt.parts.filter(({ source }) => source === "history").length >= 2,
        "The receipt does not name the history that the request held.",
      );
    },
  },
  {
    id: "receipt.each-request",
    title: "Each request of a turn has its receipt, where it can be known; the later ones extend the first.",
    async run({ stage }) {
      const made = await stage();
      const toolCalls = [{ id: "call_one", name: TOOL, arguments: { word: "amber" } }];
      made.replies({ toolCalls }, { text: "It is noted." });
      await made.ask("Note it.");
      const receipts = await receiptsOf(made);
      const requests = made.endpoint.requests.length;
      must(
        receipts.length === requests,
        `The turn has ${receipts.length} receipts for ${requests} requests to the model.`,
      );
      const [first, second] = receipts.map(({ parts }) => parts.length);
      must((first ?? 0) < (second ?? 0), "The second receipt does not name the tool's result.");
    },
  },
  {
    id: "receipt.names",
    title: "A receipt names the runtime, the engine, the model and the seam; the seam is that of the turn.",
    async run({ stage }) {
      const made = await stage();
      const { last } = await made.ask("The first question?");
      const [receipt] = await receiptsOf(made);
      must(receipt, "The turn has no receipt.");
      const { runtime, engine, model, seam } = receipt;
      const wanted = [made.runtime, SUITE_ENGINE, MODEL_REF, completed(last).seam];
      must(
        JSON.stringify([runtime, engine, model, seam]) === JSON.stringify(wanted),
        `The receipt names ${shown([runtime, engine, model, seam])}; the turn had ${shown(wanted)}.`,
      );
    },
  },
  {
    id: "usage.reported",
    title: "The usage that the model's provider reports is that of the turn and of its receipt.",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "Fine.", usage: { input: 1_234, output: 56 } });
      const { last } = await made.ask("How are you?");
      const { usage } = completed(last);
      must(
        usage.input === 1_234 && usage.output === 56 && usage.totalTokens === 1_290,
        `The turn says ${shown(usage)}; the provider had reported 1,234 tokens in and 56 out.`,
      );
      const known = (await receiptsOf(made)).flatMap((receipt) => receipt.usage ?? []);
      must(
        known.length === 1 && known[0]?.totalTokens === 1_290,
        `The receipts have the usage ${shown(known)}.`,
      );
    },
  },
  {
    id: "usage.not-invented",
    title: "Where no usage is reported there is none.",
    async run({ stage }) {
      const made = await stage();
      made.replies({ text: "Fine.", usage: null });
      const { last } = await made.ask("How are you?");
      const { usage } = completed(last);
      must(usage.totalTokens === 0, `The turn says ${shown(usage)}, and nothing was reported.`);
      const known = (await receiptsOf(made)).filter((receipt) => receipt.usage !== undefined);
      must(known.length === 0, `A receipt has the usage ${shown(known[0]?.usage)}.`);
    },
  },
];
