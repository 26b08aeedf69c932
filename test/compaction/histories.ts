/** Generators of random session histories, and small builders. */
import fc from "fast-check";
import type {
  AgentMessage,
  AssistantMessage,
  ToolCallPart,
  ToolResultMessage,
} from "../../packages/contract/src/message.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";

export function user(text: string, entryId?: string): AgentMessage {
  return { role: "user", content: text, ...(entryId === undefined ? {} : { entryId }) };
}

export function assistant(text: string, calls: ToolCallPart[] = [], entryId?: string): AssistantMessage {
  const content: AssistantMessage["content"] = text === "" ? [...calls] : [{ type: "text", text }, ...calls];
  return { role: "assistant", content, ...(entryId === undefined ? {} : { entryId }) };
}

export function call(id: string, name: string, args: Record<string, unknown> = {}): ToolCallPart {
  return { type: "toolCall", id, name, arguments: args };
}

export function result(id: string, text: string, extra: Partial<ToolResultMessage> = {}): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: "shell",
    content: [{ type: "text", text }],
    isError: false,
    ...extra,
  };
}

/** The messages with the entry ids `e0`, `e1`, ... */
export function numbered(messages: readonly AgentMessage[]): AgentMessage[] {
  return messages.map((message, index) => ({ ...message, entryId: `e${index}` }));
}

/** Closed rounds of one call each. */
export function rounds(count: number, from = 0): AgentMessage[] {
  return Array.from({ length: count }, (_, index) => `r${from + index}`).flatMap((id) => [
    assistant("", [call(id, "shell")]),
    result(id, "ok"),
  ]);
}

const words = fc.array(
  fc.constantFrom(
    "fix",
    "packages/app/src/app.ts",
    "never",
    "the",
    "parser",
    "fails",
    "because",
    "读取文件",
    "run_id=8f3a21",
    "Error: no",
  ),
  { minLength: 1, maxLength: 40 },
);
const text = words.map((list) => list.join(" "));
const callSpec = fc.record({
  name: fc.constantFrom("read", "write", "edit", "shell"),
  path: fc.constantFrom("src/a.ts", "src/b.ts", "docs/guide.md"),
  output: text,
  isError: fc.boolean(),
});
const round = fc.record({ text, calls: fc.array(callSpec, { minLength: 1, maxLength: 4 }) });
const turn = fc.record({
  input: text,
  rounds: fc.array(round, { maxLength: 5 }),
  answer: fc.option(text, { nil: undefined }),
});

export interface History {
  messages: AgentMessage[];
  liveStart: number;
}

/** Valid contexts: maybe a summary first, closed turns with parallel calls, maybe a live turn with open calls. */
export const histories: fc.Arbitrary<History> = fc
  .record({
    summary: fc.option(text, { nil: undefined }),
    splitInput: fc.boolean(),
    turns: fc.array(turn, { maxLength: 6 }),
    live: fc.option(
      fc.record({ turn, rounds: fc.array(round, { maxLength: 12 }), open: fc.integer({ min: 0, max: 4 }) }),
      {
        nil: undefined,
      },
    ),
  })
  .map((spec) => {
    const messages: AgentMessage[] = [];
    let calls = 0;
    const add = (message: AgentMessage): void => {
      messages.push({ ...message, entryId: `e${messages.length}` });
    };
    const addRound = (
      item: { text: string; calls: { name: string; path: string; output: string; isError: boolean }[] },
      open = 0,
    ): void => {
      const made = item.calls.map((one) => ({ one, id: `c${(calls += 1)}` }));
      add(
        assistant(
          item.text,
          made.map(({ one, id }) => call(id, one.name, { path: one.path })),
        ),
      );
      for (const { one, id } of made.slice(0, made.length - open)) {
        add(result(id, one.output, { toolName: one.name, isError: one.isError }));
      }
    };
    if (spec.summary !== undefined) {
      if (spec.splitInput) add(user("the input of a turn that was split"));
      add(user(renderSummary(spec.summary)));
    }
    for (const item of spec.turns) {
      add(user(item.input));
      for (const one of item.rounds) addRound(one);
      if (item.answer !== undefined) add(assistant(item.answer));
    }
    const liveStart = messages.length;
    if (spec.live) {
      const { live } = spec;
      add(user(live.turn.input));
      for (const one of live.rounds) addRound(one);
      for (const [index, one] of live.turn.rounds.entries()) {
        addRound(one, index === live.turn.rounds.length - 1 ? live.open : 0);
      }
    }
    return { messages, liveStart };
  });

/** Damaged histories: any messages in any order, ids repeated, results without calls, empty answers. */
export const damaged: fc.Arbitrary<AgentMessage[]> = fc.array(
  fc.oneof(
    text.map((value) => user(value)),
    fc.array(fc.constantFrom("a", "b", "c", "a_2"), { maxLength: 3 }).map((ids) =>
      assistant(
        "",
        ids.map((id) => call(id, "shell")),
      ),
    ),
    text.map((value) => assistant(value)),
    fc.constantFrom("a", "b", "c", "a_2").chain((id) => text.map((value) => result(id, value))),
  ),
  { maxLength: 24 },
);
