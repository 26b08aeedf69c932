/**
 * The compaction that Claude Code makes in a terminal after 54 minutes without input: with a prompt cache of one hour, from 100,000 tokens
 * on. The engine answers it, and the conversation continues in its session.
 */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { claudeBinary } from "../programs.ts";
import { linesOf } from "./spy.ts";
import { WrapRun } from "./wrap-bench.ts";
import { MAIN } from "../../runner/program.ts";

const CLOCK = fileURLToPath(new URL("idle-clock.ts", import.meta.url));
const KEY = "sk-ant-api03-key-of-test-0000000000000000000";
const ASKED = "CRITICAL: Respond with TEXT ONLY";
/** As long as a real answer, so that the engine has something to compact. */
const STORY = "The keeper rowed out to the next buoy and lit its lamp. ".repeat(40);
const LOSSLESS = { trigger: 4_500, headTokens: 900, tailTokens: 1_200 };
const TURNS = 3;

describe("Claude Code's compaction while it is idle, under pagurus wire", { timeout: 240_000 }, () => {
  let run: WrapRun;
  let terminal: Terminal;

  before(async () => {
    needTerminal();
    run = await WrapRun.with("anthropic-messages", (request, index) => ({
      text: `Answer ${index}. ${STORY}End ${index}.`,
      usage: { input: 2_000, cacheRead: 118_000, output: 900 },
    }));
    mkdirSync(run.home, { recursive: true });
    const plugins = { slots: { contextEngine: "lossless" }, entries: { lossless: { config: LOSSLESS } } };
    writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ plugins }));
    const state = {
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
      projects: { [run.cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    };
    writeFileSync(join(run.root, "claude", ".claude.json"), JSON.stringify(state));
    terminal = new Terminal(run.root, run.cwd, run.env(environment(run)));
    await terminal.sees(/ready>/);
  });
  after(async () => {
    terminal.end();
    await run.end();
  });

  it("is answered by the engine, without a request to the provider", async () => {
    await terminal.types("pagurus wire --session quay -- claude");
    await terminal.sees(/❯/);
    for (let turn = 0; turn < TURNS; turn += 1) {
      await terminal.types(`Question ${turn}: which ship?`);
      await terminal.sees(new RegExp(`End ${turn}\\.[^]*done`));
    }
    writeFileSync(clockOf(run), "");
    await terminal.sees(/Compacted while idle/);
    assert.equal(run.server.requests.length, TURNS, "no request for it");
    await terminal.types("Question 3: which buoy?");
    await terminal.sees(/End 3\./);
    const last = run.server.requests.at(-1);
    assert.match(last?.text ?? "", /Question 3: which buoy\?/);
    assert.doesNotMatch(run.server.requests.map(({ text }) => text).join("\n"), new RegExp(ASKED));
    await terminal.types("/exit");
    await terminal.sees(/session quay: 4 turns/);
    const messages = await run.look((pagurus) => {
      const reader = pagurus.sessions().openReader("quay");
      try {
        return reader.contextMessages().messages;
      } finally {
        reader.close();
      }
    });
    assert.match(linesOf(messages).join("\n"), /user: Question 3: which buoy\?/);
  });
});

function clockOf({ root }: WrapRun): string {
  return join(root, "idle-clock");
}

/** With `pagurus`, and a `claude` that loads the clock. */
function environment(run: WrapRun): Record<string, string> {
  const bin = join(run.root, "bin");
  mkdirSync(bin);
  const programs = {
    pagurus: `exec "${process.execPath}" "${MAIN}" "$@"`,
    claude: `export IDLE_CLOCK="${clockOf(run)}" BUN_OPTIONS="--preload ${CLOCK}"\nexec "${claudeBinary()}" "$@"`,
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return {
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""),
    // On a subscription its cache lasts an hour by itself.
    CLAUDE_CODE_PROMPT_CACHE_TTL: "1h",
    CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS: "100000",
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
  };
}
