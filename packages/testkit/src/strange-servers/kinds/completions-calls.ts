/** Calls of the Chat Completions API in pieces of every form. */
import { ofKind, streamed, type StrangeAnswer, type Variant, ONE, TWO } from "../strange-answer.ts";
import { P, chunk, ended, called, A, B, fn, args } from "./completions-frames.ts";

function pieces(): Variant[] {
  return [
    streamed(
      "no-index",
      "leaves out the indexes of its calls",
      called({ id: "a", ...fn("probe", '{"k":') }, args('"a"}'), { id: "b", ...fn("probe", B) }),
      TWO,
    ),
    streamed(
      "one-index",
      "gives all calls one index",
      called({ index: 0, id: "a", ...fn("probe", A) }, { index: 0, id: "b", ...fn("probe", B) }),
      TWO,
    ),
    streamed(
      "one-index-no-id",
      "gives all calls one index and no id",
      called({ index: 0, ...fn("probe", A) }, { index: 0, ...fn("probe", B) }),
      TWO,
    ),
    streamed(
      "moving-index",
      "continues a call under another index",
      called(
        { index: 0, id: "a", ...fn("probe", "") },
        { index: 1, ...args('{"k":') },
        { index: 1, ...args('"a"}') },
      ),
      ONE,
    ),
    streamed(
      "moving-index-id",
      "continues a call under another index with its id",
      called({ index: 0, id: "a", ...fn("probe", '{"k":') }, { index: 3, id: "a", ...args('"a"}') }),
      ONE,
    ),
    streamed(
      "index-text",
      "writes indexes as text",
      called({ index: "0", id: "a", ...fn("probe", '{"k":') }, { index: "0", ...args('"a"}') }),
      ONE,
    ),
    streamed(
      "index-one",
      "begins to count its calls at one",
      called({ index: 1, id: "a", ...fn("probe", A) }, { index: 2, id: "b", ...fn("probe", B) }),
      TWO,
    ),
  ];
}

function oddIds(): Variant[] {
  return [
    streamed("id-number", "numbers its calls", called({ index: 0, id: 7, ...fn("probe", A) }), ONE),
    streamed(
      "id-empty",
      "gives calls empty ids",
      called({ index: 0, id: "", ...fn("probe", A) }, { index: 1, id: "", ...fn("probe", B) }),
      TWO,
    ),
    streamed(
      "id-null",
      "gives pieces null as their id",
      called(
        { index: 0, id: "a", ...fn("probe", '{"k":') },
        { index: 0, id: null, type: null, function: { name: null, arguments: '"a"}' } },
      ),
      ONE,
    ),
    streamed(
      "id-repeated",
      "repeats the id and the name with every piece",
      called({ index: 0, id: "a", ...fn("probe", '{"k":') }, { index: 0, id: "a", ...fn("probe", '"a"}') }),
      ONE,
    ),
    streamed(
      "id-late",
      "sends the id of a call at its end",
      called({ index: 0, ...fn("probe", A) }, { index: 0, id: "a", function: {} }),
      ONE,
    ),
    streamed(
      "ids-equal",
      "gives two calls one id",
      ended(
        [
          chunk({ tool_calls: [{ index: 0, id: "a", ...fn("probe", A) }] }),
          chunk({ tool_calls: [{ index: 1, id: "b", ...fn("probe", B) }] }),
        ],
        "tool_calls",
      ),
      TWO,
    ),
    streamed(
      "name-late",
      "sends the name of a call after its arguments",
      called(
        { index: 0, id: "a", ...args('{"k":') },
        { index: 0, function: { name: "probe", arguments: '"a"}' } },
      ),
      ONE,
    ),
    streamed(
      "name-pieces",
      "sends the name of a call in pieces",
      called(
        { index: 0, id: "a", ...fn("pro", "") },
        { index: 0, ...fn("be", "") },
        { index: 0, ...args(A) },
      ),
      ONE,
    ),
  ];
}

function oddArguments(): Variant[] {
  return [
    streamed(
      "args-object",
      "sends arguments as an object",
      called({ index: 0, id: "a", ...fn("probe", { k: "a" }) }),
      ONE,
    ),
    streamed(
      "args-null",
      "sends null before the arguments",
      called({ index: 0, id: "a", ...fn("probe", null) }, { index: 0, ...args(A) }),
      ONE,
    ),
    streamed(
      "args-repeated",
      "repeats a whole call at the end",
      called({ index: 0, id: "a", ...fn("probe", A) }, { index: 0, id: "a", ...fn("probe", A) }),
      ONE,
    ),
    streamed(
      "args-absent",
      "makes a call without arguments",
      called({ index: 0, id: "a", type: "function", function: { name: "nothing" } }),
      { calls: [["nothing", {}]] },
    ),
    streamed(
      "both-at-once",
      "sends two calls in one piece",
      ended(
        [
          chunk({
            tool_calls: [
              { id: "a", ...fn("probe", A) },
              { id: "b", ...fn("probe", B) },
            ],
          }),
        ],
        "tool_calls",
      ),
      TWO,
    ),
    streamed(
      "not-a-list",
      "sends a call that is in no list",
      ended([chunk({ tool_calls: { index: 0, id: "a", ...fn("probe", A) } })], "tool_calls"),
      ONE,
    ),
    streamed(
      "function-call",
      "calls as the first version of its protocol",
      ended(
        [
          chunk({ function_call: { name: "probe", arguments: "" } }),
          chunk({ function_call: { arguments: A } }),
        ],
        "function_call",
      ),
      ONE,
    ),
    streamed(
      "flat",
      "puts name and arguments at the top of a call",
      called({ index: 0, id: "a", name: "probe", arguments: A }),
      ONE,
    ),
    streamed(
      "interleaved",
      "sends two calls at once",
      called(
        { index: 0, id: "a", ...fn("probe", '{"k":') },
        { index: 1, id: "b", ...fn("probe", '{"k":') },
        { index: 0, ...args('"a"}') },
        { index: 1, ...args('"b"}') },
      ),
      TWO,
    ),
  ];
}

export function completionsCallsAnswers(): StrangeAnswer[] {
  return [...ofKind("call-pieces", P, [...pieces(), ...oddIds(), ...oddArguments()])];
}
