/** Checks of `maintain` and its rewrites. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { RewriteRequest } from "@pagurus/contract/engine/runtime-context";
import { isRecord } from "@pagurus/core/data/record-fields";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { must, onlyIf, shown, Violation } from "../../conformance-check.ts";
import type { CheckContext, EngineCheck } from "../engine-check.ts";
import { answer, input, round, turns } from "../scripted-conversation.ts";
import { mustBeValid } from "../engine-judge.ts";
import type { EngineStage } from "../engine-stage.ts";

const LARGE_TOKENS = 5_000;
const PROMPT = "Anything to tidy up?";

/** A session with large old tool results, which engines like to rewrite. */
async function cluttered({ stage }: CheckContext): Promise<EngineStage> {
  const made = await stage();
  const large = [10, 11, 12].map((index) => [
    input(index),
    ...round(index, 0, 2, LARGE_TOKENS),
    answer(index),
  ]);
  await made.know([...large, ...turns(6)]);
  return made;
}

function mustBeResult(answered: unknown): asserts answered is Record<string, unknown> {
  must(isRecord(answered), `maintain() answered ${shown(answered)}, not an object.`);
  const { changed, bytesFreed, rewrittenEntries, reason } = answered;
  must(typeof changed === "boolean", `changed is ${shown(changed)}.`);
  for (const [name, value] of Object.entries({ bytesFreed, rewrittenEntries }))
    must(Number.isInteger(value) && Number(value) >= 0, `${name} is ${shown(value)}.`);
  must(reason === undefined || typeof reason === "string", `reason is ${shown(reason)}.`);
  must(
    changed || rewrittenEntries === 0,
    `Nothing changed, but ${shown(rewrittenEntries)} entries were rewritten.`,
  );
}

function mustBeRewrite(made: EngineStage, { entryId, message }: RewriteRequest): void {
  const entry = made.transcript.entries.find(({ id }) => id === entryId);
  must(entry?.type === "message", `The rewrite names ${shown(entryId)}, which is no message of the session.`);
  must(
    message?.role === entry.message.role,
    `A message of ${entry.message.role} is to be rewritten as one of ${shown(message?.role)}.`,
  );
  const [calls, before] = [message, entry.message].map(firstCallId);
  must(calls === before, `The rewrite of ${entryId} has other tool calls than the message before it.`);
}

function firstCallId(message: AgentMessage | undefined): string {
  if (message?.role === "toolResult") return message.toolCallId;
  if (message?.role !== "assistant") return "";
  return message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : [])).join(" ");
}

export const maintainChecks: readonly EngineCheck[] = [
  {
    id: "maintain.answer",
    title: "maintain() reports whether it changed anything, and how much.",
    needs: "maintain",
    async run(context) {
      mustBeResult(await (await cluttered(context)).maintain());
    },
  },
  {
    id: "maintain.empty",
    title: "maintain() finds nothing to do in an empty session.",
    needs: "maintain",
    async run({ stage }) {
      const answered: unknown = await (await stage()).maintain();
      mustBeResult(answered);
      must(!answered["changed"], "An empty session is reported as changed.");
    },
  },
  {
    id: "maintain.without-rewriting",
    title: "maintain() works with a host that offers no rewriting.",
    needs: "maintain",
    async run(context) {
      const made = await cluttered(context);
      const answered: unknown = await made.engine.maintain?.(made.fileParams({}));
      mustBeResult(answered);
      must(
        answered["rewrittenEntries"] === 0,
        `It claims ${shown(answered["rewrittenEntries"])} rewritten entries.`,
      );
    },
  },
  {
    id: "maintain.rewrites",
    title:
      "Rewrites name messages of the session, keep their roles and tool calls, and are counted as the host did.",
    needs: "maintain",
    async run(context) {
      const made = await cluttered(context);
      const answered: unknown = await made.maintain();
      mustBeResult(answered);
      onlyIf(made.rewrites.length > 0, "The engine rewrites nothing.");
      for (const rewrite of made.rewrites) mustBeRewrite(made, rewrite);
      const ids = made.rewrites.map(({ entryId }) => entryId);
      must(new Set(ids).size === ids.length, "An entry is to be rewritten twice.");
      must(
        answered["rewrittenEntries"] === ids.length,
        `The host rewrote ${ids.length} entries; maintain() says ${shown(answered["rewrittenEntries"])}.`,
      );
    },
  },
  {
    id: "maintain.refused",
    title: "Rewrites that the host refuses are not reported as done.",
    needs: "maintain",
    async run(context) {
      const made = await cluttered(context);
      const refusal = { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason: "a turn is running" };
      const answered: unknown = await made.maintain(refusal);
      onlyIf(made.rewrites.length > 0, "The engine rewrites nothing.");
      mustBeResult(answered);
      must(
        answered["rewrittenEntries"] === 0,
        `It claims ${shown(answered["rewrittenEntries"])} rewritten entries.`,
      );
    },
  },
  {
    id: "maintain.aborted",
    title: "A maintenance whose signal has fired ends at once, and the context is complete after it.",
    needs: "maintain",
    async run(context) {
      const made = await cluttered(context);
      made.mustTakeSignal();
      const call = made.maintain(undefined, AbortSignal.abort()).then(
        () => true,
        () => true,
      );
      const ended = await withDeadline(() => call, { ms: context.graceMs, label: "maintain()" }).catch(
        () => false,
      );
      if (!ended)
        throw new Violation(`maintain() continued for ${context.graceMs} ms after its signal fired.`);
      mustBeValid((await made.assemble({ prompt: PROMPT })).messages);
    },
  },
];
