import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { Governed } from "../../../packages/gateway/src/governor/governor.ts";
import { passing, splice, type Spliced } from "../../../packages/gateway/src/splice/splice-request.ts";
import { bodyOf, elementsOf, listOf, readToy, toyDialect, type Element } from "./toy-dialect.ts";
import { runs } from "../../runner/short-form.ts";

const PREFIX: Element[] = [["s", "rules"]];

function user(text: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
function assistant(text: string): AgentMessage {
  return { role: "assistant", content: [{ type: "text", text }] };
}
function call(...ids: string[]): AgentMessage {
  return {
    role: "assistant",
    content: ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} })),
  };
}
function result(id: string, text: string): AgentMessage {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: "t",
    content: [{ type: "text", text }],
    isError: false,
  };
}

interface Setup {
  /** Elements after the prefix. */
  elements: Element[];
  /** Index in `elements`. */
  liveFrom: number;
  messages: AgentMessage[];
  historyCount: number;
  isOriginal?: Governed["isOriginal"];
  addition?: string;
}

function spliced({ elements, liveFrom, messages, historyCount, isOriginal, addition }: Setup): Spliced {
  const request = readToy(bodyOf([...PREFIX, ...elements]), PREFIX.length, PREFIX.length + liveFrom);
  const context = {
    messages,
    historyCount,
    ...(addition === undefined ? {} : { systemPromptAddition: addition }),
  };
  return splice(request, { context, isOriginal: isOriginal ?? (() => false) }, toyDialect);
}

const OLD: Element[] = [
  ["u", "one"],
  ["m"],
  ["a", "first"],
  ["u", "two"],
  ["m"],
  ["c", "c1"],
  ["c", "c2"],
  ["r", "c1", "r1"],
  ["r", "c2", "r2"],
  ["m"],
  ["a", "second"],
];
const OLD_MESSAGES = [
  user("one"),
  assistant("first"),
  user("two"),
  call("c1", "c2"),
  result("c1", "r1"),
  result("c2", "r2"),
  assistant("second"),
];
const LIVE: Element[] = [["u", "three"], ["m"], ["c", "c3"], ["r", "c3", "r3"]];
const LIVE_MESSAGES = [user("three"), call("c3"), result("c3", "r3")];

describe("splice", () => {
  it("passes the request unchanged if the engine's context equals its content", () => {
    const elements = [...OLD, ...LIVE];
    const { body, isReplaced } = spliced({
      elements,
      liveFrom: OLD.length,
      messages: [...OLD_MESSAGES, ...LIVE_MESSAGES],
      historyCount: OLD_MESSAGES.length,
    });
    assert.equal(isReplaced, false);
    assert.deepEqual(body, [bodyOf([...PREFIX, ...elements])]);
  });

  it("replaces what a summary covers and keeps the rest unchanged", () => {
    const messages = [user("SUMMARY"), ...OLD_MESSAGES.slice(3), ...LIVE_MESSAGES];
    const { body, keptItems, droppedItems, encodedMessages } = spliced({
      elements: [...OLD, ...LIVE],
      liveFrom: OLD.length,
      messages,
      historyCount: messages.length - LIVE_MESSAGES.length,
    });
    assert.deepEqual(listOf(body), [...PREFIX, ["u", "SUMMARY"], ...OLD.slice(4), ...LIVE]);
    assert.deepEqual([keptItems, droppedItems, encodedMessages], [11, 4, 1]);
    const text = Buffer.concat(body).toString();
    assert.ok(text.includes('["c","c1"] ,\n ["c","c2"]'), "the bytes between kept elements stay");
    assert.ok(text.startsWith('{"model":"toy", "list" : [') && text.endsWith('], "end":true}'));
  });

  it("drops an older pair that the engine has evicted, with the thinking before it", () => {
    const messages = [...OLD_MESSAGES.slice(0, 3), ...OLD_MESSAGES.slice(6), ...LIVE_MESSAGES];
    const { body } = spliced({
      elements: [...OLD, ...LIVE],
      liveFrom: OLD.length,
      messages,
      historyCount: 4,
    });
    assert.deepEqual(listOf(body), [...PREFIX, ...OLD.slice(0, 4), ...OLD.slice(9), ...LIVE]);
  });

  it("encodes another runtime's messages, before the harness's own", () => {
    const other = [user("zero"), assistant("null")];
    const { body } = spliced({
      elements: [...OLD, ...LIVE],
      liveFrom: OLD.length,
      messages: [...other, ...OLD_MESSAGES, ...LIVE_MESSAGES],
      historyCount: other.length + OLD_MESSAGES.length,
    });
    assert.deepEqual(listOf(body), [...PREFIX, ["u", "zero"], ["a", "null"], ...OLD, ...LIVE]);
  });

  it("encodes a result that the engine has shortened, with the call that shares its element", () => {
    const messages = [
      ...OLD_MESSAGES.slice(0, 4),
      result("c1", "short"),
      ...OLD_MESSAGES.slice(5),
      ...LIVE_MESSAGES,
    ];
    const { body } = spliced({
      elements: [...OLD, ...LIVE],
      liveFrom: OLD.length,
      messages,
      historyCount: OLD_MESSAGES.length,
    });
    assert.deepEqual(
      listOf(body).filter(([kind]) => kind === "r"),
      [
        ["r", "c1", "short"],
        ["r", "c2", "r2"],
        ["r", "c3", "r3"],
      ],
    );
  });

  it("keeps every byte of the live turn, also elements without a message of ours", () => {
    const live: Element[] = [
      ["s", "env"],
      ["u", "three!"],
      ["m"],
      ["c", "c3"],
      ["r", "c3", "r3"],
      ["u", "joined"],
    ];
    const isOriginal = (message: AgentMessage): boolean => LIVE_MESSAGES.includes(message);
    const { body } = spliced({
      elements: [...OLD, ...live],
      liveFrom: OLD.length,
      messages: [user("SUMMARY"), ...LIVE_MESSAGES],
      historyCount: 1,
      isOriginal,
    });
    assert.deepEqual(listOf(body), [...PREFIX, ["u", "SUMMARY"], ...live]);
  });

  it("keeps the newest part of a live turn that the engine has compacted", () => {
    const rounds: Element[] = ["a", "b", "c", "d"].flatMap((id): Element[] => [
      ["m"],
      ["c", id],
      ["r", id, `r${id}`],
    ]);
    const messages = [
      user("HEAD"),
      user("three"),
      user("SUMMARY of a and b"),
      ...["c", "d"].flatMap((id) => [call(id), result(id, `r${id}`)]),
    ];
    const { body } = spliced({
      elements: [...OLD, ["u", "three"], ...rounds],
      liveFrom: OLD.length,
      messages,
      historyCount: 1,
    });
    assert.deepEqual(listOf(body), [
      ...PREFIX,
      ["u", "HEAD"],
      ["u", "three"],
      ["u", "SUMMARY of a and b"],
      ...rounds.slice(6),
    ]);
  });

  it("repeats surroundings of the replaced part, but not passing settings", () => {
    const elements: Element[] = [["u", "one"], ["s", "moved"], ["p", "reminder"], ["a", "first"], ...LIVE];
    const { body } = spliced({
      elements,
      liveFrom: 4,
      messages: [user("SUMMARY"), ...LIVE_MESSAGES],
      historyCount: 1,
    });
    assert.deepEqual(listOf(body), [...PREFIX, ["u", "SUMMARY"], ["s", "moved"], ...LIVE]);
  });

  it("repeats surroundings that shared an element with summarized text", () => {
    const elements: Element[] = [["U", "one"], ["a", "first"], ["U", "two"], ["a", "second"], ...LIVE];
    const shown = (messages: AgentMessage[]): Element[] =>
      listOf(
        spliced({
          elements,
          liveFrom: 4,
          messages: [...messages, ...LIVE_MESSAGES],
          historyCount: messages.length,
        }).body,
      ).slice(PREFIX.length);
    assert.deepEqual(shown([user("SUMMARY")]), [
      ["u", "SUMMARY"],
      ["s", "around one"],
      ["s", "around two"],
      ...LIVE,
    ]);
    assert.deepEqual(
      shown([user("SUMMARY"), user("two"), assistant("second")]),
      [["u", "SUMMARY"], ["s", "around one"], ...elements.slice(2)],
      "what stays tells them itself",
    );
  });

  it("opens what the gateway has sealed wherever it stays", () => {
    const elements: Element[] = [["x", "one"], ["u", "one"], ["a", "first"], ...LIVE];
    const opened: Element[] = [["s", "opened one"], ...elements.slice(1)];
    const messages = [user("one"), assistant("first"), ...LIVE_MESSAGES];
    const { body } = spliced({ elements, liveFrom: 3, messages, historyCount: 2 });
    assert.deepEqual(listOf(body), [...PREFIX, ...opened]);
    const request = readToy(bodyOf([...PREFIX, ...elements]), PREFIX.length, PREFIX.length + 3);
    assert.deepEqual(listOf(passing(request)), [...PREFIX, ...opened]);
    const plain = readToy(bodyOf(elements.slice(1)), 0, 2);
    assert.deepEqual(passing(plain), [plain.body]);
  });

  it("shows input that joined the turn once, where the harness has it", () => {
    const live: Element[] = [
      ["u", "three"],
      ["c", "c3"],
      ["r", "c3", "r3"],
      ["u", "joined"],
    ];
    const messages = [user("three"), call("c3"), user("joined"), result("c3", "r3")];
    const { body } = spliced({
      elements: [...OLD, ...live],
      liveFrom: OLD.length,
      messages: [...OLD_MESSAGES, ...messages],
      historyCount: OLD_MESSAGES.length,
      isOriginal: (message) => messages.includes(message),
    });
    assert.deepEqual(listOf(body), [...PREFIX, ...OLD, ...live]);
  });

  it("puts the engine's addition first", () => {
    const { body } = spliced({
      elements: LIVE,
      liveFrom: 0,
      messages: LIVE_MESSAGES,
      historyCount: 0,
      addition: "recall with x",
    });
    assert.deepEqual(listOf(body), [...PREFIX, ["+", "recall with x"], ...LIVE]);
  });

  it("keeps results of parallel calls where the harness has them", () => {
    const [one, two, ...rest] = OLD_MESSAGES.slice(4);
    assert.ok(one && two);
    for (const head of [[], [user("fragment")]]) {
      const messages = [...OLD_MESSAGES.slice(0, 4), two, one, ...rest, ...head, ...LIVE_MESSAGES];
      const { body, keptItems } = spliced({
        elements: [...OLD, ...LIVE],
        liveFrom: OLD.length,
        messages,
        historyCount: OLD_MESSAGES.length + head.length,
      });
      assert.equal(keptItems, OLD.length + LIVE.length);
      const elements = head.map((): Element => ["u", "fragment"]);
      assert.deepEqual(listOf(body), [...PREFIX, ...OLD, ...elements, ...LIVE]);
    }
  });

  it("takes the nearest of equal texts", () => {
    const elements: Element[] = [
      ["u", "go on"],
      ["a", "ok"],
      ["u", "go on"],
      ["a", "ok"],
      ["u", "go on"],
    ];
    const { body } = spliced({
      elements,
      liveFrom: 4,
      messages: [user("go on"), assistant("ok"), user("go on")],
      historyCount: 2,
    });
    assert.deepEqual(listOf(body), [...PREFIX, ...elements.slice(2)]);
  });
});

/** A conversation of a harness: rounds of text and calls, with thinking and surroundings between. */
const round = fc.record({
  text: fc.constantFrom("go on", "ok", "words", "more words"),
  calls: fc.integer({ min: 0, max: 3 }),
  thinks: fc.boolean(),
  settings: fc.boolean(),
});

function conversation(
  rounds: readonly { text: string; calls: number; thinks: boolean; settings: boolean }[],
): {
  elements: Element[];
  messages: AgentMessage[];
  starts: number[];
} {
  const elements: Element[] = [];
  const messages: AgentMessage[] = [];
  const starts: number[] = [];
  for (const [turn, { text, calls, thinks, settings }] of rounds.entries()) {
    starts.push(elements.length);
    if (settings) elements.push(["s", `env ${turn}`]);
    elements.push(["u", text]);
    messages.push(user(text));
    const ids = Array.from({ length: calls }, (_, index) => `t${turn}c${index}`);
    if (ids.length > 0) {
      if (thinks) elements.push(["m"]);
      elements.push(
        ...ids.map((id): Element => ["c", id]),
        ...ids.map((id): Element => ["r", id, `of ${id}`]),
      );
      messages.push(call(...ids), ...ids.map((id) => result(id, `of ${id}`)));
    }
    if (turn < rounds.length - 1) {
      elements.push(["a", `answer ${turn}`]);
      messages.push(assistant(`answer ${turn}`));
    }
  }
  return { elements, messages, starts };
}

describe("splice, for any conversation", () => {
  it("shows the model the engine's messages in order, each once, and the live turn unchanged", () => {
    fc.assert(
      fc.property(
        fc.array(round, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.array(fc.nat({ max: 5 }), { maxLength: 4 }),
        fc.boolean(),
        (rounds, cutAt, evicted, hasForeign) => {
          const { elements, messages, starts } = conversation(rounds);
          const liveFrom = starts.at(-1) ?? 0;
          const liveAt = messages.findLastIndex(({ role }) => role === "user");
          const cut = cutAt % (liveAt + 1);
          const history = messages.slice(0, liveAt);
          // The engine's context begins after whole pairs.
          let from = cut;
          while (history[from]?.role === "toolResult") from += 1;
          const gone = new Set(evicted.map((at) => `answer ${at}`));
          const shown = history
            .slice(from)
            .filter(
              (message) => message.role !== "assistant" || !gone.has(elementsOf(message)[0]?.[1] ?? ""),
            );
          const head = [
            ...(from > 0 ? [user("SUMMARY")] : []),
            ...(hasForeign ? [user("foreign"), assistant("yes")] : []),
          ];
          const context = [...head, ...shown, ...messages.slice(liveAt)];
          const { body } = spliced({
            elements,
            liveFrom,
            messages: context,
            historyCount: head.length + shown.length,
          });
          const list = listOf(body);
          const words = list.filter(([kind]) => !"smp".includes(kind));
          assert.deepEqual(words, context.flatMap(elementsOf));
          assert.deepEqual(list.slice(list.length - (elements.length - liveFrom)), elements.slice(liveFrom));
          assert.deepEqual(list.slice(0, PREFIX.length), PREFIX);
          const settings = list.filter(([kind, text]) => kind === "s" && text?.startsWith("env"));
          assert.deepEqual(
            settings,
            elements.filter(([kind]) => kind === "s"),
            "surroundings stay, in order",
          );
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it("only appends while the engine's head stays", () => {
    fc.assert(
      fc.property(fc.array(round, { minLength: 3, maxLength: 10 }), fc.nat(), (rounds, cutAt) => {
        const whole = conversation(rounds);
        const heads = whole.messages.flatMap((message, index) => (message.role === "user" ? [index] : []));
        const from = heads[cutAt % Math.max(1, heads.length - 2)] ?? 0;
        let before: string | undefined;
        for (let turns = 2; turns <= rounds.length; turns++) {
          const { elements, messages, starts } = conversation(rounds.slice(0, turns));
          const liveAt = messages.findLastIndex(({ role }) => role === "user");
          if (from > liveAt) continue;
          const context = [user("SUMMARY"), ...messages.slice(from)];
          const { body } = spliced({
            elements,
            liveFrom: starts.at(-1) ?? 0,
            messages: context,
            historyCount: liveAt - from + 1,
          });
          const grown = listOf(body)
            .map((element) => JSON.stringify(element))
            .join();
          if (before !== undefined) assert.ok(grown.startsWith(before), `${before}\n${grown}`);
          before = grown;
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
