/** Checks of the host's tools in the runtime's loop. */
import type { AgentMessage } from "@pagurus/contract/message";
import { must, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { completed, mustShowOnce, newest } from "../harness-judge.ts";
import { success, TOOL, wordsOf, type HarnessStage } from "../harness-stage.ts";

/** Multiple of the step limit after which the scripted model stops calling tools. */
const PATIENCE = 5;

function noteCall(id: string, word: string): { id: string; name: string; arguments: { word: string } } {
  return { id, name: TOOL, arguments: { word } };
}

/** Throws `Violation` unless the newest request holds the result of the call once, with this text. */
function mustHaveResult(made: HarnessStage, callId: string, words: string): void {
  const results = newest(made).items.filter(
    ({ role, callIds }) => role === "tool" && callIds.includes(callId),
  );
  must(results.length === 1, `The model saw ${results.length} results of the call ${callId}.`);
  must(
    results[0]?.text.includes(words),
    `The model saw ${shown(results[0]?.text)} as the result of ${callId}, without ${shown(words)}.`,
  );
}

/** Throws `Violation` unless the newest request holds the call of the suite's tool once, with this argument. */
function mustHaveCall(made: HarnessStage, callId: string, word: string): void {
  const items = newest(made).items.filter(
    ({ role, callIds }) => role === "assistant" && callIds.includes(callId),
  );
  must(items.length === 1, `The model saw ${items.length} times that it made the call ${callId}.`);
  const { calls = [], text = "" } = items[0] ?? {};
  must(
    calls.some((name) => name.endsWith(TOOL)),
    `The model saw ${callId} as a call of ${shown(calls)}; it was of ${TOOL}.`,
  );
  must(
    text.includes(JSON.stringify(word)),
    `The model saw ${shown(text)} as the arguments of ${callId}, without ${shown(word)}.`,
  );
}

/** Throws `Violation` unless every call has its result right after its message. */
function mustBePaired(messages: readonly AgentMessage[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      must(open.includes(message.toolCallId), `A result of ${message.toolCallId} has no call before it.`);
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    must(open.length === 0, `In the transcript the calls ${shown(open)} have no result.`);
    if (message.role === "assistant")
      open = message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
  }
  must(open.length === 0, `In the transcript the calls ${shown(open)} have no result.`);
}

/** The transcript's results of the calls with this word. */
function resultsOf(word: string, messages: readonly AgentMessage[]): string[] {
  const ids = messages.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) =>
          part.type === "toolCall" && part.arguments["word"] === word ? [part.id] : [],
        )
      : [],
  );
  return messages.flatMap((message) =>
    message.role === "toolResult" && ids.includes(message.toolCallId) ? [wordsOf(message)] : [],
  );
}

const calls: readonly HarnessCheck[] = [
  {
    id: "tools.offered",
    title: "The host's tools are offered to the model.",
    async run({ stage }) {
      const made = await stage();
      await made.ask("Which tools do you have?");
      const { tools } = newest(made);
      must(
        tools.some(({ name }) => name === TOOL),
        `The model was offered ${shown(tools.map(({ name }) => name))}, without ${TOOL}.`,
      );
    },
  },
  {
    id: "tools.round-trip",
    title:
      "A call reaches the host with its arguments, its result reaches the model, and the turn continues.",
    async run({ stage }) {
      const made = await stage();
      const received: unknown[] = [];
      made.tool = async (params) => {
        received.push(params["word"]);
        return success("noted under seven");
      };
      made.replies(
        { text: "I note it.", toolCalls: [noteCall("call_one", "amber")] },
        { text: "It is noted." },
      );
      const { text, events } = await made.ask("Note it.");
      must(
        JSON.stringify(received) === '["amber"]',
        `The tool was called with ${shown(received)}; the model called it once, with "amber".`,
      );
      mustHaveCall(made, "call_one", "amber");
      mustHaveResult(made, "call_one", "noted under seven");
      must(text === "It is noted.", `The turn answered ${shown(text)}.`);
      for (const type of ["tool.started", "tool.completed"] as const) {
        const count = events.filter((event) => event.type === type && event.toolName === TOOL).length;
        must(count === 1, `There were ${count} events ${type} for one call.`);
      }
    },
  },
  {
    id: "tools.parallel",
    title: "Two calls of one answer are both made, and the model sees both results.",
    async run({ stage }) {
      const made = await stage();
      made.tool = async ({ word }) => success(`noted ${String(word)}`);
      made.replies(
        { toolCalls: [noteCall("call_one", "amber"), noteCall("call_two", "basalt")] },
        { text: "Both are noted." },
      );
      await made.ask("Note both.");
      mustHaveResult(made, "call_one", "noted amber");
      mustHaveResult(made, "call_two", "noted basalt");
      const messages = await made.transcript();
      mustBePaired(messages);
      for (const word of ["amber", "basalt"]) {
        const results = resultsOf(word, messages);
        must(
          results.length === 1 && results[0]?.includes(`noted ${word}`),
          `The transcript has the results ${shown(results)} of the call with ${shown(word)}.`,
        );
      }
    },
  },
];

const troubles: readonly HarnessCheck[] = [
  {
    id: "tools.error",
    title: "A tool that fails is an answer to the model, and the turn continues.",
    async run({ stage }) {
      const made = await stage();
      made.tool = () => Promise.reject(new Error("the ink is dry"));
      made.replies({ toolCalls: [noteCall("call_one", "amber")] }, { text: "I could not." });
      const { text } = await made.ask("Note it.");
      mustHaveResult(made, "call_one", "the ink is dry");
      must(text === "I could not.", `The turn answered ${shown(text)}.`);
      const result = (await made.transcript()).find(({ role }) => role === "toolResult");
      must(result?.role === "toolResult" && result.isError, "The transcript has the result as a success.");
    },
  },
  {
    id: "tools.unknown",
    title: "A call of a tool that does not exist is answered with an error, and the turn continues.",
    async run({ stage }) {
      const made = await stage();
      made.replies(
        { toolCalls: [{ id: "call_one", name: "no_such_tool", arguments: {} }] },
        { text: "There is none." },
      );
      const { text } = await made.ask("Call it.");
      const results = newest(made).items.filter(({ callIds }) => callIds.includes("call_one"));
      must(
        results.some(({ role }) => role === "tool"),
        "The model saw no result of the call.",
      );
      must(text === "There is none.", `The turn answered ${shown(text)}.`);
      mustBePaired(await made.transcript());
    },
  },
  {
    id: "tools.blocked",
    title: "A call that a hook blocks is not made; the model sees why.",
    async run({ stage }) {
      const made = await stage();
      let called = false;
      made.tool = async () => {
        called = true;
        return success("noted");
      };
      made.block = (toolName) => (toolName === TOOL ? "the book is closed" : undefined);
      made.replies({ toolCalls: [noteCall("call_one", "amber")] }, { text: "Not today." });
      await made.ask("Note it.");
      must(!called, "The tool was called although a hook had blocked it.");
      mustHaveResult(made, "call_one", "the book is closed");
    },
  },
  {
    id: "tools.permission",
    title: "Permission is checked again in each turn: a refused call is not made.",
    async run({ stage }) {
      const made = await stage();
      let calls = 0;
      made.tool = async () => {
        calls += 1;
        return success("noted");
      };
      const toolCalls = [noteCall("call_one", "amber")];
      made.replies({ toolCalls }, { text: "It is noted." });
      await made.ask("Note it.");
      must(calls === 1, `The tool was called ${calls} times by a turn that may call it.`);
      made.replies({ toolCalls: [noteCall("call_two", "basalt")] }, { text: "I may not." });
      const { text } = await made.ask("Note it again.", { permission: "deny" });
      must(calls === 1, "The tool was called in a turn whose permission refuses it.");
      must(text === "I may not.", `The turn answered ${shown(text)}.`);
      const { items } = newest(made);
      const isAnswered = items.some(({ role, callIds }) => role === "tool" && callIds.includes("call_two"));
      must(isAnswered, "The model saw no result of the call that was refused.");
      mustBePaired(await made.transcript());
    },
  },
  {
    id: "tools.max-steps",
    title: "A turn whose model calls tools forever ends at its limit of model calls.",
    async run({ stage }) {
      const maxSteps = 3;
      const made = await stage({ maxSteps });
      made.endpoint.script = (_request, index) =>
        index < PATIENCE * maxSteps
          ? { toolCalls: [noteCall(`call_${index}`, "amber")] }
          : { text: "Enough." };
      const { last } = await made.ask("Note it forever.");
      const { stopReason } = completed(last);
      must(
        stopReason === "max_steps",
        `The turn made ${made.endpoint.requests.length} model calls and ended with ${shown(stopReason)}.`,
      );
      // Another program's loop may be one step further when it gets the abort.
      must(made.endpoint.requests.length <= 2 * maxSteps, "The turn continued far beyond its last step.");
      mustBePaired(await made.transcript());
    },
  },
  {
    id: "tools.abort",
    title: "An abort reaches the tool that runs, ends the turn in time and leaves no call open.",
    async run({ stage, graceMs }) {
      const made = await stage();
      let stopped = false;
      let at = 0;
      const run = Promise.withResolvers<() => void>();
      made.tool = async (_params, signal) => {
        at = performance.now();
        (await run.promise)();
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener("abort", () => resolve(), { once: true });
        });
        stopped = true;
        return success("stopped");
      };
      made.replies({ toolCalls: [noteCall("call_one", "amber")] }, { text: "Fine." });
      const { last } = await made.turn("Note it.", {}, (_event, turn) => run.resolve(() => turn.abort()));
      must(at > 0, "The tool was not called.");
      const took = performance.now() - at;
      must(took < graceMs, `The turn ended ${Math.round(took)} ms after its abort.`);
      must(stopped, "The abort did not reach the tool's signal.");
      must(completed(last).stopReason === "aborted", "The turn does not report the abort.");
      mustBePaired(await made.transcript());
      made.replies({ text: "Fine." });
      await made.ask("Go on.");
      mustShowOnce(newest(made), "Go on.");
    },
  },
];

export const toolChecks: readonly HarnessCheck[] = [...calls, ...troubles];
