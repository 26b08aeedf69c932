/** Checks of `assemble` at the first call of a turn, for any history. */
import type { AssembleResult } from "@pagurus/contract/engine/engine-params";
import type { AgentMessage } from "@pagurus/contract/message";
import { countTokens, messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { must, shown } from "../../conformance-check.ts";
import type { EngineCheck } from "../engine-check.ts";
import { answer, input, keyOf, round, turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold, mustKeepOrder } from "../engine-judge.ts";
import type { EngineStage } from "../engine-stage.ts";

const PROMPT = "And what is the state of berth B3 now?";
/** The engine's estimate and the host's may differ by this factor; small contexts by some more tokens. */
const FACTOR = 2;
const SLACK_TOKENS = 200;
const SMALL_BUDGET = 2_000;

function tokensOf({ messages, systemPromptAddition }: AssembleResult): number {
  return messagesTokens(messages) + countTokens(systemPromptAddition ?? "");
}

function mustEstimate(answered: AssembleResult): void {
  const { estimatedTokens } = answered;
  // It is optional: without it the host uses its own count.
  if (estimatedTokens === undefined) return;
  must(
    Number.isFinite(estimatedTokens) && estimatedTokens >= 0,
    `estimatedTokens is ${shown(estimatedTokens)}, not a number of tokens.`,
  );
  const tokens = tokensOf(answered);
  const near =
    estimatedTokens <= tokens * FACTOR + SLACK_TOKENS && estimatedTokens >= tokens / FACTOR - SLACK_TOKENS;
  must(near, `estimatedTokens is ${estimatedTokens}; the host counts ${tokens}.`);
}

/** The path's own messages, whether or not the engine receives them. */
function past(stage: EngineStage): AgentMessage[] {
  return stage.transcript.context();
}

export const assembleChecks: readonly EngineCheck[] = [
  {
    id: "assemble.empty",
    title: "A session without history is assembled without messages.",
    async run({ stage }) {
      const answered = await (await stage()).assemble({ prompt: PROMPT });
      must(answered.messages.length === 0, `There are ${answered.messages.length} messages of no history.`);
      mustEstimate(answered);
    },
  },
  {
    id: "assemble.valid",
    title: "What is assembled of a history with tool calls is a list of messages that every model takes.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(6));
      mustBeValid((await made.assemble({ prompt: PROMPT })).messages);
    },
  },
  {
    id: "assemble.keeps-what-fits",
    title: "A history that fits the budget is in the context unchanged.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(6));
      mustHold(
        past(made),
        (await made.assemble({ prompt: PROMPT })).messages,
        "With enough budget for all of it,",
      );
    },
  },
  {
    id: "assemble.parts",
    title:
      "In a history that fits, images stay with the words of their message, and a failure stays a failure.",
    async run({ stage }) {
      const made = await stage();
      const image = { type: "image" as const, data: "aGFyYm91cg==", mimeType: "image/png" };
      const question = { type: "text" as const, text: "Whose ship is on this picture?" };
      const [call, result] = round(7, 0) as [AgentMessage, AgentMessage & { role: "toolResult" }];
      await made.take([
        { role: "user", content: [question, image] },
        call,
        { ...result, isError: true },
        answer(7),
      ]);
      await made.take([input(8), answer(8)]);
      const { messages } = await made.assemble({ prompt: PROMPT });
      const asked = messages.find(({ content }) => JSON.stringify(content).includes(question.text));
      must(asked, "The context lacks the words beside the image.");
      must(
        JSON.stringify(asked.content).includes(image.data),
        "The image of an earlier input is not in the context, and all of the history fits.",
      );
      const answered = messages.find(({ role }) => role === "toolResult");
      must(answered?.role === "toolResult", "The context lacks the result of the tool.");
      must(answered.isError, "The failure of a tool is in the context as a success.");
    },
  },
  {
    id: "assemble.order",
    title: "Messages keep their original order, none of them twice.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(6));
      await made.take([input(50), answer(50)]);
      mustKeepOrder(past(made), (await made.assemble({ prompt: PROMPT })).messages);
    },
  },
  {
    id: "assemble.prompt-once",
    title: "The prompt of a first call is left to the host, which adds it at the end.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const { messages } = await made.assemble({ prompt: PROMPT });
      must(!messages.some((message) => keyOf(message).includes(PROMPT)), "The prompt is among the messages.");
    },
  },
  {
    id: "assemble.without-prompt",
    title: "A call without a prompt is answered as one with a prompt.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const { messages } = await made.assemble();
      mustBeValid(messages);
      mustHold(past(made), messages, "Without a prompt,");
    },
  },
  {
    id: "assemble.plain-call",
    title: "A host that passes only the session and the messages gets an answer.",
    async run({ stage }) {
      const made = await stage();
      const { sessionId } = made;
      const answered = await made.engine.assemble({ sessionId, messages: [input(1), answer(1)] });
      must(Array.isArray(answered?.messages), `assemble() answered ${shown(answered)} without messages.`);
      mustBeValid(answered.messages);
    },
  },
  {
    id: "assemble.estimate",
    title: "estimatedTokens is near the host's own count of what was assembled.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(12));
      mustEstimate(await made.assemble({ prompt: PROMPT }));
    },
  },
  {
    id: "assemble.budget",
    title: "What is assembled is within the budget, or its estimatedTokens says that it is not.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(30));
      const answered = await made.assemble({ prompt: PROMPT, tokenBudget: SMALL_BUDGET });
      mustBeValid(answered.messages);
      mustKeepOrder(past(made), answered.messages);
      const tokens = tokensOf(answered);
      must(
        tokens <= SMALL_BUDGET || (answered.estimatedTokens ?? 0) > SMALL_BUDGET,
        `The context has ${tokens} tokens for a budget of ${SMALL_BUDGET}, and estimatedTokens says ${answered.estimatedTokens}.`,
      );
    },
  },
  {
    id: "assemble.begins",
    title: "What is assembled within a small budget begins with a user message.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(30));
      const [first] = (await made.assemble({ prompt: PROMPT, tokenBudget: SMALL_BUDGET })).messages;
      must(
        first === undefined || first.role === "user",
        `The context begins with a message of role ${first?.role}, which several providers refuse.`,
      );
    },
  },
  {
    id: "assemble.input-untouched",
    title: "The host's input messages are not changed.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const liveTurnId = made.write([input(60), ...round(60, 0)], { open: true });
      const params = made.assembleParams({ liveTurnId });
      const before = JSON.stringify(params.messages);
      await made.engine.assemble(params);
      must(JSON.stringify(params.messages) === before, "The messages were different after the call.");
    },
  },
  {
    id: "assemble.fields",
    title: "The other fields of an assembled context have the types of the contract.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const { systemPromptAddition: addition, promptAuthority, contextProjection } = await made.assemble();
      must(
        addition === undefined || typeof addition === "string",
        `systemPromptAddition is ${shown(addition)}.`,
      );
      const authorities: unknown[] = [undefined, "assembled", "preassembly_may_overflow"];
      must(authorities.includes(promptAuthority), `promptAuthority is ${shown(promptAuthority)}.`);
      if (contextProjection === undefined) return;
      const { mode, epoch, fingerprint } = contextProjection;
      must(mode === "thread_bootstrap" || mode === "per_turn", `contextProjection.mode is ${shown(mode)}.`);
      must(epoch === undefined || typeof epoch === "string", `contextProjection.epoch is ${shown(epoch)}.`);
      must(
        fingerprint === undefined || typeof fingerprint === "string",
        `contextProjection.fingerprint is ${shown(fingerprint)}.`,
      );
    },
  },
  {
    id: "assemble.sessions-apart",
    title: "Nothing of one session is in the context of another.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const { engine, tokenBudget } = made;
      const other = made.otherSession();
      const answered = await engine.assemble({ ...made.params({}), ...other, messages: [], tokenBudget });
      must(
        answered.messages.length === 0,
        `The context of a new session has ${answered.messages.length} messages of another one.`,
      );
    },
  },
  {
    id: "assemble.grows-at-end",
    title: "Between two compactions the context only grows at its end, so that a provider's cache holds.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(6));
      const before = (await made.assemble({ prompt: PROMPT })).messages.map(keyOf);
      await made.take([input(70), ...round(70, 0), answer(70)]);
      const after = (await made.assemble({ prompt: PROMPT })).messages.map(keyOf);
      const at = before.findIndex((key, index) => after[index] !== key);
      must(at < 0, `Message ${at} of ${before.length} was different after the next turn.`);
    },
  },
];
