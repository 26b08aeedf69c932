/** Turns of a host on a program that plays Claude Code: its command lines, files and input. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { longTest } from "../../runner/long-tests.ts";

const CHILD = fileURLToPath(new URL("./claude.child.ts", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "pagurus-played-"));
const played = join(root, "played.jsonl");
const command = join(root, "claude");

interface Noted {
  started?: number;
  args?: string[];
  key?: string;
  system?: string;
  history?: { message: { role: string; content: unknown } }[];
  input?: { type: string; text_not_typed?: boolean; message?: { content: { text: string }[] } };
}

let pagurus: Pagurus;
let epoch = "one";

/** Returns the history unchanged, in epochs. */
function engine(): ContextEngine {
  const legacy = createLegacyEngine();
  return {
    ...legacy,
    info: { ...legacy.info, id: "epochs", governsContext: true },
    assemble: async ({ messages }) => ({
      messages,
      estimatedTokens: 10,
      contextProjection: { mode: "thread_bootstrap", epoch },
    }),
  };
}

before(async () => {
  mkdirSync(join(root, "work"));
  writeFileSync(command, `#!/bin/sh\nPLAYED="${played}" exec "${process.execPath}" "${CHILD}" "$@"\n`);
  chmodSync(command, 0o755);
  const models = [{ id: "m", contextWindow: 200_000, maxTokens: 4_000 }];
  pagurus = await createPagurus({
    home: join(root, "home"),
    env: { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" },
    engines: { epochs: engine },
    config: {
      session: { scope: "main" },
      models: {
        providers: {
          local: { api: "anthropic-messages", baseUrl: "http://127.0.0.1:9/v1", apiKey: "the-key", models },
        },
      },
      agents: {
        defaults: { model: "local/m", models: { "local/m": { agentRuntime: { id: "claude-cli" } } } },
      },
      plugins: { slots: { contextEngine: "epochs" }, entries: { "claude-cli": { config: { command } } } },
    },
  });
});

after(async () => {
  await pagurus.close();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

function noted(): Noted[] {
  return readFileSync(played, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Noted);
}

async function run(
  prompt: string,
  sessionKey: string,
  on: (event: TurnEvent, abort: () => void) => void = () => undefined,
): Promise<TurnEvent> {
  const turn = pagurus.run({ prompt, cwd: join(root, "work"), sessionKey });
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    on(event, () => turn.abort());
  }
  const last = events.at(-1);
  assert.ok(last);
  return last;
}

const words = (content: unknown) => (content as { text: string }[]).map(({ text }) => text).join("|");

describe("A program that plays Claude Code", { timeout: 120_000 }, () => {
  beforeEach(() => writeFileSync(played, ""));
  it("is started once an epoch, with the history in its file and nothing secret on its command line", async () => {
    epoch = "one";
    await run("One?", "epochs");
    await run("/Two?", "epochs");
    epoch = "two";
    await run("Three?", "epochs");
    const all = noted();
    const starts = all.filter(({ started }) => started !== undefined);
    assert.equal(starts.length, 2);
    assert.deepEqual(
      starts.map(({ key }) => key),
      ["the-key", "the-key"],
    );
    for (const { args = [], system = "" } of starts) {
      assert.ok(system.includes("Working folder:"));
      assert.ok(!args.some((arg) => arg.includes("the-key") || arg.includes("Working folder:")));
    }
    const input = all.flatMap(({ input: line }) => (line?.type === "user" ? [line] : []));
    assert.deepEqual(
      input.map(({ message }) => words(message?.content)),
      ["One?", "/Two?", "Three?"],
    );
    assert.ok(
      input.every((line) => line.text_not_typed === true),
      "no words are commands",
    );
    const history = starts[1]?.history ?? [];
    assert.deepEqual(
      history.map(({ message }) => `${message.role} ${words(message.content)}`),
      ["user One?", "assistant Answer 0.", "user /Two?", "assistant Answer 1."],
    );
  });

  it("that ends with text on standard error is quoted in the turn's one sentence", async () => {
    const last = await run("Please die", "dies");
    assert.ok(last.type === "turn.failed" && last.error.code === "runtime_failed");
    assert.match(
      last.error.message,
      /^Claude Code ended with code 3; its last output was: There is no floor here\.\. .* starts Claude Code again\.$/,
    );
  });

  longTest("is interrupted by an abort, and streamed text is kept", async () => {
    const last = await run("Please wait", "waits", ({ type }, abort) => type === "text.delta" && abort());
    assert.equal(last.type === "turn.completed" && last.stopReason, "aborted");
    epoch = "three";
    await run("And now?", "waits");
    const starts = noted().filter(({ started }) => started !== undefined);
    const history = starts.at(-1)?.history ?? [];
    assert.deepEqual(
      history.map(({ message }) => words(message.content)),
      ["Please wait", "Half of"],
    );
  });

  longTest("that cannot be started leaves the session to the next turn", async () => {
    epoch = "four";
    chmodSync(command, 0o644);
    const last = await run("Five?", "epochs");
    chmodSync(command, 0o755);
    // Reported by the runtime, or before it when the cached look at the machine has expired.
    assert.ok(last.type === "turn.failed" && /^runtime_(?:failed|unsupported)$/.test(last.error.code));
    // Refused as long as such a look at the machine holds.
    const isRefused = (event: TurnEvent): boolean =>
      event.type === "turn.failed" && event.error.code === "runtime_unsupported";
    while (isRefused(await run("Six?", "epochs"))) await pause(500);
    const { history = [] } = noted().findLast(({ started }) => started !== undefined) ?? {};
    assert.deepEqual(
      history.map(({ message }) => words(message.content)).filter((text) => text.endsWith("?")),
      ["One?", "/Two?", "Three?"],
    );
  });

  it("leaves no text of the conversation in temporary files", async () => {
    const folder = join(root, "home", "runtimes", "claude");
    const kept = (): string[] =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => /\.(?:jsonl|md)$/.test(name));
    // The files of a program that died are removed after its turn was reported.
    for (let look = 0; look < 200 && kept().length > 0; look += 1) await pause(50);
    assert.deepEqual(kept(), []);
  });
});
