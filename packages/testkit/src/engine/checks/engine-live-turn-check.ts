/** Checks of `assemble` during a turn: the messages end with the live turn, and there is no prompt. */
import type { AgentMessage } from "@pagurus/contract/message";
import { must } from "../../conformance-check.ts";
import type { EngineCheck } from "../engine-check.ts";
import { filler, input, keyOf, round, turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold, mustKeepOrder } from "../engine-judge.ts";
import type { EngineStage } from "../engine-stage.ts";

const HUGE_TOKENS = 40_000;

async function midTurn(
  made: EngineStage,
  live: AgentMessage[],
  tokenBudget?: number,
): Promise<AgentMessage[]> {
  const liveTurnId = made.write(live, { open: true });
  const budget = tokenBudget === undefined ? {} : { tokenBudget };
  return (await made.assemble({ liveTurnId, ...budget })).messages;
}

export const liveTurnChecks: readonly EngineCheck[] = [
  {
    id: "live.input",
    title: "The newest input of a user is never left out, also over the budget.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(30));
      const newest = input(80);
      mustHold([newest], await midTurn(made, [newest, ...round(80, 0)], 2_000), "During a turn");
    },
  },
  {
    id: "live.whole",
    title: "A live turn that fits is complete, at the end, after the history.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(4));
      const live = [input(81), ...round(81, 0), ...round(81, 1)];
      const messages = await midTurn(made, live);
      mustBeValid(messages);
      mustHold([...made.transcript.context()], messages, "During a turn");
      const end = messages.slice(-live.length).map(keyOf);
      must(
        JSON.stringify(end) === JSON.stringify(live.map(keyOf)),
        "The context does not end with the messages of the live turn.",
      );
    },
  },
  {
    id: "live.parallel-calls",
    title: "The results of parallel tool calls stay beside their calls.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const live = [input(82), ...round(82, 0, 5), ...round(82, 1, 3)];
      const messages = await midTurn(made, live);
      mustBeValid(messages);
      mustKeepOrder(made.transcript.context(), messages);
      mustHold(live, messages, "With parallel calls");
    },
  },
  {
    id: "live.large-result",
    title: "A very large tool result leaves a valid context with the input and the call.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const [call, result] = round(83, 0) as [AgentMessage, AgentMessage];
      const huge = { ...result, content: [{ type: "text", text: filler(HUGE_TOKENS) }] } as AgentMessage;
      const messages = await midTurn(made, [input(83), call, huge], HUGE_TOKENS / 2);
      mustBeValid(messages);
      mustHold([input(83)], messages, "With a large tool result");
    },
  },
  {
    id: "live.images",
    title: "Non-text parts, images and thinking, pass through unchanged.",
    async run({ stage }) {
      const made = await stage();
      const image = { type: "image" as const, data: "aGFyYm91cg==", mimeType: "image/png" };
      const live: AgentMessage[] = [
        { role: "user", content: [{ type: "text", text: "What is in this picture?" }, image] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "A harbour.", signature: "opaque" },
            { type: "toolCall", id: "call_image", name: "read_file", arguments: {} },
          ],
        },
        {
          role: "toolResult",
          toolCallId: "call_image",
          toolName: "read_file",
          content: [image],
          isError: false,
        },
      ];
      const messages = await midTurn(made, live);
      mustBeValid(messages);
      const parts = JSON.stringify(live.map(({ content }) => content));
      must(
        JSON.stringify(messages.slice(-live.length).map(({ content }) => content)) === parts,
        "The parts of the live turn have changed.",
      );
    },
  },
  {
    id: "live.each-call",
    title: "Assembled at every call of a turn, the context has all rounds so far.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const first = [input(84), ...round(84, 0)];
      const liveTurnId = made.write(first, { open: true });
      mustHold(first, (await made.assemble({ liveTurnId })).messages, "At the second call");
      const second = round(84, 1);
      for (const message of second) made.transcript.append({ type: "message", turnId: liveTurnId, message });
      const { messages } = await made.assemble({ liveTurnId });
      mustBeValid(messages);
      mustHold([...first, ...second], messages, "At the third call");
      mustKeepOrder(made.transcript.context(), messages);
    },
  },
  {
    id: "live.steering",
    title: "Input added during a turn stays at its place.",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const live = [input(86), ...round(86, 0), input(87), ...round(86, 1), input(88)];
      const messages = await midTurn(made, live);
      mustBeValid(messages);
      mustKeepOrder(made.transcript.context(), messages);
      mustHold(live, messages, "With input during a turn");
    },
  },
];
