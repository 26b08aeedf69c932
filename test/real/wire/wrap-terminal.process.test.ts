/** The interactive programs under `pagurus wire`, typed into in a real terminal. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Protocol, RecordedRequest } from "../../servers/server.ts";
import { conversation as ofClaude } from "../claude/claude-bench.ts";
import { codexBinary } from "../codex-binary.ts";
import { conversation as ofCodex } from "../codex/codex-bench.ts";
import { claudeBinary } from "../programs.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { commandLine, WrapRun } from "./wrap-bench.ts";

const KEY = "sk-ant-api03-key-of-test-0000000000000000000";

describe("an interactive program under pagurus wire", () => {
  let run: WrapRun;
  let terminal: Terminal;

  before(needTerminal);

  afterEach(async () => {
    terminal.end();
    await run.end();
  });

  /** With a word in each answer that identifies it on the screen. */
  async function open(protocol: Protocol, env: (run: WrapRun) => Record<string, string>): Promise<void> {
    run = await WrapRun.with(protocol, (request) =>
      isMain(request) ? { text: `Heard ${String(mains().length)}.` } : { text: '{"title":"A title"}' },
    );
    terminal = new Terminal(run.root, run.cwd, run.env(env(run)));
    await terminal.sees(/ready>/);
  }

  /** A request for a title has an output format, or offers no tools. */
  const isMain = ({ body }: RecordedRequest): boolean =>
    Array.isArray(body["tools"]) &&
    body["tools"].length > 0 &&
    !JSON.stringify(body["text"] ?? "").includes("title");
  const mains = (): RecordedRequest[] => run.server.requests.filter(isMain);
  const start = (program: string): Promise<void> =>
    terminal.types(["node", ...commandLine({ session: "tty" }, [program])].join(" "));

  async function says(words: string): Promise<void> {
    const nth = mains().length + 1;
    await terminal.types(words);
    await terminal.sees(new RegExp(`Heard ${nth}\\.`));
  }

  const messagesIn = (lines: readonly string[]): string[] =>
    lines.filter((line) => /^(?:user: (?!<)|assistant: )/.test(line));

  it("is Codex, with input that is taken back, cleared, stopped and resumed", async () => {
    await open("openai-responses", () => ({ MOCK_KEY: "key-of-mock" }));
    run.setCodex(`[projects."${run.cwd}"]\ntrust_level = "trusted"`);
    await start(codexBinary());
    await terminal.sees(/Ask Codex to do anything/);
    const asked = (): string[] => messagesIn(ofCodex(mains().at(-1) as RecordedRequest));

    await says("One heron.");
    await says("Two herons.");
    assert.deepEqual(asked(), ["user: One heron.", "assistant: Heard 1.", "user: Two herons."]);

    await terminal.press("Escape", "Escape");
    await terminal.sees(/rewind/);
    await terminal.press("Enter");
    await terminal.sees(/Conversation reverted/);
    await says(" or three.");
    assert.deepEqual(asked(), ["user: One heron.", "assistant: Heard 1.", "user: Two herons. or three."]);

    await terminal.types("/new");
    await pause(1_500);
    await says("All anew.");
    assert.deepEqual(asked(), ["user: All anew."]);

    await terminal.press("C-z");
    await terminal.sees(/Stopped/);
    await terminal.types("fg");
    await says("And on.");
    assert.deepEqual(asked(), ["user: All anew.", "assistant: Heard 4.", "user: And on."]);

    await terminal.press("C-c", "C-c");
    await terminal.sees(/session tty: 5 turns, \d+ requests; see pagurus sessions show tty/);
    assert.equal((await run.transcript("tty")).length, 4);
  });

  it("is Claude Code, with input that is taken back, cleared, stopped and resumed", async () => {
    await open("anthropic-messages", ({ server }) => ({
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: server.url.replace(/\/v1$/, ""),
    }));
    const isTrusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    const known = { approved: [KEY.slice(-20)], rejected: [] };
    writeFileSync(
      join(run.root, "claude", ".claude.json"),
      JSON.stringify({
        hasCompletedOnboarding: true,
        theme: "dark",
        customApiKeyResponses: known,
        projects: { [run.cwd]: isTrusted },
      }),
    );
    await start(claudeBinary());
    await terminal.sees(/❯/);
    const asked = (): string[] => messagesIn(ofClaude(mains().at(-1) as RecordedRequest));

    await says("One heron.");
    await says("Two herons.");
    assert.deepEqual(asked(), ["user: One heron.", "assistant: Heard 1.", "user: Two herons."]);

    await terminal.press("Escape", "Escape");
    await terminal.sees(/Rewind/);
    await terminal.press("Up", "Enter");
    await terminal.sees(/Restore conversation/);
    await terminal.press("Enter");
    await says(" or three.");
    assert.deepEqual(asked(), ["user: One heron.", "assistant: Heard 1.", "user: Two herons. or three."]);

    await terminal.types("/clear");
    await pause(1_500);
    await says("All anew.");
    assert.deepEqual(asked(), ["user: All anew."]);

    await terminal.press("C-z");
    await terminal.sees(/Stopped/);
    await terminal.types("fg");
    await says("And on.");
    assert.deepEqual(asked(), ["user: All anew.", "assistant: Heard 4.", "user: And on."]);

    await terminal.press("C-c", "C-c");
    await terminal.sees(/session tty: 5 turns, \d+ requests; see pagurus sessions show tty/);
    assert.equal((await run.transcript("tty")).length, 4);
  });
});
