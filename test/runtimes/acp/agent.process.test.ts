/** Agents that misbehave, one sentence each; and the prompts of native sessions, which an agent logs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, it } from "node:test";
import { join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import {
  AGENT,
  answer,
  bench,
  degraded,
  failure,
  hostOf,
  isAlive,
  modelsOf,
  noted,
  prompts,
  REF,
  setUp,
  started,
  tearDown,
  turn,
  words,
} from "./agent-bench.ts";
import { COMPILE_CACHE } from "../../runner/compile-cache.ts";
import { longTest } from "../../runner/long-tests.ts";

describe("an agent that misbehaves", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  it("is missing: the error says where it was searched, and what to do", async () => {
    const { code, message } = failure(
      await turn(await hostOf({ entry: { command: "/nowhere/agent" } }), "Hello?"),
    );
    assert.equal(code, "runtime_unsupported");
    assert.match(message, /No ACP agent is installed/);
  });

  longTest("speaks another version of the protocol", async () => {
    const { code, message } = failure(await turn(await hostOf({ way: "old" }), "Hello?"));
    assert.equal(code, "runtime_failed");
    assert.match(message, /it speaks version 7 of the Agent Client Protocol and Pagurus version 1;/);
  });

  longTest("writes invalid lines before its first answer", async () => {
    const { message } = failure(await turn(await hostOf({ way: "noise" }), "Hello?"));
    assert.match(
      message,
      /its first 20 lines are not messages of the Agent Client Protocol; check its command/,
    );
  });

  longTest("never answers, or not at the start of a session: it is ended at the deadline", async () => {
    for (const [way, startSeconds, sentence] of [
      ["mute", 0.4, /its answer to initialize took longer than 400 ms/],
      ["stuck", 1.5, /did not answer session\/new within 1\.5 s and was ended/],
    ] as const) {
      const host = await hostOf({ way, entry: { startSeconds } });
      assert.match(failure(await turn(host, "Hello?")).message, sentence);
      await host.close();
    }
  });

  longTest("is still starting when the host ends: it ends with it", async () => {
    const host = await hostOf({ way: "mute", entry: { startSeconds: 3_600 } });
    const going = turn(host, "Hello?");
    while (started().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await host.close();
    await going;
    assert.ok(!started().some(isAlive));
  });

  it("requires a login, at its start or in a turn", async () => {
    for (const [way, prompt, offers] of [
      ["locked", "Hello?", "Single sign-on; API key with AGENT_KEY"],
      ["", "Now !login", "Single sign-on"],
    ] as const) {
      const host = await hostOf({ way });
      const { code, message } = failure(await turn(host, prompt));
      assert.equal(code, "model_auth");
      assert.ok(
        message.includes(`asks for a login (it offers: ${offers}); log in with the agent's own command`),
        message,
      );
      await host.close();
    }
    assert.ok(!noted().some((each) => "login" in each));
  });

  longTest("requires a login by a key that its environment has: it is logged in, once", async () => {
    const host = await hostOf({ way: "locked", env: { AGENT_KEY: "right" } });
    for (const prompt of ["First.", "Second."]) answer(await turn(host, prompt));
    const wrong = await hostOf({ way: "locked", env: { AGENT_KEY: "wrong" } });
    assert.equal(failure(await turn(wrong, "Third.", { sessionKey: "agent:main:other" })).code, "model_auth");
    assert.deepEqual(
      noted().flatMap(({ login }) => (login === undefined ? [] : [login])),
      ["key", "key"],
    );
  });

  it("crashes in a turn: its text is kept, its last output is reported, the next turn starts it again", async () => {
    const host = await hostOf();
    await turn(host, "First.");
    const events = await turn(host, "Now !crash");
    const { code, message } = failure(events);
    assert.equal(code, "runtime_failed");
    assert.match(
      message,
      /ended with code 3; its last output was: panic: out of rope\. What was done until then is in the session/,
    );
    assert.equal(words(events), "Half a sen");
    assert.equal(answer(await turn(host, "Go on.")), "Heard 4.");
    const sent = prompts().at(-1)?.join("\n") ?? "";
    for (const part of ["First.", "Now !crash", "Half a sen", "Go on."])
      assert.equal(sent.split(part).length, 2, part);
    assert.equal(started().length, 2);
  });

  it("sends invalid or misplaced messages: the turn continues", async () => {
    assert.equal(answer(await turn(await hostOf({ way: "late" }), "Now !broken")), "Whole all the same.");
  });

  longTest("does not end at a cancel: it is ended, with its children", async () => {
    const host = await hostOf({ way: "deaf" });
    const events = await turn(
      host,
      "Now !hang",
      {},
      (event, abort) => event.type === "text.delta" && abort(),
    );
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
    const [pid = 0] = started();
    assert.ok(!isAlive(pid));
  });

  longTest("leaves processes running: they end with the host", async () => {
    const host = await hostOf();
    await turn(host, "Now !child");
    const [pid = 0] = started();
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
    assert.ok(children.some(isAlive));
    await host.close();
    assert.ok(!children.some(isAlive));
  });
});

/** Returns the epoch of `state`, and prepends its head. */
function epochs(state: { epoch: string; addition?: string }): ContextEngine {
  return {
    info: { id: "epochs", name: "Epochs" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages: [{ role: "user", content: `Head of ${state.epoch}.` }, ...messages],
      estimatedTokens: 10,
      contextProjection: { mode: "thread_bootstrap", epoch: state.epoch },
      ...(state.addition === undefined ? {} : { systemPromptAddition: state.addition }),
    }),
    compact: async () => ({ ok: true, compacted: false }),
  };
}

describe("a native session is sent", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  it("within an epoch the input alone, and at another one the whole context, once, in a new session", async () => {
    const state: { epoch: string; addition?: string } = { epoch: "one" };
    const host = await hostOf({ engine: epochs(state) });
    await turn(host, "First.");
    await turn(host, "Second.");
    state.epoch = "two";
    await turn(host, "Third.");
    state.addition = "Be brief.";
    await turn(host, "Fourth.");
    const [first, second, third, fourth] = prompts();
    assert.match(first?.join("\n") ?? "", /<instructions>[\s\S]*Head of one\.[\s\S]*First\.$/);
    assert.deepEqual(second, ["Second."]);
    const sent = third?.join("\n") ?? "";
    for (const part of ["Head of two.", "First.", "Second.", "Third."])
      assert.equal(sent.split(part).length, 2, part);
    assert.doesNotMatch(sent, /Head of one/);
    assert.match(fourth?.join("\n") ?? "", /Be brief\.[\s\S]*Third\.[\s\S]*Fourth\.$/);
    const sessions = noted().flatMap((each) => (each["new"] === undefined ? [] : [each["new"]]));
    assert.equal(new Set(sessions).size, 3);
  });

  longTest("the messages of another runtime since its last turn, none of them twice", async () => {
    const host = await hostOf({ slot: "lossless" });
    await turn(host, "First.");
    await turn(host, "Elsewhere.", { model: "offline/extract", runtime: "embedded" });
    await turn(host, "Third.");
    await turn(host, "Fourth.");
    const [, third, fourth] = prompts();
    assert.match(
      third?.[0] ?? "",
      /^Said in this conversation since your last answer[\s\S]*\[user\]\nElsewhere\./,
    );
    assert.doesNotMatch(third?.join("\n") ?? "", /First\./);
    assert.equal(third?.at(-1), "Third.");
    assert.deepEqual(fourth, ["Fourth."]);
  });

  longTest("additional context once, and again after a change", async () => {
    const host = await hostOf();
    const set = (value: string): Partial<RunRequest> => ({
      additionalContext: { tab: { value, kind: "untrusted" } },
    });
    await turn(host, "First.", set("the harbour page"));
    await turn(host, "Second.", set("the harbour page"));
    await turn(host, "Third.", set("the quay page"));
    const counts = prompts().map((each) => each.join("\n").split(/the \w+ page/).length - 1);
    assert.deepEqual(counts, [1, 0, 1]);
    assert.equal(prompts().at(-1)?.at(-1), "Third.");
  });

  longTest("in a process of its own, by an agent that keeps the past of its process", async () => {
    const state = { epoch: "one" };
    const host = await hostOf({ id: "droid", engine: epochs(state) });
    await turn(host, "First.");
    await turn(host, "Second.");
    state.epoch = "two";
    await turn(host, "Third.");
    await turn(host, "Elsewhere.", { sessionKey: "agent:main:other" });
    const begun = noted().flatMap(({ new: id }) =>
      typeof id === "string" ? [Number(/^s(\d+)-/.exec(id)?.[1])] : [],
    );
    assert.equal(begun.length, 3);
    assert.deepEqual(begun, started());
    assert.equal(prompts().length, 4);
    assert.ok(!isAlive(begun[0] ?? 0), "the process of the first session has ended");
  });

  longTest("no compaction of its own, where another process would have other sessions", async () => {
    const first = await hostOf({ id: "droid" });
    await turn(first, "First.");
    await first.close();
    const again = await hostOf({ id: "droid" });
    const report = await again.compact({ sessionKey: "main", cwd: bench.root });
    assert.match(JSON.stringify(report), /Droid has not opened this session since it was started/);
    assert.equal(started().length, 1);
  });

  longTest("its model by the option or the method that it names, once", async () => {
    for (const [way, option] of [
      ["models", undefined],
      ["options", "which"],
    ] as const) {
      const host = await hostOf({ way });
      const before = noted().length;
      for (const words of ["First.", "Second."]) {
        const events = await turn(host, words);
        assert.deepEqual([degraded(events, "transcript"), modelsOf(events)], [[], ["local/model"]], way);
      }
      const sent = noted()
        .slice(before)
        .filter((each) => "model" in each);
      assert.deepEqual(
        sent.map((each) => [each["model"], each["option"]]),
        [["model", option]],
      );
    }
  });

  it("after a restart its session is loaded, and the replayed history is not part of the turn", async () => {
    const first = await hostOf({ way: "loads" });
    await turn(first, "First.");
    await first.close();
    const again = await hostOf({ way: "loads" });
    assert.equal(answer(await turn(again, "Second.")), "Heard 1.");
    assert.deepEqual(prompts().at(-1), ["Second."]);
    assert.equal(noted().filter((each) => "load" in each).length, 1);
  });

  longTest(
    "an agent that cannot resume gets the conversation in a new session, and the user is notified",
    async () => {
      const first = await hostOf();
      await turn(first, "First.");
      await first.close();
      const events = await turn(await hostOf(), "Second.");
      assert.ok(events.some((event) => event.type === "notice" && event.kind === "acp_session"));
      assert.match(
        prompts().at(-1)?.join("\n") ?? "",
        /\[user\]\nFirst\.\n\n\[assistant\]\nHeard[\s\S]*Second\.$/,
      );
    },
  );
});

describe("the model that ran", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  longTest("is recorded in place of the asked one, and reported on every turn", async () => {
    const host = await hostOf({ way: "models", entry: { model: "none" } });
    for (const words of ["First.", "Second."]) {
      const events = await turn(host, words);
      assert.deepEqual(modelsOf(events), ["local/auto"]);
      const [sentence = "", ...others] = degraded(events, "transcript");
      assert.match(
        sentence,
        /ran the model auto and not none, .* is recorded as auto\. Its prices are unknown: .* those of local\/model\.$/,
      );
      assert.deepEqual(others, []);
    }
  });

  longTest("is what the agent reports of its requests, also where it had accepted another", async () => {
    const events = await turn(await hostOf({ way: "options" }), "Now !other");
    assert.deepEqual(modelsOf(events), ["local/cheap"]);
    assert.match(degraded(events, "transcript").join("\n"), /ran the model cheap and not model/);
    const usage = events.flatMap((event) => (event.type === "usage" ? [event.usage.cost] : []));
    assert.deepEqual(usage, [0.000_03]);
  });

  longTest("is the asked one, and reported as unknown, where an agent names none", async () => {
    const events = await turn(await hostOf(), "First.");
    assert.deepEqual(modelsOf(events), ["local/model"]);
    assert.match(degraded(events, "transcript").join("\n"), /does not report which model it runs/);
  });
});

describe("a permission mode", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  it("is refused before the start of an agent that never requests permission, unless it allows everything", async () => {
    for (const permission of ["ask", "sandbox", "deny", "read-only"]) {
      const { code, message } = failure(await turn(await hostOf({ id: "pi", permission }), "First."));
      assert.equal(code, "runtime_unsupported");
      assert.match(
        message,
        /^pi never requests permission, so the permission mode "[a-z-]+" cannot be kept; choose/,
      );
    }
    assert.deepEqual(started(), []);
    assert.match(answer(await turn(await hostOf({ id: "pi" }), "First.")), /^Heard /);
  });

  longTest(
    "is refused where a known agent has no mode for it, and a mode of the user's settings is taken",
    async () => {
      const { code, message } = failure(
        await turn(await hostOf({ id: "gemini", way: "modes", permission: "ask" }), "First."),
      );
      assert.equal(code, "runtime_unsupported");
      assert.match(
        message,
        /has no mode "default" and stays in bold.*name one of its modes \(careful\) in .*gemini\.mode/,
      );
      assert.deepEqual(prompts(), []);
      for (const [permission, mode] of [
        ["auto", undefined],
        ["ask", "other"],
      ] as const) {
        const entry = mode === undefined ? {} : { mode };
        const events = await turn(await hostOf({ id: "gemini", way: "modes", permission, entry }), "First.");
        assert.match(words(events), /^Heard /);
        assert.ok(events.some((event) => event.type === "notice" && event.detail.includes("stays in bold")));
      }
    },
  );
});

describe("the host's tools", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  const reasons = async (id: string, prompt: string): Promise<string[]> =>
    degraded(await turn(await hostOf({ id }), prompt), "tools");

  longTest("that an agent does not take are reported on every turn, once, with what helps", async () => {
    const host = await hostOf();
    for (const prompt of ["First.", "Second."]) {
      const [reason = "", ...others] = degraded(await turn(host, prompt), "tools");
      assert.match(
        reason,
        /"mine" has not taken the host's MCP server: .* none of the host's tools \([a-z_, ]+\)\.$/,
      );
      assert.deepEqual(others, []);
    }
    assert.match((await reasons("gemini", "Third.")).join(), /; trust the folder in Gemini CLI \(or set/);
  });

  it("are not offered to an agent without MCP, which is reported, too", async () => {
    assert.match((await reasons("pi", "First.")).join(), /^pi takes no MCP servers over stdio: /);
    assert.deepEqual(noted().find((each) => "new" in each)?.["servers"], []);
  });

  longTest("that its model may have are not reported", async () => {
    assert.deepEqual(await reasons("mine", "Now !lists"), []);
  });
});

describe("a policy that names an agent", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  longTest("chooses it, and the turn names it; another agent gets the conversation", async () => {
    const agent = (name: string): object => ({
      command: process.execPath,
      args: [AGENT],
      env: { AGENT_LOG: join(bench.root, `${name}.log`), ...COMPILE_CACHE },
    });
    const runs = (agentId: string): object => ({ agentRuntime: { id: "acp", agentId } });
    const models = [{ id: "model" }, { id: "small" }];
    const provider = { api: "openai-responses", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", models };
    const host = await createPagurus({
      home: join(bench.root, "home"),
      env: { PATH: process.env["PATH"], HOME: bench.root, PAGURUS_NO_PROBE: "1" },
      config: {
        session: { scope: "main" },
        models: { providers: { local: provider } },
        agents: { defaults: { model: REF, models: { [REF]: runs("one"), "local/*": runs("two") } } },
        plugins: { entries: { acp: { config: { agents: { one: agent("one"), two: agent("two") } } } } },
        logging: { level: "silent" },
      },
    });
    bench.hosts.push(host);
    for (const [model, agentId, words] of [
      [REF, "one", "First."],
      ["local/small", "two", "Second."],
    ] as const) {
      const last = (await turn(host, words, { model })).at(-1);
      assert.equal(last?.type === "turn.completed" && last.runtimeReason?.agentId, agentId);
      bench.logFile = join(bench.root, `${agentId}.log`);
      assert.match(prompts().at(-1)?.join("\n") ?? "", new RegExp(`${words}$`));
    }
    assert.equal(prompts().join("\n").split("First.").length, 2);
  });
});

describe("an agent's reports", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  it("its own compaction and its plan are events of the turn, its title is not", async () => {
    const events = await turn(await hostOf(), "Now !compact");
    const compactions = events.filter(
      (event) => event.type === "compaction.started" || event.type === "compaction.completed",
    );
    assert.deepEqual(
      compactions.map((event) => [
        event.lane,
        event.backend,
        event.tokensBefore,
        "tokensAfter" in event && event.tokensAfter,
      ]),
      [
        ["harness", "acp:mine", 900, false],
        ["harness", "acp:mine", 900, 90],
      ],
    );
    const plan = events.find((event) => event.type === "plan.updated");
    assert.deepEqual(plan?.type === "plan.updated" && plan.steps, [{ step: "Rest", status: "inProgress" }]);
    assert.ok(!JSON.stringify(events).includes("A title of its own"));
  });

  longTest("under a governing engine, a session that it compacted is not continued", async () => {
    const host = await hostOf({ slot: "lossless" });
    const events = await turn(host, "Now !compact");
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "native_compaction"));
    await turn(host, "Second.");
    assert.equal(noted().filter((each) => "new" in each).length, 2);
  });

  it("permission requests are decided by the permission mode, and the model's text continues", async () => {
    for (const [permission, expected] of [
      ["auto", "The answer was yes."],
      ["read-only", "The answer was no."],
    ] as const) {
      const host = await hostOf({ permission });
      const events = await turn(host, "Now !write");
      assert.equal(answer(events), expected);
      const result = events.find((event) => event.type === "message" && event.message.role === "toolResult");
      assert.equal(
        result?.type === "message" && result.message.role === "toolResult" && result.message.isError,
        permission !== "auto",
      );
      await host.close();
    }
  });

  it("the words of an answer come before its call, also when permission is requested before they are reported", async () => {
    for (const permission of ["auto", "read-only"] as const) {
      const host = await hostOf({ permission });
      const events = await turn(host, "Now !hasty");
      const recorded = events.flatMap((event) => {
        if (event.type !== "message" || event.message.role === "user") return [];
        const { role, content } = event.message;
        const parts = typeof content === "string" ? [] : content;
        if (role === "toolResult") return ["result"];
        return [parts.map((part) => (part.type === "text" ? part.text : part.type)).join(" | ")];
      });
      const word = permission === "auto" ? "yes" : "no";
      assert.deepEqual(recorded, ["I write. | toolCall", "result", `The answer was ${word}.`]);
      await host.close();
    }
  });

  it("a denied call is recorded as denied, also when its end is reported late or never", async () => {
    for (const [prompt, rest] of [
      ["Now !tardy", ["The answer was no."]],
      ["Now !wordless", []],
    ] as const) {
      const host = await hostOf({ permission: "read-only" });
      const events = await turn(host, prompt);
      const lines = events.flatMap((event) => {
        if (event.type !== "message" || event.message.role === "user") return [];
        const { message } = event;
        const isError = message.role === "toolResult" && message.isError;
        const parts = typeof message.content === "string" ? [] : message.content;
        return parts.map((part) => [part.type === "text" ? part.text : part.type, isError]);
      });
      const [call, result, ...others] = lines;
      assert.deepEqual(call, ["toolCall", false]);
      assert.match(String(result?.[0]), /read-only/);
      assert.equal(result?.[1], true);
      assert.deepEqual(
        others,
        rest.map((text) => [text, false]),
      );
      await host.close();
    }
  });
});
