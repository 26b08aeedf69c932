/** The scripted model of the long runs detects invalid requests: a check that never fails proves nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordedRequest } from "../../servers/script.ts";
import { Conversation } from "./conversation.ts";
import { answerOf, berthCode, callsOf, inputOf, resultOf, ORDER_CODE } from "./words.ts";

type Message = Record<string, unknown>;

const SYSTEM = { role: "system", content: "You keep the log." };
const SHAPE = "one-turn";
const input = (turn: number): Message => ({ role: "user", content: inputOf(SHAPE, turn) });
const answer = (turn: number): Message => ({ role: "assistant", content: answerOf(SHAPE, turn) });
const summary = (text: string): string => `<conversation_summary>\n${text}\n</conversation_summary>`;

function called(turn: number): Message {
  const calls = callsOf(SHAPE, turn, 0).map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return { role: "assistant", content: null, tool_calls: calls };
}

function result(turn: number): Message {
  return { role: "tool", tool_call_id: `call_${turn}_0_0`, content: resultOf(SHAPE, `${turn}-0-0`) };
}

const turn = (number: number): Message[] => [input(number), called(number), result(number), answer(number)];

function ask(conversation: Conversation, messages: Message[], more: Message = {}): void {
  const tools = [{ type: "function", function: { name: "gauge_log" } }];
  const body = { messages: [SYSTEM, ...messages], tools, max_tokens: 100, ...more };
  const request: RecordedRequest = { method: "POST", path: "/", headers: {}, body, text: "" };
  conversation.reply(request);
}

function summarize(conversation: Conversation): string {
  const messages = [{ role: "user", content: `The transcript, under ${ORDER_CODE}.` }];
  const body = { messages, max_tokens: 100 };
  return conversation.reply({ method: "POST", path: "/", headers: {}, body, text: "" }).text ?? "";
}

/** A conversation after its first turns, with its messages in order. */
function after(turns: number, bias = 1): { conversation: Conversation; log: Message[] } {
  const conversation = new Conversation({
    protocol: "openai-completions",
    shape: SHAPE,
    window: 2_000,
    bias,
    intercepts: false,
  });
  const log: Message[] = [];
  for (let number = 1; number <= turns; number++) {
    const [first, second, third, last] = turn(number) as [Message, Message, Message, Message];
    log.push(first);
    ask(conversation, log);
    log.push(second, third);
    ask(conversation, log);
    log.push(last);
  }
  return { conversation, log };
}

const WRONG: Record<string, { messages: (log: Message[]) => Message[]; problem: RegExp }> = {
  "a message is missing": {
    messages: (log) => [...log.slice(0, 3), ...log.slice(4), input(3)],
    problem: /not what was said/,
  },
  "a message is there twice": {
    messages: (log) => [...log, ...log.slice(-1), input(3)],
    problem: /not what was said|more than were/,
  },
  "a message has other words": {
    messages: (log) => [...log.slice(0, -1), { role: "assistant", content: "Done." }, input(3)],
    problem: /not what was said/,
  },
  "the input is missing": { messages: (log) => log, problem: /the input is there 0 times/ },
  "the input is there twice": {
    messages: (log) => [...log, input(3), input(3)],
    problem: /the input is there 2 times/,
  },
  "the history is cut and nothing stands for it": {
    messages: (log) => [...log.slice(4), input(3)],
    problem: /no summary stands for them/,
  },
  "a result has no call": {
    messages: (log) => [...log.slice(2), input(3)],
    problem: /has no call right before it/,
  },
  "a call has no result": {
    messages: (log) => [...log.slice(0, 6), ...log.slice(7), input(3)],
    problem: /have no result/,
  },
};

test("a conversation in which each request has all messages has no problem", () => {
  const { conversation, log } = after(2);
  ask(conversation, [...log, input(3)]);
  assert.deepEqual(conversation.problems, []);
  assert.equal(conversation.turn, 3);
});

for (const [name, { messages, problem }] of Object.entries(WRONG)) {
  test(`a request is a problem when ${name}`, () => {
    const { conversation, log } = after(2);
    ask(conversation, messages(log));
    assert.match(conversation.problems.join("\n"), problem);
  });
}

test("a request that exceeds the window together with its answer is a problem", () => {
  const small = after(1);
  ask(small.conversation, [...small.log, input(2)], { max_tokens: 2_000 });
  assert.match(small.conversation.problems.join("\n"), /in a window of 2000/);
  const large = after(2, 10);
  assert.match(large.conversation.problems.join("\n"), /in a window of 2000/);
});

test("a summary has to be the model's, with the order code and the newest exact strings", () => {
  const codes = `${berthCode(1)} ${berthCode(2)}`;
  const good = after(2);
  const written = summarize(good.conversation);
  ask(good.conversation, [
    { role: "user", content: `${summary(`${written}\n${codes}`)}\n\n${inputOf(SHAPE, 3)}` },
  ]);
  assert.deepEqual(good.conversation.problems, []);
  assert.equal(good.conversation.cuts.length, 1);

  const lacking = after(2);
  const text = summarize(lacking.conversation);
  ask(lacking.conversation, [{ role: "user", content: `${summary(text)}\n\n${inputOf(SHAPE, 3)}` }]);
  assert.match(lacking.conversation.problems.join("\n"), /the summary lacks berth-00002/);

  const foreign = after(2);
  ask(foreign.conversation, [
    { role: "user", content: `${summary("All is well.")}\n\n${inputOf(SHAPE, 3)}` },
  ]);
  assert.match(foreign.conversation.problems.join("\n"), /lost the standing order[\s\S]*not the model's/);
});

test("a context that begins later without a new summary is a problem", () => {
  const { conversation, log } = after(3);
  const text = `${summarize(conversation)}\n${berthCode(1)}`;
  const head = (prompt: string): Message => ({ role: "user", content: `${summary(text)}\n\n${prompt}` });
  ask(conversation, [head(inputOf(SHAPE, 2)), ...log.slice(5), input(4)]);
  assert.deepEqual(conversation.problems, []);
  ask(conversation, [head(inputOf(SHAPE, 3)), ...log.slice(9), input(4), called(4), result(4)]);
  assert.match(conversation.problems.join("\n"), /begins elsewhere without a new summary/);
});
