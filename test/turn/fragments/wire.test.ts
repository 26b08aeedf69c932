import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import { eventsOf } from "../in-process.ts";
import { context, FragmentBench } from "./fragment-bench.ts";

const A = context({ a: ["application", "one"] });
const DEV = "system:<a>one</a>";

describe("additional context at the endpoint", () => {
  let bench: FragmentBench;
  afterEach(() => bench.end());

  it("comes before the input, sorted by the bytes of its keys, in roles and wrappers, unescaped", async () => {
    bench = await FragmentBench.open();
    const pagurus = await bench.start("legacy");
    await bench.say(
      pagurus,
      "What now?",
      context({
        "\u{1F600}": ["application", "last"],
        "\uFF5E": ["application", "almost last"],
        b: ["untrusted", "<b> & </external_b>"],
        B: ["application", "</B>\n"],
        "odd key/é": ["untrusted", ""],
      }),
    );
    assert.deepEqual(bench.items(0), [
      "system:<B></B>\n</B>",
      "user:<external_b><b> & </external_b></external_b>",
      "user:<external_odd key/é></external_odd key/é>",
      "system:<\uFF5E>almost last</\uFF5E>",
      "system:<\u{1F600}>last</\u{1F600}>",
      "user:What now?",
    ]);
  });

  it("is sent once while it is unchanged, and again when its value or kind changes", async () => {
    bench = await FragmentBench.open();
    const pagurus = await bench.start("legacy");
    await bench.say(pagurus, "1", A);
    await bench.say(pagurus, "2", A);
    await bench.say(pagurus, "3", context({ a: ["application", "two"] }));
    await bench.say(pagurus, "4", context({ a: ["untrusted", "two"] }));
    await bench.say(pagurus, "5", A);
    assert.deepEqual(bench.items(4), [
      DEV,
      "user:1",
      "assistant:answer 0",
      "user:2",
      "assistant:answer 1",
      "system:<a>two</a>",
      "user:3",
      "assistant:answer 2",
      "user:<external_a>two</external_a>",
      "user:4",
      "assistant:answer 3",
      DEV,
      "user:5",
    ]);
    bench.assertGrows(0, 4);
  });

  it("drops a key that is left out, and sends it again when it returns", async () => {
    bench = await FragmentBench.open();
    const pagurus = await bench.start("legacy");
    const both = context({ a: ["application", "one"], b: ["untrusted", "two"] });
    await bench.say(pagurus, "1", both);
    await bench.say(pagurus, "2", A);
    await bench.say(pagurus, "3", both);
    const B = "user:<external_b>two</external_b>";
    assert.deepEqual(
      bench.items(2).filter((item) => item.includes("<")),
      [DEV, B, B],
    );
    assert.deepEqual(bench.items(2).slice(-2), [B, "user:3"]);
  });

  for (const [name, nothing] of [
    ["absent", undefined],
    ["null", null],
    ["empty", {}],
  ] as const) {
    it(`drops everything when it is ${name}, and sends nothing`, async () => {
      bench = await FragmentBench.open();
      const pagurus = await bench.start("legacy");
      await bench.say(pagurus, "1", A);
      await bench.say(pagurus, "2", nothing);
      assert.deepEqual(bench.items(1), [DEV, "user:1", "assistant:answer 0", "user:2"]);
      await bench.say(pagurus, "3", A);
      assert.deepEqual(bench.items(2).slice(-2), [DEV, "user:3"]);
    });
  }

  it("refuses anything but a map of values, before anything starts", async () => {
    bench = await FragmentBench.open();
    const pagurus = await bench.start("legacy");
    for (const wrong of [
      { a: "text" },
      { a: { value: 1, kind: "application" } },
      { a: { value: "", kind: "x" } },
      [],
    ]) {
      const run = pagurus.run({ prompt: "1", cwd: bench.root, additionalContext: wrong as never });
      const end = (await eventsOf(run)).at(-1);
      assert.ok(end?.type === "turn.failed" && end.error.code === "usage_invalid", JSON.stringify(end));
    }
    assert.equal(bench.server.requests.length, 0);
  });

  it("is a user message in its place when the protocol takes no developer message there", async () => {
    bench = new FragmentBench((await FragmentBench.with(() => ({ text: "Done." }))).server);
    const pagurus = await bench.host();
    await bench.ask(pagurus, "1", { additionalContext: A });
    await bench.ask(pagurus, "2", { additionalContext: A });
    const { system, messages } = bench.body(1);
    assert.ok(!system.includes("<a>"));
    assert.deepEqual(
      messages.map(({ role, text }) => `${role}:${text}`),
      ["user:<a>one</a>\n\n1", "assistant:Done.", "user:2"],
    );
  });
});

describe("additional context of a steering text", () => {
  let bench: FragmentBench;
  afterEach(() => bench.end());

  /** A turn whose first answer calls a tool; `act` runs while that request is open. */
  async function steered(act: (run: TurnRun) => void, options: Parameters<FragmentBench["start"]>[1] = {}) {
    let run: TurnRun | undefined;
    bench = await FragmentBench.open((_request, index) => {
      if (index > 0) return { text: `answer ${index}` };
      if (run) act(run);
      return { toolCalls: [{ id: "c1", name: "glob", arguments: { pattern: "*" } }] };
    });
    const pagurus = await bench.start("legacy", options);
    run = pagurus.run({ prompt: "1", cwd: bench.root, additionalContext: A });
    const events = await eventsOf(run);
    assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
    return { pagurus, events };
  }

  it("comes before the steering text, without what the turn has sent already", async () => {
    const { pagurus } = await steered((run) => {
      const more = context({ a: ["application", "one"], z: ["untrusted", "new"] });
      assert.equal(run.steer("Mind the fog.", { additionalContext: more }), true);
    });
    const expected = [
      DEV,
      "user:1",
      "function_call",
      "function_call_output",
      "user:<external_z>new</external_z>",
      "user:Mind the fog.",
    ];
    assert.deepEqual(bench.items(1), expected);
    await bench.say(pagurus, "2", context({ z: ["untrusted", "new"] }));
    assert.deepEqual(bench.items(2), [...expected, "assistant:answer 1", "user:2"]);
  });

  it("is the whole set: a steering text without one drops all", async () => {
    const { pagurus } = await steered((run) => run.steer("And the fog?"));
    await bench.say(pagurus, "2", A);
    assert.deepEqual(bench.items(-1).slice(-2), [DEV, "user:2"]);
  });

  it("is refused with an empty text, and changes nothing", async () => {
    const { pagurus } = await steered((run) => {
      const refused = { code: "usage_invalid" };
      assert.throws(() => run.steer(" ", { additionalContext: {} }), refused);
      assert.throws(
        () => run.steer("", { additionalContext: context({ b: ["application", "no"] }) }),
        refused,
      );
    });
    await bench.say(pagurus, "2", A);
    assert.deepEqual(bench.items(-1), [
      DEV,
      "user:1",
      "function_call",
      "function_call_output",
      "assistant:answer 1",
      "user:2",
    ]);
  });

  it("stays when a hook blocks the text, and no hook runs on it", async () => {
    const asked: string[] = [];
    const { pagurus, events } = await steered(
      (run) => run.steer("secret", { additionalContext: context({ b: ["application", "kept"] }) }),
      {
        plugin: (api) =>
          api.on("user_prompt", ({ prompt }) => {
            asked.push(prompt);
            return prompt === "secret" ? { block: true, reason: "no" } : undefined;
          }),
      },
    );
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "input_blocked"));
    assert.deepEqual(asked, ["1", "secret"]);
    const expected = [DEV, "user:1", "function_call", "function_call_output", "system:<b>kept</b>"];
    assert.deepEqual(bench.items(1), expected);
    await bench.say(pagurus, "2", context({ b: ["application", "kept"] }));
    assert.deepEqual(bench.items(2), [...expected, "assistant:answer 1", "user:2"]);
  });
});

describe("additional context of a blocked prompt", () => {
  it("is recorded all the same, as Codex does, once the conversation has entries", async () => {
    const bench = await FragmentBench.open();
    try {
      const pagurus = await bench.start("legacy", {
        plugin: (api) =>
          api.on("user_prompt", ({ prompt }) =>
            prompt === "secret" ? { block: true, reason: "no" } : undefined,
          ),
      });
      const block = async (additionalContext: typeof A | null): Promise<void> => {
        const run = pagurus.run({ prompt: "secret", cwd: bench.root, additionalContext });
        const end = (await eventsOf(run)).at(-1);
        assert.ok(end?.type === "turn.failed" && end.error.code === "prompt_blocked", JSON.stringify(end));
        assert.deepEqual(end.degraded, []);
      };
      await block(A);
      assert.equal(pagurus.sessions().find("main"), undefined);
      await bench.say(pagurus, "first", context({ a: ["application", "zero"] }));
      await block(A);
      await bench.say(pagurus, "third", A);
      const expected = ["system:<a>zero</a>", "user:first", "assistant:answer 0", DEV, "user:third"];
      assert.deepEqual(bench.items(1), expected);
      await block(null);
      await bench.say(pagurus, "fifth", A);
      assert.deepEqual(bench.items(2), [...expected, "assistant:answer 1", DEV, "user:fifth"]);
    } finally {
      await bench.end();
    }
  });
});
