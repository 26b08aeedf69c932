/** Checks of `interceptCompaction` in the in-attempt lane. */
import type { CompactionInterceptRequest } from "@pagurus/contract/engine/engine-compaction";
import { isRecord } from "@pagurus/core/data/record-fields";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { member, must, onlyIf, shown, Violation } from "../../conformance-check.ts";
import type { CheckContext, EngineCheck } from "../engine-check.ts";
import { turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold } from "../engine-judge.ts";
import type { EngineStage } from "../engine-stage.ts";

const BUDGET = 8_000;
const KEPT_TURNS = 4;
const PROMPT = "How far are we?";

interface Asked {
  made: EngineStage;
  request: CompactionInterceptRequest;
}

/** A session over its window, and a host's interception request for it. */
async function asked(
  { stage }: CheckContext,
  extra: Partial<CompactionInterceptRequest> = {},
): Promise<Asked> {
  const made = await stage({ tokenBudget: BUDGET });
  onlyIf(made.engine.info.interceptsCompaction, "The engine does not declare interceptsCompaction.");
  await made.know(turns(40));
  const context = made.transcript.context();
  const keptFrom = context.length - KEPT_TURNS * 4;
  const tokensBefore = messagesTokens(context);
  return {
    made,
    request: {
      sessionId: made.sessionId,
      sessionKey: made.sessionKey,
      sessionFile: made.transcript.file,
      contextWindow: BUDGET + 4_000,
      currentTokenCount: tokensBefore,
      firstKeptEntryId: context[keptFrom]?.entryId ?? "",
      tokensBefore,
      messages: context.slice(0, keptFrom),
      trigger: "threshold",
      backend: "embedded",
      signal: new AbortController().signal,
      ...extra,
    },
  };
}

/** Throws `Violation` for an answer that a host cannot use. */
function mustBeAnswer(answered: unknown, { made, request }: Asked): boolean {
  must(isRecord(answered), `interceptCompaction() answered ${shown(answered)}, not an object.`);
  const { handled, reason, summary, firstKeptEntryId, tokensBefore } = answered;
  if (handled === false) {
    must(typeof reason === "string" && reason !== "", "handled: false has no reason.");
    return false;
  }
  must(handled === true, `handled is ${shown(handled)}.`);
  must(
    typeof summary === "string" && summary.trim() !== "",
    `handled: true comes with the summary ${shown(summary)}.`,
  );
  const entry = made.transcript.entries.find(({ id }) => id === firstKeptEntryId);
  must(entry, `firstKeptEntryId is ${shown(firstKeptEntryId)}, which is no entry of the session.`);
  must(
    entry.type !== "message" || entry.message.role !== "toolResult",
    "The first kept entry is a tool result, separated from its call.",
  );
  must(typeof tokensBefore === "number" && tokensBefore > 0, `tokensBefore is ${shown(tokensBefore)}.`);
  const summarized = messagesTokens(request.messages);
  const tokens = messagesTokens([{ role: "user", content: summary }]);
  must(tokens < summarized, `The summary has ${tokens} tokens for ${summarized} that it replaces.`);
  return true;
}

export const interceptChecks: readonly EngineCheck[] = [
  {
    id: "intercept.answer",
    title: "An interception is answered with a summary and the first kept entry, or with a reason.",
    needs: "interceptCompaction",
    async run(context) {
      for (const trigger of ["threshold", "overflow", "manual"] as const) {
        const given = await asked(context, { trigger });
        mustBeAnswer(await member(given.made.engine, "interceptCompaction")(given.request), given);
      }
    },
  },
  {
    id: "intercept.handles",
    title: "An ordinary interception is handled: an engine that always refuses need not declare the member.",
    needs: "interceptCompaction",
    async run(context) {
      const given = await asked(context);
      const answered = await member(given.made.engine, "interceptCompaction")(given.request);
      must(mustBeAnswer(answered, given), "The engine refused an ordinary interception.");
    },
  },
  {
    id: "intercept.unknown-count",
    title: "An interception without a current token count and without a focus is answered too.",
    needs: "interceptCompaction",
    async run(context) {
      const given = await asked(context);
      const { currentTokenCount: _count, sessionKey: _key, ...request } = given.request;
      mustBeAnswer(await member(given.made.engine, "interceptCompaction")(request), given);
    },
  },
  {
    id: "intercept.messages-untouched",
    title: "The messages of an interception are not changed.",
    needs: "interceptCompaction",
    async run(context) {
      const { made, request } = await asked(context);
      const before = JSON.stringify(request.messages);
      await member(made.engine, "interceptCompaction")(request);
      must(JSON.stringify(request.messages) === before, "The messages were different after the call.");
    },
  },
  {
    id: "intercept.aborted",
    title: "An interception whose signal has fired ends at once and does not handle the compaction.",
    needs: "interceptCompaction",
    async run(context) {
      const given = await asked(context, { signal: AbortSignal.abort() });
      given.made.mustTakeSignal();
      const call = member(given.made.engine, "interceptCompaction")(given.request);
      const answered: unknown = await withDeadline(() => call, { ms: context.graceMs, label: "It" }).catch(
        (error: unknown) => error,
      );
      if ((answered as { code?: unknown }).code === "deadline_exceeded")
        throw new Violation(
          `interceptCompaction() continued for ${context.graceMs} ms after its signal fired.`,
        );
      if (answered instanceof Error) return;
      must(!mustBeAnswer(answered, given), "An aborted interception reports that it was handled.");
    },
  },
  {
    id: "intercept.usable",
    title: "After an interception that the host did not use, the context is unchanged.",
    needs: "interceptCompaction",
    async run(context) {
      const { made, request } = await asked(context);
      const before = (await made.assemble({ prompt: PROMPT })).messages;
      await member(made.engine, "interceptCompaction")(request);
      const { messages } = await made.assemble({ prompt: PROMPT });
      mustBeValid(messages);
      mustHold(before, messages, "After an interception without effect");
    },
  },
];
