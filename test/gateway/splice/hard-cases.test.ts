/** Conversations with ambiguous parts; see `toy-dialect.ts` for the letters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { missingResult } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { Governed } from "../../../packages/gateway/src/governor/governor.ts";
import { splice, type Spliced } from "../../../packages/gateway/src/splice/splice-request.ts";
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

interface Setup {
  elements: Element[];
  liveFrom: number;
  history: AgentMessage[];
  live: AgentMessage[];
  /** Default: none. */
  originals?: readonly AgentMessage[];
  governed?: Partial<Governed>;
}

function spliced({ elements, liveFrom, history, live, originals = [], governed }: Setup): Spliced {
  const context = { messages: [...history, ...live], historyCount: history.length };
  const isOriginal = (message: AgentMessage): boolean => originals.includes(message);
  return splice(readToy(bodyOf(elements), 0, liveFrom), { context, isOriginal, ...governed }, toyDialect);
}

function shown(setup: Setup): Element[] {
  return listOf(spliced(setup).body);
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
  it("takes the result with matching text, if an id is reused", () => {
    const first = result("c0", "first");
    const live = [user("two")];
    const history = [user("one"), call("c0"), first, assistant("done")];
    for (const originals of [[], history])
      assert.deepEqual(shown({ elements: EVICTED, liveFrom: 6, history, live, originals }), [
        ...EVICTED.slice(0, 3),
        ...EVICTED.slice(5),
      ]);
  });

  it("recognizes a call that the host has renamed, and keeps its element and the live turn's", () => {
    const elements: Element[] = [...EVICTED, ["m"], ["c", "c0"], ["r", "c0", "third"]];
    const history = [
      user("one"),
      call("c0"),
      result("c0", "first"),
      call("c0_2"),
      result("c0_2", "second"),
      assistant("done"),
    ];
    const live = [user("two"), call("c0_3"), result("c0_3", "third")];
    assert.equal(spliced({ elements, liveFrom: 6, history, live }).isReplaced, false);
  });

  it("gives a foreign call another id than the harness's own call that is kept", () => {
    const history = [user("zero"), call("c0"), result("c0", "foreign"), user("one"), call("c0_2")];
    const elements: Element[] = [
      ["u", "one"],
      ["c", "c0"],
      ["r", "c0", "own"],
      ["u", "two"],
    ];
    assert.deepEqual(
      shown({ elements, liveFrom: 3, history: [...history, result("c0_2", "own")], live: [user("two")] }),
      [["u", "zero"], ["c", "c0_0"], ["r", "c0_0", "foreign"], ...elements],
    );
  });

  it("keeps the harness's result where the transcript does not have it yet", () => {
    const history = [user("one"), assistant("done")];
    const missing = missingResult({ type: "toolCall", id: "c1", name: "t", arguments: {} });
    const live = [user("two"), call("c0"), result("c0", "first"), call("c1"), missing];
    const newest: Element[] = [
      ["u", "two"],
      ["c", "c0"],
      ["r", "c0", "first"],
      ["c", "c1"],
      ["r", "c1", "second"],
    ];
    const elements: Element[] = [["u", "zero"], ["a", "done"], ["u", "one"], ["a", "done"], ...newest];
    const kept: Element[] = [["u", "one"], ["a", "done"], ...newest];
    const governed = { isOpen: (id: string) => id === "c1" || id === "c0" };
    assert.deepEqual(shown({ elements, liveFrom: 4, history, live, governed }), kept);
    assert.notDeepEqual(shown({ elements, liveFrom: 4, history, live }), kept, "an engine may drop a result");

    const renamed = [user("two"), call("c0"), result("c0", "first"), call("c0_2")];
    const second = missingResult({ type: "toolCall", id: "c0_2", name: "t", arguments: {} });
    const reused = elements.map(([kind, id, ...text]): Element => {
      return id === "c1" ? ([kind, "c0", ...text] as Element) : ([kind, id, ...text] as Element);
    });
    const shownReused = shown({
      elements: reused,
      liveFrom: 4,
      history,
      live: [...renamed, second],
      governed,
    });
    assert.deepEqual(shownReused.at(-1), ["r", "c0", "second"]);
  });

  it("does not match equal text of long ago with the input that the harness has rewritten", () => {
    const input = user("go on");
    const elements: Element[] = [
      ["u", "go on"],
      ["a", "first"],
      ["u", "then"],
      ["a", "second"],
      ["u", "<x>go on</x>"],
    ];
    const history = [user("go on"), assistant("first"), user("then"), assistant("second")];
    const setup = { elements, liveFrom: 4, history, live: [input], originals: [input] };
    assert.equal(spliced(setup).isReplaced, false);
  });

  it("does not lose older elements to short text of another runtime", () => {
    const elements: Element[] = ["1", "2", "3"].flatMap((turn): Element[] => [
      ["u", "go on"],
      ["a", `answer ${turn}`],
    ]);
    const own = ["1", "2", "3"].flatMap((turn) => [user("go on"), assistant(`answer ${turn}`)]);
    const setup = {
      elements: [...elements, ["u", "next"] as Element],
      liveFrom: 6,
      history: [...own, user("go on"), assistant("elsewhere")],
      live: [user("next")],
    };
    const { keptItems, encodedMessages } = spliced(setup);
    assert.deepEqual([keptItems, encodedMessages], [7, 2]);
  });

  it("encodes the input again if the engine has compacted what is between it and the rest", () => {
    const [input, a, b] = [user("two"), call("a"), call("b")];
    const elements: Element[] = [
      ["u", "old"],
      ["u", "two!"],
      ["c", "a"],
      ["r", "a", "ra"],
      ["c", "b"],
      ["r", "b", "rb"],
    ];
    const live = [input, user("SUMMARY of a"), b, result("b", "rb")];
    const setup = {
      elements,
      liveFrom: 1,
      history: [user("HEAD")],
      live,
      originals: [input, a, ...live.slice(2)],
    };
    assert.deepEqual(shown(setup), [
      ["u", "HEAD"],
      ["u", "two"],
      ["u", "SUMMARY of a"],
      ...elements.slice(4),
    ]);
  });

  it("keeps the harness's own elements of the live turn, before what the host has appended", () => {
    const elements: Element[] = [
      ["u", "two!"],
      ["c", "a"],
      ["u", "joined"],
      ["r", "a", "ra"],
      ["c", "b"],
      ["r", "b", "rb"],
    ];
    const live = [user("two"), call("a"), result("a", "ra"), user("VOLATILE"), call("b"), result("b", "rb")];
    const originals = live.filter((message) => message !== live[3]);
    assert.deepEqual(shown({ elements, liveFrom: 0, history: [], live, originals }), [
      ...elements.slice(0, 4),
      ["u", "VOLATILE"],
      ...elements.slice(4),
    ]);
  });

  it("encodes text that the harness has nowhere, but waits for the newest", () => {
    const elements: Element[] = [
      ["u", "two"],
      ["c", "a"],
      ["r", "a", "ra"],
    ];
    const live = [user("two"), user("steered"), call("a"), result("a", "ra"), user("on its way")];
    assert.deepEqual(shown({ elements, liveFrom: 0, history: [], live, originals: live }), [
      ["u", "two"],
      ["u", "steered"],
      ...elements.slice(1),
    ]);
    const none: Element[] = [["a", "old"]];
    const input = live.slice(0, 1);
    assert.deepEqual(
      shown({ elements: none, liveFrom: 1, history: [assistant("old")], live: input, originals: input }),
      [...none, ["u", "two"]],
      "an input that is in no element",
    );
  });

  it("continues the live turn before its user's newest text", () => {
    const elements: Element[] = [
      ["u", "old"],
      ["u", "two"],
      ["m"],
      ["c", "a"],
      ["r", "a", "ra"],
      ["u", "steered"],
    ];
    const live = [user("two"), call("a"), result("a", "ra"), user("steered")];
    assert.deepEqual(shown({ elements, liveFrom: 5, history: [user("SUMMARY")], live }), [
      ["u", "SUMMARY"],
      ...elements.slice(1),
    ]);
    const [input, ...rest] = elements.slice(1);
    assert.ok(input);
    const rewritten: Element[] = [["u", "old"], ["u", "two!"], ...rest];
    const known = { history: [user("SUMMARY")], live, originals: live, governed: { liveFrom: 1 } };
    assert.deepEqual(shown({ elements: rewritten, liveFrom: 5, ...known }), [
      ["u", "SUMMARY"],
      ...rewritten.slice(1),
    ]);
  });

  it("repeats surroundings of a dropped element between kept ones", () => {
    const elements: Element[] = [
      ["u", "one"],
      ["U", "two"],
      ["a", "second"],
      ["u", "three"],
    ];
    assert.deepEqual(
      shown({ elements, liveFrom: 3, history: [user("one"), assistant("second")], live: [user("three")] }),
      [elements[0], ["s", "around two"], elements[2], elements[3]],
    );
  });

  it("does not count a message without text as encoded", () => {
    const thought: AgentMessage = { role: "assistant", content: [{ type: "thinking", thinking: "hm" }] };
    const elements: Element[] = [["u", "one"], ["m"], ["a", "first"], ["u", "two"]];
    const history = [user("one"), thought, assistant("first"), user("")];
    assert.equal(spliced({ elements, liveFrom: 3, history, live: [user("two"), thought] }).isReplaced, false);
  });

  it("drops a result without its call if the live turn begins between them", () => {
    const elements: Element[] = [
      ["u", "one"],
      ["c", "a"],
      ["r", "a", "ra"],
      ["u", "two"],
    ];
    assert.deepEqual(shown({ elements, liveFrom: 2, history: [user("SUMMARY")], live: [user("two")] }), [
      ["u", "SUMMARY"],
      ["u", "two"],
    ]);
  });

  it("encodes one element's messages again if another message came between them", () => {
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

  it("handles a request with only a prefix, and a context with only the live turn", () => {
    const elements: Element[] = [["s", "rules"]];
    const request = readToy(bodyOf(elements), 1, 1);
    const context = { messages: [user("SUMMARY"), user("one")], historyCount: 1 };
    const { body } = splice(request, { context, isOriginal: () => false }, toyDialect);
    assert.deepEqual(listOf(body), [...elements, ["u", "SUMMARY"], ["u", "one"]]);
    const live = [user("two")];
    assert.deepEqual(shown({ elements: EVICTED, liveFrom: 6, history: [], live }), [["u", "two"]]);
  });

  it("keeps the engine's order if an engine has reordered messages", () => {
    const elements: Element[] = [
      ["u", "one"],
      ["a", "first"],
      ["u", "two"],
      ["a", "second"],
      ["u", "three"],
    ];
    const history = [user("two"), assistant("second"), user("one"), assistant("first")];
    const list = shown({ elements, liveFrom: 4, history, live: [user("three")] });
    assert.deepEqual(list, [elements[2], elements[3], elements[0], elements[1], elements[4]]);
  });
});
