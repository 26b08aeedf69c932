/** Turns of a host on a program that plays Claude Code, whose context goes through a gateway: one program for all of them. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { createClaudeHarness } from "../../../packages/runtimes/src/claude/claude-harness.ts";
import type { ClaudeOptions } from "../../../packages/runtimes/src/claude/claude-options.ts";
import { FakeGateway } from "./fake-gateway.ts";
import { longTest } from "../../runner/long-tests.ts";

const CHILD = fileURLToPath(new URL("./claude.child.ts", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "pagurus-wired-"));
const played = join(root, "played.jsonl");
const command = join(root, "claude");
const work = join(root, "work");

interface Noted {
  started?: number;
  args?: string[];
  key?: string;
  baseUrl?: string;
  system?: string;
  history?: { message: { role: string; content: { text: string }[] } }[];
  input?: { type: string; message?: { content: { text: string }[] } };
}

let gateway: FakeGateway;
let pagurus: Pagurus;
let epoch = "one";
let addition = "Ask the harbour master.";
let hookText: string | undefined;
let hasKey = true;

/** Returns the history unchanged, in epochs. */
function engine(): ContextEngine {
  const legacy = createLegacyEngine();
  return {
    ...legacy,
    info: { ...legacy.info, id: "epochs", governsContext: true },
    assemble: async ({ messages }) => ({
      messages,
      estimatedTokens: 10,
      systemPromptAddition: addition,
      contextProjection: { mode: "thread_bootstrap", epoch },
    }),
  };
}

before(async () => {
  for (const name of ["work", "elsewhere"]) mkdirSync(join(root, name));
  writeFileSync(command, `#!/bin/sh\nPLAYED="${played}" exec "${process.execPath}" "${CHILD}" "$@"\n`);
  chmodSync(command, 0o755);
  gateway = await FakeGateway.start();
  const env = { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" };
  const home = join(root, "home");
  const models = [
    { id: "m", contextWindow: 200_000, maxTokens: 4_000 },
    { id: "small", contextWindow: 9_000, maxTokens: 1_000 },
  ];
  const runtime = { agentRuntime: { id: "claude-cli" } };
  const quiet = (): void => undefined;
  const options: ClaudeOptions = {
    command,
    context: "wire",
    login: "own",
    env,
    home,
    endpoint: () =>
      hasKey ? { baseUrl: "http://127.0.0.1:9/v1", headers: {}, apiKey: "the-key" } : undefined,
    gateway: () => Promise.resolve(gateway),
    log: { debug: quiet, warn: quiet },
  };
  pagurus = await createPagurus({
    home,
    env,
    engines: { epochs: engine },
    harnesses: [createClaudeHarness(options)],
    plugins: {
      says: (api) =>
        api.on("before_prompt_build", () =>
          hookText === undefined ? {} : { appendSystemContext: hookText },
        ),
    },
    config: {
      session: { scope: "main" },
      models: {
        providers: {
          local: { api: "anthropic-messages", baseUrl: "http://127.0.0.1:9/v1", apiKey: "the-key", models },
        },
      },
      agents: { defaults: { model: "local/m", models: { "local/m": runtime, "local/small": runtime } } },
      plugins: { slots: { contextEngine: "epochs" }, entries: { "claude-cli": { enabled: false } } },
    },
  });
});

after(async () => {
  await pagurus.close();
  assert.deepEqual(gateway.openRoutes, [], "no route is left open");
  await gateway.close();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

function noted(): Noted[] {
  return readFileSync(played, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Noted);
}

function starts(): Noted[] {
  return noted().filter(({ started }) => started !== undefined);
}

/** Texts of the user that the programs received. */
function userTexts(): string[] {
  return noted().flatMap(({ input: line }) =>
    line?.type === "user" ? [(line.message?.content ?? []).map(({ text }) => text).join("|")] : [],
  );
}

type Run = ReturnType<Pagurus["run"]>;

async function run(
  prompt: string,
  more: Partial<RunRequest> & { sessionKey: string },
  on: (event: TurnEvent, turn: Run) => unknown = () => undefined,
): Promise<TurnEvent[]> {
  const turn = pagurus.run({ prompt, cwd: work, ...more });
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    await on(event, turn);
  }
  return events;
}

async function completed(...args: Parameters<typeof run>): Promise<TurnEvent[]> {
  const events = await run(...args);
  assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
  return events;
}

function degradations(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) => (event.type === "context.degraded" ? [event.reason] : []));
}

describe("A program that plays Claude Code at the gateway", { timeout: 60_000 }, () => {
  beforeEach(() => {
    writeFileSync(played, "");
    gateway.asked.length = 0;
    gateway.failure = undefined;
    hookText = undefined;
    hasKey = true;
  });
  it("serves all turns, through epochs, additions and texts of hooks, and gets the input alone", async () => {
    const sessionKey = "one";
    epoch = "one";
    const [started] = await completed("One?", { sessionKey });
    assert.equal(started?.type === "turn.started" && started.seam, "wire");
    epoch = "two";
    addition = "Ask nobody.";
    hookText = "The tide is low.";
    const events = await completed("Two?", {
      sessionKey,
      additionalContext: { tab: { value: "Open.", kind: "untrusted" } },
    });
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.seam, "wire");
    const [program, ...others] = starts();
    assert.ok(program && others.length === 0, "one program");
    assert.deepEqual(userTexts(), ["One?", "Two?"]);
    assert.deepEqual(program.history, []);
    assert.ok(program.system?.includes("Working folder:"));
    assert.ok(!program.system?.includes("Ask the harbour master."));
    assert.notEqual(program.key, "the-key");
    assert.ok(program.args?.every((arg) => !/secret-|the-key/.test(arg)));
    assert.deepEqual(
      gateway.asked.map(({ shown, addition }) => ({ shown, addition })),
      [
        { shown: ["user One?"], addition: "Ask the harbour master." },
        {
          shown: ["user One?", "assistant Answer 0.", "user <external_tab>Open.</external_tab>", "user Two?"],
          addition: "Ask nobody.\n\nThe tide is low.",
        },
      ],
    );
    const { api, runtime, sessionKey: key, saysAddition } = gateway.routes[0]?.request ?? {};
    assert.deepEqual([api, runtime, key, saysAddition], ["anthropic-messages", "claude-cli", "one", true]);
    assert.equal(gateway.routes[0]?.turn, undefined, "no turn is served between turns");
  });

  longTest("gives each request one receipt, which the gateway reports", async () => {
    await completed("One?", { sessionKey: "receipts" });
    const found = await pagurus.context.receipts({ sessionKey: "receipts" });
    const requests = found.map(({ seam, usage }) => ({ seam, tokens: usage?.totalTokens }));
    assert.deepEqual(requests, [{ seam: "wire", tokens: 24 }]);
  });

  longTest("is replaced after it was killed, and the new one gets nothing of the past", async () => {
    await completed("One?", { sessionKey: "killed" });
    process.kill(starts()[0]?.started ?? 0, "SIGKILL");
    await completed("Two?", { sessionKey: "killed" });
    assert.equal(starts().length, 2);
    assert.deepEqual(starts()[1]?.history, []);
    assert.deepEqual(userTexts(), ["One?", "Two?"]);
    assert.deepEqual(gateway.asked.at(-1)?.shown, ["user One?", "assistant Answer 0.", "user Two?"]);
    const routes = gateway.asked.map(({ route }) => route);
    assert.notEqual(routes[0], routes[1], "with a route of its own");
    assert.ok(gateway.routes[routes[0] ?? -1]?.isClosed);
  });

  longTest("is replaced for other instructions, and after an abort", async () => {
    const sessionKey = "others";
    await completed("One?", { sessionKey });
    await completed("Two?", { sessionKey, cwd: join(root, "elsewhere") });
    assert.equal(starts().length, 2);
    const events = await run("Please wait", { sessionKey, cwd: join(root, "elsewhere") }, ({ type }, turn) =>
      type === "text.delta" ? turn.abort() : undefined,
    );
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
    await completed("Four?", { sessionKey, cwd: join(root, "elsewhere") });
    assert.equal(starts().length, 3);
    writeFileSync(join(root, "elsewhere", "AGENTS.md"), "Speak of ships alone.");
    await completed("Five?", { sessionKey, cwd: join(root, "elsewhere") });
    assert.equal(starts().length, 4);
    assert.ok(starts()[3]?.system?.includes("Speak of ships alone."));
    assert.deepEqual(gateway.asked.at(-2)?.shown.slice(-3), [
      "user Please wait",
      "assistant Half of",
      "user Four?",
    ]);
  });

  longTest(
    "that is new in the middle of a turn gets the earlier messages of the turn, which the gateway drops",
    async () => {
      const sessionKey = "midst";
      await completed("One?", { sessionKey });
      let isSteered = false;
      const additionalContext = { tab: { value: "Closed.", kind: "untrusted" as const } };
      await completed("Say it long", { sessionKey }, (event, turn) => {
        if (event.type !== "text.delta" || isSteered) return undefined;
        isSteered = true;
        return turn.steer("Shorter.", { additionalContext });
      });
      const [, second] = starts();
      assert.deepEqual(
        second?.history?.map(({ message }) => `${message.role} ${message.content[0]?.text}`),
        ["user Say it long", "assistant Half of"],
      );
      assert.deepEqual(userTexts().slice(-2), ["Say it long", "Shorter."], "and no fragment");
      assert.deepEqual(gateway.asked.at(-1)?.shown.slice(-4), [
        "user Say it long",
        "assistant Half of",
        "user <external_tab>Closed.</external_tab>",
        "user Shorter.",
      ]);
    },
  );

  it("gets steering alone, and no fragment that comes with it", async () => {
    const additionalContext = { tab: { value: "Closed.", kind: "untrusted" as const } };
    let isSteered = false;
    await completed("One?", { sessionKey: "steered" }, (event, turn) => {
      if (event.type !== "text.delta" || isSteered) return undefined;
      isSteered = true;
      return turn.steer("Faster.", { additionalContext });
    });
    assert.equal(starts().length, 1);
    assert.deepEqual(userTexts(), ["One?", "Faster."]);
    assert.deepEqual(gateway.asked.at(-1)?.shown.slice(-2), [
      "user <external_tab>Closed.</external_tab>",
      "user Faster.",
    ]);
  });

  it("ends its turn at once, and with our error, when the engine's context fails", async () => {
    const prompt = "What a long story. ".repeat(4_000);
    const last = (await run(prompt, { sessionKey: "long", model: "local/small" })).at(-1);
    assert.ok(last?.type === "turn.failed", JSON.stringify(last));
    assert.equal(last.error.code, "live_turn_too_large");
  });

  longTest("falls back to its session file when the gateway fails, with a degradation", async () => {
    gateway.failure = new PagurusError("gateway_failed", "No port is free.");
    const events = await completed("One?", { sessionKey: "without" });
    assert.deepEqual(degradations(events), [
      "The context of this turn is written to Claude Code's session file and not sent through the model gateway: No port is free.",
    ]);
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.seam, "thread");
    assert.equal(starts()[0]?.key, "the-key");
    gateway.failure = undefined;
    const after_ = await completed("Two?", { sessionKey: "without" });
    assert.deepEqual(degradations(after_), []);
    assert.deepEqual(gateway.asked.at(-1)?.shown, ["user One?", "assistant Answer 0.", "user Two?"]);
    gateway.failure = new PagurusError("gateway_failed", "No port is free.");
    await completed("Three?", { sessionKey: "without" });
    assert.equal(gateway.asked.length, 2, "the program that runs needs no other route");
  });

  it("does not use the gateway with a login of the user's own, with a degradation", async () => {
    hasKey = false;
    const events = await completed("One?", { sessionKey: "login" });
    assert.deepEqual(degradations(events), [
      "The context of this turn is written to Claude Code's session file and not sent through the model gateway: Claude Code's own login is used, and the model gateway serves API keys only.",
    ]);
    assert.deepEqual(gateway.asked, []);
  });
});
