/** Checks of a successful `compact`. */
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { isRecord } from "@pagurus/core/data/record-fields";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { must, onlyIf, shown } from "../../conformance-check.ts";
import type { CheckContext, EngineCheck } from "../engine-check.ts";
import { input, round, turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold } from "../engine-judge.ts";
import { successorOf, type EngineStage } from "../engine-stage.ts";

const BUDGET = 8_000;
const PROMPT = "Continue, please.";
const FOCUS = "the repairs of the eastern lighthouse";

/** A session of more than twice the budget. */
async function full({ stage }: CheckContext): Promise<EngineStage> {
  const made = await stage({ tokenBudget: BUDGET });
  await made.know(turns(60));
  const tokens = messagesTokens(made.transcript.context());
  must(tokens > 2 * BUDGET, `The suite's history has only ${tokens} tokens.`);
  return made;
}

async function compactedStage(
  context: CheckContext,
): Promise<{ made: EngineStage; answered: CompactResult }> {
  const made = await full(context);
  const answered = await made.compact();
  onlyIf(answered.compacted, `compact() made no compaction: ${answered.reason ?? "without a reason"}`);
  return { made, answered };
}

function entryOf(made: EngineStage, id: string | undefined): TranscriptEntry | undefined {
  return made.transcript.entries.find((entry) => entry.id === id);
}

export const compactChecks: readonly EngineCheck[] = [
  {
    id: "compact.answer",
    title: "compact() reports whether it succeeded and whether it made a compaction.",
    async run(context) {
      const made = await full(context);
      const answered: unknown = await made.engine.compact(made.compactParams());
      must(isRecord(answered), `compact() answered ${shown(answered)}, not an object.`);
      const { ok, compacted: done, reason } = answered;
      must(typeof ok === "boolean" && typeof done === "boolean", `compact() answered ${shown(answered)}.`);
      must(reason === undefined || typeof reason === "string", `reason is ${shown(reason)}.`);
      must(!done || ok, "compact() reports a compaction and a failure at once.");
    },
  },
  {
    id: "compact.nothing",
    title: "compact() reports that there is nothing to compact, without an error.",
    async run({ stage }) {
      const answered = await (await stage()).compact({ force: false });
      must(
        answered.ok,
        `An empty session is answered with ok: false (${answered.reason ?? "without a reason"}).`,
      );
      must(!answered.compacted, "An empty session is reported as compacted.");
    },
  },
  {
    id: "compact.makes-room",
    title: "An engine that does not own compaction compacts a context of twice the budget on request.",
    async run(context) {
      const made = await full(context);
      onlyIf(!made.engine.info.ownsCompaction, "The engine owns compaction and decides by itself.");
      const answered = await made.compact();
      must(
        answered.compacted,
        `compact() did nothing (${answered.reason ?? "without a reason"}): no other component compacts for this engine; delegate to the runtime, or declare ownsCompaction.`,
      );
    },
  },
  {
    id: "compact.owner",
    title: "An engine that owns compaction compacts a context of twice the budget, or reports why not.",
    async run(context) {
      const made = await full(context);
      onlyIf(made.engine.info.ownsCompaction, "The engine does not own compaction.");
      const { compacted: done, reason } = await made.compact();
      must(done || (reason ?? "") !== "", "compact() made no compaction and has no reason.");
    },
  },
  {
    id: "compact.numbers",
    title: "A compaction reports the tokens before it, and fewer after it.",
    async run(context) {
      const { answered } = await compactedStage(context);
      const { tokensBefore: before, tokensAfter: after } = answered.result ?? {};
      must(typeof before === "number" && before > 0, `tokensBefore is ${shown(before)}.`);
      must(
        after === undefined || (typeof after === "number" && after >= 0 && after < before),
        `tokensAfter is ${shown(after)}, tokensBefore ${before}.`,
      );
    },
  },
  {
    id: "compact.first-kept",
    title: "A summary names the first kept entry: one on the path, and not a tool result.",
    async run(context) {
      const { made, answered } = await compactedStage(context);
      const { summary, firstKeptEntryId } = answered.result ?? {};
      onlyIf(!successorOf(answered, made.sessionId), "The compaction moves to a successor.");
      onlyIf(summary !== undefined || firstKeptEntryId !== undefined, "The engine keeps the summary itself.");
      must(typeof summary === "string" && summary.trim() !== "", `The summary is ${shown(summary)}.`);
      const entry = entryOf(made, firstKeptEntryId);
      must(entry, `firstKeptEntryId is ${shown(firstKeptEntryId)}, which is no entry of the session.`);
      must(
        entry.type !== "message" || entry.message.role !== "toolResult",
        "The first kept entry is a tool result, separated from its call.",
      );
    },
  },
  {
    id: "compact.context",
    title: "After a compaction the context is valid, smaller, and ends with the unchanged newest turn.",
    async run(context) {
      const made = await full(context);
      const before = messagesTokens((await made.assemble({ prompt: PROMPT })).messages);
      const newest = made.newestTurn();
      const answered = await made.compact();
      onlyIf(answered.compacted, `compact() made no compaction: ${answered.reason ?? "without a reason"}`);
      made.apply(answered);
      const { messages } = await made.assemble({ prompt: PROMPT });
      mustBeValid(messages);
      mustHold(newest, messages, "After a compaction");
      const after = messagesTokens(messages);
      // An engine that keeps within the budget at every call loses nothing by it.
      must(after < before || after <= BUDGET, `The context has ${after} tokens after ${before} before.`);
    },
  },
  {
    id: "compact.again",
    title: "A compaction right after another does nothing, or shrinks the context again.",
    async run(context) {
      const { made, answered } = await compactedStage(context);
      made.apply(answered);
      const again = await made.compact();
      const { tokensBefore: before, tokensAfter: after } = again.result ?? {};
      must(
        !again.compacted || after === undefined || after < Number(before),
        `The second compaction leaves ${after} of ${before} tokens.`,
      );
      made.apply(again);
      mustBeValid((await made.assemble({ prompt: PROMPT })).messages);
    },
  },
  {
    id: "compact.live-turn",
    title: "A compaction during a turn never summarizes the turn's input.",
    async run(context) {
      const made = await full(context);
      const newest = input(90);
      const turnId = made.write([newest, ...round(90, 0), ...round(90, 1)], { open: true });
      const answered = await made.compact({ force: true }, { turnId });
      const { firstKeptEntryId, splitTurnInputId } = answered.result ?? {};
      const { entries } = made.transcript;
      const inputAt = entries.findIndex((entry) => entry.turnId === turnId);
      const keptAt = entries.findIndex((entry) => entry.id === firstKeptEntryId);
      if (firstKeptEntryId !== undefined && !successorOf(answered, made.sessionId)) {
        must(
          keptAt <= inputAt || splitTurnInputId === entries[inputAt]?.id,
          "The kept part begins after the live turn's input, and splitTurnInputId does not name it.",
        );
      }
      if (firstKeptEntryId !== undefined && keptAt > inputAt) return;
      if (successorOf(answered, made.sessionId)) return;
      made.apply(answered);
      mustHold([newest], (await made.assemble({ liveTurnId: turnId })).messages, "During a turn");
    },
  },
  {
    id: "compact.focus",
    title: "A focus reaches the model that writes the summary.",
    async run(context) {
      const made = await full(context);
      await made.compact({ customInstructions: FOCUS });
      onlyIf(made.completions.length > 0, "The engine calls no model for a summary.");
      must(JSON.stringify(made.completions).includes(FOCUS), "No request to the model holds the focus.");
    },
  },
  {
    id: "compact.threshold",
    title: "A compaction to the threshold is answered as one to the budget.",
    async run(context) {
      const made = await full(context);
      const answered = await made.compact({ compactionTarget: "threshold", force: false });
      must(answered.ok, `compact() answered ok: false (${answered.reason ?? "without a reason"}).`);
      made.apply(answered);
      mustBeValid((await made.assemble({ prompt: PROMPT })).messages);
    },
  },
];
