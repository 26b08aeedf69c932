/** Ageing of old tool results. Source: context-engine page, "Relationship to compaction and memory". */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Ageing, ageingSettings, type AgedResult } from "../../packages/core/src/compaction/ageing.ts";
import { trimToolResult } from "../../packages/core/src/compaction/trim.ts";
import type { AgentMessage, ToolResultMessage } from "../../packages/contract/src/message.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";

const HOUR = 3_600_000;

/** A turn with one call: input, call, result of so many characters, answer. */
function turnAt(number: number, at: number, chars = 8_000, toolName = "read"): AgentMessage[] {
  const id = `c${number}`;
  const word = `result-${number} `;
  return [
    { role: "user", content: `Question ${number}`, entryId: `u${number}`, timestamp: at },
    {
      role: "assistant",
      content: [{ type: "toolCall", id, name: toolName, arguments: {} }],
      entryId: `a${number}`,
      timestamp: at + 1,
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName,
      content: [{ type: "text", text: word.repeat(Math.ceil(chars / word.length)).slice(0, chars) }],
      isError: false,
      entryId: `r${number}`,
      timestamp: at + 2,
    },
    {
      role: "assistant",
      content: [{ type: "text", text: "Done." }],
      entryId: `d${number}`,
      timestamp: at + 3,
    },
  ];
}

function turns(count: number, at = 0, from = 1, chars = 8_000): AgentMessage[] {
  return Array.from({ length: count }, (_, index) => turnAt(from + index, at + index * 1_000, chars)).flat();
}

function input(at: number): AgentMessage {
  return { role: "user", content: "Now", entryId: "now", timestamp: at };
}

interface Options {
  window?: number;
  pruning?: object;
  liveFrom?: number;
  hasEntryTool?: boolean;
  /** Characters of one result that are sent. */
  limit?: number;
}

function aged(
  messages: AgentMessage[],
  {
    window = 40_000,
    pruning = {},
    liveFrom = messages.length - 1,
    hasEntryTool = false,
    limit = 48_000,
  }: Options = {},
): Map<string, AgedResult> {
  const ageing = new Ageing(ageingSettings({ agents: { defaults: { contextPruning: pruning } } }));
  const timeOf = ({ timestamp }: AgentMessage): number | undefined => timestamp;
  const asSent = (result: ToolResultMessage): ToolResultMessage => trimToolResult(result, limit).message;
  const found = ageing.of({ messages, liveFrom, timeOf, asSent, window, hasEntryTool });
  return new Map([...found].map(([message, result]) => [message.entryId ?? "", result]));
}

function textOf({ content }: ToolResultMessage): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

const LONG_AGO = turns(12);
const AFTER = input(12_000 + HOUR);

describe("old tool results", () => {
  it("are shortened to head and tail, with the entry that has them whole, when a conversation continues after a pause", () => {
    const found = aged([...LONG_AGO, AFTER]);
    const { message, trimmed } = found.get("r1") ?? assert.fail("the oldest result has aged");
    assert.equal(trimmed.aged, "shortened");
    assert.ok(trimmed.fromBytes === 8_000 && trimmed.toBytes <= 3_000);
    assert.match(
      textOf(message),
      /^result-1 .*\n\[\.\.\. \d+ characters left out; the whole result is entry r1 \.\.\.\]\n/s,
    );
    assert.deepEqual({ ...message, content: [] }, { ...LONG_AGO[2], content: [] }, "all but the text stays");
  });

  it("name the tool that returns them whole, where the model has it", () => {
    const text = textOf(
      (aged([...LONG_AGO, AFTER], { hasEntryTool: true }).get("r1") ?? assert.fail()).message,
    );
    assert.match(text, /the whole result is entry r1, which context_expand gives/);
  });

  it("stay as they are while there is no pause of that length", () => {
    assert.equal(aged([...LONG_AGO, input(12_000 + HOUR - 1_000)]).size, 0);
    assert.equal(aged([...LONG_AGO, input(12_000)]).size, 0);
  });

  it("stay as they are in a context below a share of the window", () => {
    assert.equal(aged([...LONG_AGO, AFTER], { window: 400_000 }).size, 0);
  });

  it("count as they are sent: results that are cut to the limit stay in a context that is small without their rest", () => {
    const large = [...turns(3, 0, 1, 150_000), ...turns(2, 3_000, 4, 100), input(5_000 + HOUR)];
    assert.equal(aged(large, { window: 200_000 }).size, 0);
    assert.equal(aged(large, { window: 200_000, limit: 150_000 }).size, 3);
  });

  it("of the newest three messages of the model before the pause, of the live turn and of turns after the pause stay", () => {
    const later = turns(3, 12_000 + HOUR, 20);
    const found = aged([...LONG_AGO, ...later, input(12_000 + HOUR + 5_000)]);
    assert.deepEqual(
      [...found.keys()],
      Array.from({ length: 11 }, (_, index) => `r${index + 1}`),
    );
  });

  it("that are short stay", () => {
    assert.equal(
      aged([...turns(40, 0, 1, 3_900), input(40_000 + HOUR)], { pruning: { hardClear: { enabled: false } } })
        .size,
      0,
    );
  });

  it("age in steps: after a pause every further request begins with the same messages", () => {
    let conversation = [...LONG_AGO];
    let before: string | undefined;
    for (let number = 20; number < 26; number += 1) {
      const at = 12_000 + HOUR + (number - 20) * 60_000;
      conversation = [...conversation, { ...AFTER, entryId: `n${number}`, timestamp: at }];
      const found = aged(conversation);
      const sent = JSON.stringify(
        conversation
          .slice(0, LONG_AGO.length + 1)
          .map((each) => found.get(each.entryId ?? "")?.message.content ?? each.content),
      );
      assert.equal(sent, (before ??= sent));
      conversation = [...conversation, ...turnAt(number, at).slice(1)];
    }
  });

  it("give the same bytes for the same messages, times and configuration", () => {
    const one = aged([...LONG_AGO, AFTER]);
    assert.deepEqual(aged(structuredClone([...LONG_AGO, AFTER])), one);
  });

  it("never age twice, whatever is pruned, and never grow", () => {
    const pause = fc.integer({ min: 0, max: 2 * HOUR });
    const size = fc.integer({ min: 0, max: 20_000 });
    const limits = fc.constantFrom(200, 700, 2_000, 3_100, 4_500, 48_000);
    const lists = fc.array(fc.tuple(pause, size), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(lists, limits, fc.constantFrom(2_000, 20_000), (list, limit, window) => {
        let at = 0;
        const messages = list.flatMap(([wait, chars], index) => turnAt(index, (at += wait + 10), chars));
        const all = [...messages, input(at + HOUR)];
        const found = aged(all, { window, limit });
        const whole = all.map((each) =>
          each.role === "toolResult" ? trimToolResult(each, limit).message : each,
        );
        const sent = whole.map((each) => found.get(each.entryId ?? "")?.message ?? each);
        for (const [index, each] of sent.entries())
          assert.ok(messagesTokens([each]) <= messagesTokens(whole.slice(index, index + 1)));
        for (const [, { message, trimmed }] of found) {
          assert.equal(message.role, "toolResult");
          assert.equal(trimmed.toBytes, Buffer.byteLength(textOf(message)));
        }
        const roles = (messages: readonly AgentMessage[]): string[] =>
          messages.map((each) => (each.role === "toolResult" ? `result ${each.toolCallId}` : each.role));
        assert.deepEqual(roles(sent), roles(all), "no call loses its result");
      }),
      { numRuns: 200 },
    );
  });
});

describe("the oldest results of a context that is still over half of the window", () => {
  const many = [...turns(30), input(30_000 + HOUR)];

  it("are replaced by a line with their entry, and no more of them than needed", () => {
    const found = aged(many, { window: 24_000 });
    const cleared = [...found].filter(([, { trimmed }]) => trimmed.aged === "cleared").map(([id]) => id);
    assert.ok(cleared.length > 0 && cleared.length < found.size, `${cleared.length} of ${found.size}`);
    assert.deepEqual(cleared, [...found.keys()].slice(0, cleared.length), "the oldest first");
    assert.equal(
      textOf((found.get("r1") ?? assert.fail()).message),
      "[Old tool result content cleared; the whole result is entry r1]",
    );
    const sent = many.map((each) => found.get(each.entryId ?? "")?.message ?? each);
    assert.ok(messagesTokens(sent.slice(0, -1)) <= 12_000);
  });

  it("are only shortened where clearing is off, and have the configured line where one is set", () => {
    const off = aged(many, { window: 24_000, pruning: { hardClear: { enabled: false } } });
    assert.ok([...off.values()].every(({ trimmed }) => trimmed.aged === "shortened"));
    const named = aged(many, { window: 24_000, pruning: { hardClear: { placeholder: "[gone]" } } });
    assert.equal(textOf((named.get("r1") ?? assert.fail()).message), "[gone]");
  });
});

describe("contextPruning", () => {
  it("off leaves every result as it is", () => {
    assert.equal(aged([...LONG_AGO, AFTER], { pruning: { mode: "off" } }).size, 0);
  });

  it("has the pause as ttl; without a pause each turn is one", () => {
    const soon = [...LONG_AGO, input(12_000 + 6 * 60_000)];
    assert.equal(aged(soon).size, 0);
    assert.ok(aged(soon, { pruning: { ttl: "5m" } }).size > 0);
    assert.ok(aged([...LONG_AGO, input(12_000)], { pruning: { ttl: "0m" } }).size > 0);
  });

  it("ages the results of the tools that it allows, and of none that it denies", () => {
    const mixed = Array.from({ length: 12 }, (_, index) =>
      turnAt(index, index * 1_000, 8_000, index % 2 === 0 ? "read" : "files__get"),
    ).flat();
    const names = (pruning: object): Set<string> =>
      new Set([...aged([...mixed, AFTER], { pruning }).values()].map(({ message }) => message.toolName));
    assert.deepEqual(names({}), new Set(["read", "files__get"]));
    assert.deepEqual(names({ tools: { allow: ["files__*"] } }), new Set(["files__get"]));
    assert.deepEqual(names({ tools: { deny: ["files__*"] } }), new Set(["read"]));
    assert.deepEqual(names({ tools: { allow: ["*"], deny: ["*"] } }), new Set());
  });
});
