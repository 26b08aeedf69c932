import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { HookContext, HookName } from "../../../packages/contract/src/host/hooks.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { eventsOf, words } from "../in-process.ts";
import { rotator } from "../lanes/rotating.ts";
import { calls, Calls, engineOf, failure, MembersBench, ofType } from "./members-bench.ts";

interface Seen {
  hook: string;
  payload: unknown;
  context: HookContext;
}

const LIFE: HookName[] = ["session_start", "before_reset", "session_end", "gateway_start", "gateway_stop"];

describe("hooks of sessions and of the host", () => {
  let bench: MembersBench;
  let seen: Seen[];
  beforeEach(async () => {
    seen = [];
    bench = await MembersBench.open();
  });
  afterEach(() => bench.end());

  const watch = (api: PluginApi): void => {
    for (const hook of LIFE) api.on(hook, (payload, context) => void seen.push({ hook, payload, context }));
  };
  const reports = (): [string, unknown][] => seen.map(({ hook, payload }) => [hook, payload]);

  it("report the host's start and end, and each session's first opening and its end", async () => {
    const first = await bench.start({ plugin: watch });
    assert.deepEqual(reports(), [["gateway_start", {}]]);
    await bench.ask(first, "One");
    await bench.ask(first, "Two");
    await first.close();
    assert.deepEqual(reports().slice(1), [
      ["session_start", { resumed: false }],
      ["session_end", { reason: "shutdown" }],
      ["gateway_stop", {}],
    ]);
    seen.length = 0;
    await bench.ask(await bench.start({ plugin: watch }), "Three");
    assert.deepEqual(reports(), [
      ["gateway_start", {}],
      ["session_start", { resumed: true }],
    ]);
  });

  it("report at a reload that sessions end, and when one is opened again", async () => {
    const pagurus = await bench.start({ plugin: watch });
    await bench.ask(pagurus, "One");
    seen.length = 0;
    await pagurus.reload();
    assert.deepEqual(reports(), [["session_end", { reason: "shutdown" }]]);
    await bench.ask(pagurus, "Two");
    assert.deepEqual(reports().slice(1), [["session_start", { resumed: true }]]);
  });

  it("name the session, the agent and, in a turn, the turn", async () => {
    const pagurus = await bench.start({ plugin: watch });
    const [started] = ofType(await bench.ask(pagurus, "One"), "turn.started");
    const [gateway, session] = seen;
    assert.deepEqual(gateway?.context, { sessionKey: "", sessionId: "", agentId: "main" });
    const { sessionId, turnId } = started ?? {};
    assert.deepEqual(session?.context, { sessionKey: "main", sessionId, agentId: "main", turnId });
  });

  for (const reason of ["new", "reset"] as const) {
    it(`report /${reason} before the generation ends and when it has ended`, async () => {
      const pagurus = await bench.start({
        plugin: (api) => {
          watch(api);
          api.on("before_reset", (_payload, { sessionKey, sessionId }) => {
            const now = pagurus.sessions().find(sessionKey)?.sessionId;
            assert.equal(now, sessionId, "the old generation is still the current one");
          });
        },
      });
      await bench.ask(pagurus, "One");
      const old = pagurus.sessions().find("main")?.sessionId;
      seen.length = 0;
      const { sessionId: next } = await pagurus.renew({ reason, cwd: bench.root });
      assert.deepEqual(reports(), [
        ["before_reset", { reason }],
        ["session_end", { reason, nextSessionId: next }],
      ]);
      assert.deepEqual(
        seen.map(({ context }) => context.sessionId),
        [old, old],
      );
      await bench.ask(pagurus, "Two");
      assert.deepEqual(reports().at(-1), ["session_start", { resumed: false }]);
      assert.equal(bench.logged("hook failed").length, 0);
    });
  }

  it("report a session's deletion, and closing does not report it again", async () => {
    const pagurus = await bench.start({ plugin: watch });
    await bench.ask(pagurus, "One");
    seen.length = 0;
    await pagurus.deleteSession({ sessionKey: "main" });
    await pagurus.close();
    assert.deepEqual(reports(), [
      ["session_end", { reason: "deleted" }],
      ["gateway_stop", {}],
    ]);
  });

  it("report a rotation with the session that follows", async () => {
    const engine = engineOf(
      new Calls(),
      { compact: rotator(join(bench.root, "successors")) },
      { ownsCompaction: true },
    );
    const pagurus = await bench.start({ engine, plugin: watch });
    await bench.ask(pagurus, "One");
    seen.length = 0;
    const compacted = await pagurus.compact({ cwd: bench.root });
    const now = pagurus.sessions().find("main")?.sessionId;
    assert.equal(compacted.compacted, true, compacted.reason ?? "");
    assert.deepEqual(reports(), [["session_end", { reason: "rotated", nextSessionId: now }]]);
    assert.equal(now, "successor-1");
    await pagurus.close();
    assert.deepEqual(reports().slice(1), [
      ["session_end", { reason: "shutdown" }],
      ["gateway_stop", {}],
    ]);
  });

  it("that throw cost a warning: turns, renewal and the end of the host continue", async () => {
    const pagurus = await bench.start({
      plugin: (api) => {
        for (const hook of LIFE)
          api.on(hook, () => {
            throw new Error("the watcher broke");
          });
      },
    });
    const [degraded] = ofType(await bench.ask(pagurus, "One"), "context.degraded");
    assert.match(degraded?.reason ?? "", /hook session_start of plugin hooks: .*the watcher broke/);
    await pagurus.renew({ reason: "new", cwd: bench.root });
    await pagurus.close();
    assert.deepEqual(
      bench.logged("hook failed").map(({ hook }) => hook),
      ["gateway_start", "session_start", "before_reset", "session_end", "gateway_stop"],
    );
  });
});

describe("hooks of a turn", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  it("before_prompt_build sees each request as it will be sent, and adds text around the system prompt", async () => {
    bench = await MembersBench.open([calls("glob", { pattern: "*" }), { text: "Done." }]);
    const seen: string[][] = [];
    const pagurus = await bench.start({
      plugin: (api) => {
        api.on("before_prompt_build", ({ prompt, system, messages }) => {
          seen.push([prompt, system.slice(0, 16), ...messages.map(({ role }) => role)]);
          return { prependSystemContext: "First before.", appendSystemContext: "First after." };
        });
        api.on("before_prompt_build", () => ({ appendSystemContext: "Second after." }));
      },
    });
    await bench.ask(pagurus, "One");
    assert.deepEqual(seen, [
      ["One", "You are an agent", "user"],
      ["One", "You are an agent", "user", "assistant", "toolResult"],
    ]);
    for (const index of [0, 1]) {
      const { system } = bench.body(index);
      assert.match(system, /^First before\.\n\nYou are an agent[\s\S]*\n\nFirst after\.\n\nSecond after\.$/);
    }
  });

  it("user_prompt sees each input, steering too, and blocks it with its reason", async () => {
    const inputs: string[] = [];
    let run: ReturnType<Awaited<ReturnType<MembersBench["start"]>>["run"]> | undefined;
    bench = await MembersBench.open((_request, index) => {
      if (index === 0) run?.steer("Also the secret one.");
      return { text: `Reply ${index}.` };
    });
    const pagurus = await bench.start({
      plugin: (api) =>
        api.on("user_prompt", ({ prompt }) => {
          inputs.push(prompt);
          return prompt.includes("secret") ? { block: true, reason: "It is a secret." } : undefined;
        }),
    });
    const blocked = failure(await eventsOf(pagurus.run({ prompt: "A secret.", cwd: bench.root })));
    assert.equal(blocked.code, "prompt_blocked");
    assert.match(blocked.message, /It is a secret\./);
    assert.equal(bench.server.requests.length, 0);
    run = pagurus.run({ prompt: "One", cwd: bench.root });
    const events = await eventsOf(run);
    assert.deepEqual(inputs, ["A secret.", "One", "Also the secret one."]);
    const [notice] = ofType(events, "notice").filter(({ kind }) => kind === "input_blocked");
    assert.match(notice?.detail ?? "", /It is a secret\./);
    for (const { text } of bench.server.requests) assert.ok(!text.includes("the secret one"));
  });

  it("before_tool_call sees the call, may change it or block it; after_tool_call sees its outcome", async () => {
    const commands = ["echo no", "echo silent", "echo old", "echo plain"];
    bench = await MembersBench.open([
      {
        toolCalls: commands.map((command, index) => ({
          id: `c${index}`,
          name: "shell",
          arguments: { command },
        })),
      },
      { text: "Done." },
    ]);
    const before: unknown[] = [];
    const after: { toolCallId: string; toolName: string; command: unknown; text: string; ms: number }[] = [];
    const pagurus = await bench.start({
      plugin: (api) => {
        api.on("before_tool_call", (payload) => {
          before.push(payload);
          const { command } = payload.params;
          if (command === "echo no") return { block: true, blockReason: "Never that." };
          if (command === "echo silent") return { block: true };
          return command === "echo old" ? { params: { command: "echo new" } } : undefined;
        });
        // The next handler sees the call as the first has changed it.
        api.on("before_tool_call", ({ params }) =>
          params["command"] === "echo new" ? { params: { command: "echo newer" } } : undefined,
        );
        api.on("after_tool_call", ({ toolCallId, toolName, params, outcome, durationMs }) => {
          const text = outcome.content.map((part) => (part.type === "text" ? part.text : "")).join("");
          after.push({ toolCallId, toolName, command: params["command"], text, ms: durationMs });
        });
      },
    });
    await bench.ask(pagurus, "One");
    assert.deepEqual(
      before,
      commands.map((command, index) => ({ toolCallId: `c${index}`, toolName: "shell", params: { command } })),
    );
    const results = bench.body(1).messages.flatMap((message) => message.results.map(({ text }) => text));
    assert.match(results[0] ?? "", /Never that\./);
    assert.match(results[1] ?? "", /A hook blocked the call\./);
    assert.match(results[2] ?? "", /^newer/);
    assert.match(results[3] ?? "", /^plain/);
    // The calls run side by side: either may end first.
    const ran = after
      .filter(({ text }) => /^(newer|plain)/.test(text))
      .toSorted((a, b) => a.toolCallId.localeCompare(b.toolCallId));
    assert.deepEqual(
      ran.map(({ toolCallId, toolName, command }) => [toolCallId, toolName, command]),
      [
        ["c2", "shell", "echo newer"],
        ["c3", "shell", "echo plain"],
      ],
    );
    for (const { ms } of ran) assert.ok(Number.isFinite(ms) && ms >= 0);
  });

  it("a gate that throws blocks the call; a watcher that throws changes nothing", async () => {
    bench = await MembersBench.open([calls("shell", { command: "echo hello" }), { text: "Done." }]);
    let gateBroken = true;
    const pagurus = await bench.start({
      plugin: (api) => {
        api.on("before_tool_call", () => {
          if (gateBroken) throw new Error("the gate broke");
        });
        api.on("after_tool_call", () => {
          throw new Error("the watcher broke");
        });
      },
    });
    await bench.ask(pagurus, "One");
    const result = (index: number): string =>
      bench
        .body(index)
        .messages.flatMap((message) => message.results.map(({ text }) => text))
        .at(-1) ?? "";
    assert.match(result(1), /a gate fails closed/);
    await bench.end();
    gateBroken = false;
    bench = await MembersBench.open([calls("shell", { command: "echo hello" }), { text: "Done." }]);
    const again = await bench.start({
      plugin: (api) =>
        api.on("after_tool_call", () => {
          throw new Error("the watcher broke");
        }),
    });
    const degraded = ofType(await bench.ask(again, "One"), "context.degraded");
    assert.match(degraded[0]?.reason ?? "", /after_tool_call .*the watcher broke/);
    assert.match(result(1), /^hello/);
  });

  it("session_before_compact may supply a summary, with details that the transcript keeps", async () => {
    let script = 0;
    bench = await MembersBench.open(() =>
      ++script === 3 ? calls("big", {}) : { text: `Reply ${script}. ${"word ".repeat(300)}` },
    );
    const pagurus = await bench.start({
      model: { contextWindow: 20_000 },
      defaults: { compaction: { keepRecentTokens: 1_000 } },
      plugin: (api) => {
        api.registerTool({
          name: "big",
          description: "Much.",
          parameters: { type: "object", properties: {} },
          execute: async () => ({
            content: [{ type: "text", text: "much of it ".repeat(3_500) }],
            isError: false,
          }),
        });
        api.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
          compaction: { summary: "All was well.", firstKeptEntryId, tokensBefore, details: { pages: 3 } },
        }));
      },
    });
    for (const name of ["One", "Two", "Three"]) await bench.ask(pagurus, `${name} ${"word ".repeat(2_500)}`);
    const compaction = bench.entries(pagurus).find((entry) => entry.type === "compaction");
    assert.ok(compaction?.type === "compaction");
    const { summary, details, origin, handledBy } = compaction;
    assert.deepEqual(
      { summary, details, origin, handledBy },
      { summary: "All was well.", details: { pages: 3 }, origin: "hook", handledBy: "hooks" },
    );
    const { messages } = await pagurus.context.preview({ prompt: "Next", cwd: bench.root });
    assert.ok(messages.some((message) => words(message).includes("All was well.")));
  });
});
