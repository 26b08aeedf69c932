/** Conversations in which it is easy to take one thing for another; see `toy-dialect.ts` for the letters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../../src/contract/message.ts";
import type { Governed } from "../../../../src/gateway/wire/governor.ts";
import { splice, type Spliced } from "../../../../src/gateway/wire/splice/splice.ts";
import { bodyOf, listOf, readToy, toyDialect, type Element } from "./toy-dialect.ts";

function user(text: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
function assistant(text: string): AgentMessage {
  return { role: "assistant", content: [{ type: "text", text }] };
}
function call(id: string): AgentMessage {
  return { role: "assistant", content: [{ type: "toolCall", id, name: "t", arguments: {} }] };
}
function result(id: string, text: string): AgentMessage {
  const content = [{ type: "text" as const, text }];
  return { role: "toolResult", toolCallId: id, toolName: "t", content, isError: false };
}

interface Given {
  said: Element[];
  liveFrom: number;
  history: AgentMessage[];
  live: AgentMessage[];
  /** Default: none is. */
  originals?: readonly AgentMessage[];
  governed?: Partial<Governed>;
}

function spliced({ said, liveFrom, history, live, originals = [], governed }: Given): Spliced {
  const context = { messages: [...history, ...live], historyCount: history.length };
  const isOriginal = (message: AgentMessage): boolean => originals.includes(message);
  return splice(readToy(bodyOf(said), 0, liveFrom), { context, isOriginal, ...governed }, toyDialect);
}

function shown(given: Given): Element[] {
  return listOf(spliced(given).body);
}

const EVICTED: Element[] = [
  ["u", "one"],
  ["c", "c0"],
  ["r", "c0", "first"],
  ["c", "c0"],
  ["r", "c0", "second"],
  ["a", "done"],
  ["u", "two"],
];

describe("splice in hard cases", () => {
  it("takes the result whose words it is, where an id is used again", () => {
    const first = result("c0", "first");
    const live = [user("two")];
    const history = [user("one"), call("c0"), first, assistant("done")];
    for (const originals of [[], history])
      assert.deepEqual(shown({ said: EVICTED, liveFrom: 6, history, live, originals }), [
        ...EVICTED.slice(0, 3),
        ...EVICTED.slice(5),
      ]);
  });

  it("knows a call again that the host has renamed, and keeps its element and the live turn's", () => {
    const said: Element[] = [...EVICTED, ["m"], ["c", "c0"], ["r", "c0", "third"]];
    const history = [
      user("one"),
      call("c0"),
      result("c0", "first"),
      call("c0_2"),
      result("c0_2", "second"),
      assistant("done"),
    ];
    const live = [user("two"), call("c0_3"), result("c0_3", "third")];
    assert.equal(spliced({ said, liveFrom: 6, history, live }).isReplaced, false);
  });

  it("gives a foreign call another id than the harness's own has that stays", () => {
    const history = [user("zero"), call("c0"), result("c0", "foreign"), user("one"), call("c0_2")];
    const said: Element[] = [
      ["u", "one"],
      ["c", "c0"],
      ["r", "c0", "own"],
      ["u", "two"],
    ];
    assert.deepEqual(
      shown({ said, liveFrom: 3, history: [...history, result("c0_2", "own")], live: [user("two")] }),
      [["u", "zero"], ["c", "c0_0"], ["r", "c0_0", "foreign"], ...said],
    );
  });

  it("does not take equal words of long ago for the input that the harness has rewritten", () => {
    const input = user("go on");
    const said: Element[] = [
      ["u", "go on"],
      ["a", "first"],
      ["u", "then"],
      ["a", "second"],
      ["u", "<x>go on</x>"],
    ];
    const history = [user("go on"), assistant("first"), user("then"), assistant("second")];
    const given = { said, liveFrom: 4, history, live: [input], originals: [input] };
    assert.equal(spliced(given).isReplaced, false);
  });

  it("does not lose older elements by short words of another runtime's", () => {
    const said: Element[] = ["1", "2", "3"].flatMap((turn): Element[] => [
      ["u", "go on"],
      ["a", `answer ${turn}`],
    ]);
    const own = ["1", "2", "3"].flatMap((turn) => [user("go on"), assistant(`answer ${turn}`)]);
    const given = {
      said: [...said, ["u", "next"] as Element],
      liveFrom: 6,
      history: [...own, user("go on"), assistant("elsewhere")],
      live: [user("next")],
    };
    const { keptItems, encodedMessages } = spliced(given);
    assert.deepEqual([keptItems, encodedMessages], [7, 2]);
  });

  it("says the input anew where the engine has compacted what stands between it and the rest", () => {
    const [input, a, b] = [user("two"), call("a"), call("b")];
    const said: Element[] = [
      ["u", "old"],
      ["u", "two!"],
      ["c", "a"],
      ["r", "a", "ra"],
      ["c", "b"],
      ["r", "b", "rb"],
    ];
    const live = [input, user("SUMMARY of a"), b, result("b", "rb")];
    const given = {
      said,
      liveFrom: 1,
      history: [user("HEAD")],
      live,
      originals: [input, a, ...live.slice(2)],
    };
    assert.deepEqual(shown(given), [["u", "HEAD"], ["u", "two"], ["u", "SUMMARY of a"], ...said.slice(4)]);
  });

  it("keeps what the harness alone knows of the live turn, before what the host has put behind it", () => {
    const said: Element[] = [
      ["u", "two!"],
      ["c", "a"],
      ["u", "joined"],
      ["r", "a", "ra"],
      ["c", "b"],
      ["r", "b", "rb"],
    ];
    const live = [user("two"), call("a"), result("a", "ra"), user("VOLATILE"), call("b"), result("b", "rb")];
    const originals = live.filter((message) => message !== live[3]);
    assert.deepEqual(shown({ said, liveFrom: 0, history: [], live, originals }), [
      ...said.slice(0, 4),
      ["u", "VOLATILE"],
      ...said.slice(4),
    ]);
  });

  it("says words that the harness has nowhere, but waits for the newest", () => {
    const said: Element[] = [
      ["u", "two"],
      ["c", "a"],
      ["r", "a", "ra"],
    ];
    const live = [user("two"), user("steered"), call("a"), result("a", "ra"), user("on its way")];
    assert.deepEqual(shown({ said, liveFrom: 0, history: [], live, originals: live }), [
      ["u", "two"],
      ["u", "steered"],
      ...said.slice(1),
    ]);
    const none: Element[] = [["a", "old"]];
    const input = live.slice(0, 1);
    assert.deepEqual(
      shown({ said: none, liveFrom: 1, history: [assistant("old")], live: input, originals: input }),
      [...none, ["u", "two"]],
      "an input that is in no element",
    );
  });

  it("goes on with the live turn before its user's newest words", () => {
    const said: Element[] = [
      ["u", "old"],
      ["u", "two"],
      ["m"],
      ["c", "a"],
      ["r", "a", "ra"],
      ["u", "steered"],
    ];
    const live = [user("two"), call("a"), result("a", "ra"), user("steered")];
    assert.deepEqual(shown({ said, liveFrom: 5, history: [user("SUMMARY")], live }), [
      ["u", "SUMMARY"],
      ...said.slice(1),
    ]);
    const [input, ...rest] = said.slice(1);
    assert.ok(input);
    const rewritten: Element[] = [["u", "old"], ["u", "two!"], ...rest];
    const known = { history: [user("SUMMARY")], live, originals: live, governed: { liveFrom: 1 } };
    assert.deepEqual(shown({ said: rewritten, liveFrom: 5, ...known }), [
      ["u", "SUMMARY"],
      ...rewritten.slice(1),
    ]);
  });

  it("tells surroundings again of an element that leaves from among those that stay", () => {
    const said: Element[] = [
      ["u", "one"],
      ["U", "two"],
      ["a", "second"],
      ["u", "three"],
    ];
    assert.deepEqual(
      shown({ said, liveFrom: 3, history: [user("one"), assistant("second")], live: [user("three")] }),
      [said[0], ["s", "around two"], said[2], said[3]],
    );
  });

  it("does not count a message without words as said anew", () => {
    const thought: AgentMessage = { role: "assistant", content: [{ type: "thinking", thinking: "hm" }] };
    const said: Element[] = [["u", "one"], ["m"], ["a", "first"], ["u", "two"]];
    const history = [user("one"), thought, assistant("first"), user("")];
    assert.equal(spliced({ said, liveFrom: 3, history, live: [user("two"), thought] }).isReplaced, false);
  });

  it("leaves a result whose call has gone where the live turn is taken to begin between them", () => {
    const said: Element[] = [
      ["u", "one"],
      ["c", "a"],
      ["r", "a", "ra"],
      ["u", "two"],
    ];
    assert.deepEqual(shown({ said, liveFrom: 2, history: [user("SUMMARY")], live: [user("two")] }), [
      ["u", "SUMMARY"],
      ["u", "two"],
    ]);
  });

  it("says one element's messages anew where something else was said between them", () => {
    const request = readToy(
      bodyOf([
        ["a", "ok"],
        ["r", "c0", "r0"],
        ["u", "two"],
      ]),
      0,
      2,
    );
    const [first, ...others] = request.items;
    assert.ok(first);
    const parts = [call("c0"), assistant("ok")].flatMap((each) =>
      each.role === "assistant" ? each.content : [],
    );
    const both = { ...first, messages: [{ role: "assistant" as const, content: parts }] };
    const history = [call("c0"), user("between"), assistant("ok")];
    const { encodedMessages } = splice(
      { ...request, items: [both, ...others] },
      { context: { messages: [...history, user("two")], historyCount: 3 }, isOriginal: () => false },
      toyDialect,
    );
    assert.equal(encodedMessages, 3);
  });

  it("is not stopped by a prefix that is all there is, or by a context that is the live turn alone", () => {
    const said: Element[] = [["s", "rules"]];
    const request = readToy(bodyOf(said), 1, 1);
    const context = { messages: [user("SUMMARY"), user("one")], historyCount: 1 };
    const { body } = splice(request, { context, isOriginal: () => false }, toyDialect);
    assert.deepEqual(listOf(body), [...said, ["u", "SUMMARY"], ["u", "one"]]);
    const live = [user("two")];
    assert.deepEqual(shown({ said: EVICTED, liveFrom: 6, history: [], live }), [["u", "two"]]);
  });

  it("says what an engine has put into another order in that order", () => {
    const said: Element[] = [
      ["u", "one"],
      ["a", "first"],
      ["u", "two"],
      ["a", "second"],
      ["u", "three"],
    ];
    const history = [user("two"), assistant("second"), user("one"), assistant("first")];
    const list = shown({ said, liveFrom: 4, history, live: [user("three")] });
    assert.deepEqual(list, [said[2], said[3], said[0], said[1], said[4]]);
  });
});
