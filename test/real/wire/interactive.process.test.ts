/**
 * Claim 6 of the model gateway: `pagurus wire -- codex` and `-- claude` in a real terminal, typed into, through compactions.
 * `PAGURUS_SCREENS=1` writes the captures of the guide.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { conversation as ofClaude } from "../claude/claude-bench.ts";
import { codexBinary } from "../codex-binary.ts";
import { conversation as ofCodex } from "../codex/codex-bench.ts";
import { claudeBinary } from "../programs.ts";
import { Interactive, type Exchange, type Program } from "./interactive.ts";
import { until } from "../../runner/until.ts";

const KEY = "sk-ant-api03-key-of-test-0000000000000000000";
const FIRST = "The spare key hangs in berth 7.";
const ASKED = "Say where the spare key is.";

const CODEX: Program = {
  name: "codex",
  args: " -a on-request",
  path: codexBinary(),
  protocol: "openai-responses",
  signs: {
    ready: /Ask Codex to do anything/,
    asks: /Would you like to run/,
    interrupted: /Conversation interrupted/,
    compacted: /Context compacted/,
  },
  quit: "/quit",
  leave: ["C-d"],
  call: (id, command) => ({ id, name: "exec_command", arguments: { cmd: command } }),
  lines: ofCodex,
  isCompaction: ({ text }) => text.includes("CONTEXT CHECKPOINT COMPACTION"),
  env: () => ({ MOCK_KEY: "key-of-mock" }),
  setUp: (run) => {
    run.setCodex(`[projects."${run.cwd}"]\ntrust_level = "trusted"`);
    const rules = join(run.root, "codex", "rules");
    mkdirSync(rules);
    writeFileSync(join(rules, "default.rules"), 'prefix_rule(pattern = ["touch"], decision = "prompt")\n');
  },
};

const CLAUDE: Program = {
  name: "claude",
  args: "",
  path: claudeBinary(),
  protocol: "anthropic-messages",
  signs: {
    ready: /❯/,
    asks: /Do you want to proceed/,
    interrupted: /Interrupted/,
    compacted: /Compacted/,
  },
  quit: "/exit",
  leave: ["C-d", "C-d"],
  call: (id, command) => ({ id, name: "Bash", arguments: { command, description: "Look" } }),
  lines: ofClaude,
  isCompaction: ({ text }) => text.includes("CRITICAL: Respond with TEXT ONLY"),
  env: ({ server }) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url.replace(/\/v1$/, "") }),
  setUp: ({ root, cwd }) => {
    const known = { approved: [KEY.slice(-20)], rejected: [] };
    const isTrusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    const state = {
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: known,
      projects: { [cwd]: isTrusted },
    };
    writeFileSync(join(root, "claude", ".claude.json"), JSON.stringify(state));
    const settings = { permissions: { defaultMode: "default" } };
    writeFileSync(join(root, "claude", "settings.json"), JSON.stringify(settings));
  },
};

for (const program of [CODEX, CLAUDE])
  describe(`pagurus wire -- ${program.name} in a terminal`, { timeout: 300_000 }, () => {
    let at: Interactive;
    let plain: string;

    before(async () => {
      at = await Interactive.open(program);
      plain = await at.shell("stty -g");
      await at.terminal.types("clear");
    });
    // Without tmux there is none.
    after(() => (at as Interactive | undefined)?.end());

    /** Each begins where the one before it has ended. */
    let goesOn = true;
    const step = (name: string, work: () => Promise<void> | void): void =>
      void it(name, async () => {
        assert.ok(goesOn, "the step before it failed");
        goesOn = false;
        await work();
        goesOn = true;
      });
    /**
     * The newest request of the conversation, as the program sent it and as it was forwarded to the model. It is captured once its answer
     * has ended, which the screen can show before.
     */
    const last = async (): Promise<{ harness: string; sent: string }> => {
      const newest = (): Exchange | undefined =>
        at.exchanges().findLast(({ facts }) => facts.kind === "main");
      await until(() => newest()?.sent === at.mains.at(-1)?.text, "the newest request is not captured");
      const { harness = "", sent = "" } = newest() ?? {};
      return { harness, sent };
    };
    const holds = (body: string, ...words: string[]): boolean[] => words.map((each) => body.includes(each));
    const compactions = () => at.exchanges().filter(({ facts }) => facts.kind === "compaction");

    step("shows the program alone, and answers what is typed", async () => {
      await at.start();
      assert.doesNotMatch(at.terminal.screen(), /pagurus: |session demo/);
      await at.says(FIRST, /Noted\./);
    });

    step("leaves it to the program to ask before a command runs", async () => {
      await at.terminal.types("Write it down.");
      await at.terminal.sees(program.signs.asks);
      assert.ok(!existsSync(join(at.run.cwd, "ships.txt")));
      await at.answers(program.signs.asks);
      await at.seesAfter("Write it down.", /It is written\./);
      assert.ok(existsSync(join(at.run.cwd, "ships.txt")));
    });

    step(
      "continues through compactions of the engine, with the first messages in the model's context",
      async () => {
        for (const season of ["spring", "summer", "autumn"])
          await at.says(`Read ${season}.log`, new RegExp(`250 ships came in ${season}`));
        await at.says(ASKED, /In berth 7\./);
        at.keep("goes-on");
        const { harness, sent } = await last();
        assert.ok(at.mains.at(-1)?.text === sent, "the capture is what the model was sent");
        assert.deepEqual(holds(harness, "spring, ship 9 ", "berth 7", "<conversation_summary>"), [
          true,
          true,
          false,
        ]);
        assert.deepEqual(holds(sent, "spring, ship 9 ", "berth 7", "<conversation_summary>"), [
          false,
          true,
          true,
        ]);
        assert.ok(sent.length < harness.length - 10_000, `${sent.length} of ${harness.length} characters`);
        assert.deepEqual(compactions(), [], "the program has not compacted by itself");
      },
    );

    step("has /compact answered by the engine, with the program's usual message, and continues", async () => {
      await at.terminal.types("/compact");
      await at.terminal.sees(program.signs.compacted);
      await at.says(`And now: ${ASKED}`, /In berth 7\./);
      at.keep("compact");
      const [asked, ...more] = compactions();
      assert.equal(asked?.facts.outcome?.answeredBy, "engine");
      assert.equal(asked.sent, undefined);
      assert.deepEqual(more, []);
      assert.ok(!at.run.server.requests.some((request) => program.isCompaction(request)));
    });

    step("has Ctrl-C stop the answer, and nothing else", async () => {
      await at.terminal.types("Tell me a story.");
      await at.terminal.sees(/rowed out/);
      await at.terminal.press("C-c");
      await at.seesAfter("Tell me a story.", program.signs.interrupted);
      await at.run.server.clientClosed();
      assert.equal(at.run.server.clientCloses.length, 1);
      await at.says("Another time.", /Noted\./);
    });

    step("ends with the program's exit code, one line and the terminal as it was", async () => {
      await at.terminal.types(program.quit);
      await at.terminal.sees(/session demo: 9 turns, \d+ requests; see pagurus sessions show demo\s+ready>/);
      at.keep("ends");
      assert.doesNotMatch(at.terminal.screen(), /pagurus: /);
      assert.equal(await at.shell("echo $?"), "0");
      assert.equal(await at.shell("stty -g"), plain);
      assert.ok(at.isPlain());
      assert.deepEqual(at.left(), []);
      await at.shows("pagurus requests list --session demo --limit 9", /compaction/);
      // Claude Code has the provider count, which this one cannot.
      if (program === CODEX) at.keep("requests");
    });

    step("continues the conversation at the next start, in a new one of the program's", async () => {
      await at.start();
      await at.says(`Once more: ${ASKED}`, /In berth 7\./);
      const { harness, sent } = await last();
      assert.deepEqual(holds(harness, "berth 7", "Another time"), [false, false]);
      assert.deepEqual(holds(sent, "berth 7", "Another time"), [true, true]);
      await at.terminal.press(...program.leave);
      await at.terminal.sees(/session demo: 1 turn, \d+ requests?; see/);
      assert.equal(await at.shell("echo $?"), "0");
      assert.deepEqual(at.left(), []);
    });

    step("has every prompt and every answer in the session once", () => {
      const read = (season: string): string[] => [
        `user: Read ${season}.log`,
        "assistant: [toolCall]",
        "result",
        `assistant: 250 ships came in ${season}.`,
      ];
      const shown = at.transcript().map((line) => line.replace(/(?:The keeper rowed[^]*)/, "(a part)"));
      assert.deepEqual(shown, [
        `user: ${FIRST}`,
        "assistant: Noted.",
        "user: Write it down.",
        "assistant: [toolCall]",
        "result",
        "assistant: It is written.",
        ...read("spring"),
        ...read("summer"),
        ...read("autumn"),
        `user: ${ASKED}`,
        "assistant: In berth 7.",
        `user: And now: ${ASKED}`,
        "assistant: In berth 7.",
        "user: Tell me a story.",
        "assistant: (a part)",
        "user: Another time.",
        "assistant: Noted.",
        `user: Once more: ${ASKED}`,
        "assistant: In berth 7.",
      ]);
    });
  });
