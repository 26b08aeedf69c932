/** Checks of `compact` when it is aborted or its model fails: it does no harm and reports the failure. */
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { LlmComplete } from "@pagurus/contract/model";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { must, onlyIf, shown, Violation } from "../../conformance-check.ts";
import type { CheckContext, EngineCheck } from "../engine-check.ts";
import { filler, turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold } from "../engine-judge.ts";
import { scriptedModel, type EngineStage } from "../engine-stage.ts";
import { defined } from "@pagurus/core/data/defined";

const BUDGET = 8_000;
const PROMPT = "Are you still there?";

async function full({ stage }: CheckContext, llm?: LlmComplete): Promise<EngineStage> {
  const made = await stage({ tokenBudget: BUDGET, ...defined({ llm }) });
  await made.know(turns(60));
  return made;
}

/** The engine answers, with the newest turn in its context, and takes another turn. */
async function mustBeUsable(made: EngineStage, when: string): Promise<void> {
  const newest = made.newestTurn();
  const { messages } = await made.assemble({ prompt: PROMPT });
  mustBeValid(messages);
  mustHold(newest, messages, when);
  await made.take([{ role: "user", content: "A further input." }]);
}

/** Throws `Violation` when the call continues longer than an aborted call may. */
async function settled<T>(work: Promise<T>, ms: number, what: string): Promise<T | Error> {
  try {
    return await withDeadline(() => work, { ms, label: what });
  } catch (error) {
    if ((error as { code?: unknown }).code === "deadline_exceeded")
      throw new Violation(`${what} continued for ${ms} ms after its signal fired.`, { cause: error });
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** A compaction whose model fails: a throw, no compaction, or a summary whose origin is no model. */
async function withModel(context: CheckContext, llm: LlmComplete, what: string): Promise<void> {
  const made = await full(context, llm);
  const answered = await made.compact().catch((error: unknown) => error);
  onlyIf(made.completions.length > 0, "The engine calls no model for a summary.");
  if (!(answered instanceof Error)) {
    const { ok, compacted, reason, result } = answered as CompactResult;
    // OpenClaw's contract has no `origin`.
    const isOpenClaws = made.engine.info.contract === undefined;
    must(compacted || (reason ?? "") !== "", `compact() gives no reason for not compacting when ${what}.`);
    must(
      !compacted || result?.origin === "extractive" || (isOpenClaws && result?.origin === undefined),
      `compact() answered ${shown({ ok, compacted, origin: result?.origin })} when ${what}; a summary that no model made has the origin \`extractive\`.`,
    );
    const { tokensBefore: before, tokensAfter: after } = result ?? {};
    must(
      !compacted || after === undefined || after < Number(before),
      `The context grew to ${after} tokens when ${what}.`,
    );
    made.apply(answered as CompactResult);
  }
  await mustBeUsable(made, `When ${what},`);
}

async function abortedMidway(context: CheckContext): Promise<void> {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<never>();
  answered.promise.catch(() => undefined);
  try {
    const made = await full(context, () => {
      asked.resolve();
      return answered.promise;
    });
    made.mustTakeSignal();
    const before = JSON.stringify((await made.assemble({ prompt: PROMPT })).messages);
    const controller = new AbortController();
    const call = made.engine.compact(made.compactParams({ abortSignal: controller.signal }));
    const over = call.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([asked.promise, over]);
    onlyIf(made.completions.length > 0, "The engine calls no model for a summary.");
    controller.abort();
    const result = await settled(call, context.graceMs, "compact()");
    if (!(result instanceof Error)) must(!result.compacted, "An aborted compaction reports success.");
    const after = JSON.stringify((await made.assemble({ prompt: PROMPT })).messages);
    must(before === after, "The context was different after an aborted compaction.");
    await mustBeUsable(made, "After an aborted compaction");
  } finally {
    // An engine that still waits for its model would keep the process alive.
    answered.reject(new Error("The check is over."));
  }
}

export const compactFailureChecks: readonly EngineCheck[] = [
  {
    id: "compact.aborted-before",
    title: "A compaction whose signal has fired already ends at once and changes nothing.",
    async run(context) {
      const made = await full(context);
      made.mustTakeSignal();
      const before = JSON.stringify((await made.assemble({ prompt: PROMPT })).messages);
      const call = made.engine.compact(made.compactParams({ abortSignal: AbortSignal.abort() }));
      const answered = await settled(call, context.graceMs, "compact()");
      if (!(answered instanceof Error)) must(!answered.compacted, "An aborted compaction reports success.");
      const after = JSON.stringify((await made.assemble({ prompt: PROMPT })).messages);
      must(before === after, "The context was different after an aborted compaction.");
      await mustBeUsable(made, "After an aborted compaction");
    },
  },
  {
    id: "compact.aborted-midway",
    title: "A compaction that waits for its model ends soon after its signal fires, with nothing changed.",
    run: abortedMidway,
  },
  {
    id: "compact.model-fails",
    title: "A failing model costs the summary, never the session, and no other text is used as its summary.",
    run: (context) =>
      withModel(context, () => Promise.reject(new Error("503 overloaded")), "the model fails"),
  },
  {
    id: "compact.model-empty",
    title: "An empty answer counts as a failure of the model.",
    run: (context) => withModel(context, scriptedModel(""), "the model's answer is empty"),
  },
  {
    id: "compact.model-long",
    title: "A summary that is longer than the summarized messages does not replace them.",
    async run(context) {
      const long = filler(40_000);
      const made = await full(context, scriptedModel(long));
      const before = messagesTokens((await made.assemble({ prompt: PROMPT })).messages);
      const answered = await made.compact().catch((error: unknown) => error);
      onlyIf(made.completions.length > 0, "The engine calls no model for a summary.");
      if (!(answered instanceof Error)) made.apply(answered as CompactResult);
      const after = messagesTokens((await made.assemble({ prompt: PROMPT })).messages);
      must(after <= before, `The context grew from ${before} to ${after} tokens.`);
      await mustBeUsable(made, "After a summary that is too long");
    },
  },
  {
    id: "compact.after-failure",
    title: "A failed compaction can be repeated later, when the model answers again.",
    async run(context) {
      const made = await full(context, () => Promise.reject(new Error("503 overloaded")));
      const failed = await made.compact().catch((error: unknown) => error);
      onlyIf(made.completions.length > 0, "The engine calls no model for a summary.");
      onlyIf(
        failed instanceof Error || !(failed as CompactResult).compacted,
        "The engine compacts without its model when that fails.",
      );
      made.llm = scriptedModel("The user has the berths looked after.");
      const answered = await made.compact();
      must(answered.compacted, `compact() made no compaction: ${answered.reason ?? "without a reason"}`);
    },
  },
];
