/**
 * The real Codex with `pagurus serve` as its provider. A provider of the name "OpenAI" is asked for compactions by a
 * `compaction_trigger`; any other one by a prompt, as for a text.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Protocol, ReplyStep } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { berth, ProgramBench, question, shortLines, SUMMARY, type ProgramEnd } from "./programs-bench.ts";

const FULL = { input: 9_000, output: 10 };
const SMALL = { input: 900, output: 10 };
const LOSSLESS = { trigger: 3_000, headTokens: 900, tailTokens: 900 };

function config(url: string, provider: string): string {
  return `
model = "test/model"
model_provider = "pagurus"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_auto_compact_token_limit = 5000
[model_providers.pagurus]
name = "${provider}"
base_url = "${url}"
env_key = "PAGURUS_TOKEN"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[features]
plugins = false
apps = false
[analytics]
enabled = false
`;
}

/** Answers of the nth request of the conversation, from 1; the second question is answered with a call of the shell first. */
type Answers = (nth: number) => ReplyStep;

const between: Answers = (nth) => {
  if (nth === 2) return { ...shell("echo the-crane"), usage: SMALL };
  return { text: `Answer ${nth}.`, usage: nth === 5 ? FULL : SMALL };
};

/** The window is full in the middle of the second turn. */
const inside: Answers = (nth) => {
  if (nth === 2) return { ...shell("echo the-crane"), usage: FULL };
  return { text: `Answer ${nth}.`, usage: SMALL };
};

function shell(cmd: string): ReplyStep {
  return { text: "I look.", toolCalls: [{ id: "call_a", name: "exec_command", arguments: { cmd } }] };
}

class Codex {
  readonly bench: ProgramBench;
  #turns = 0;

  private constructor(bench: ProgramBench, provider: string) {
    this.bench = bench;
    bench.write(".codex/config.toml", config(bench.url, provider));
  }

  static async open(provider: string, protocol: Protocol, answers: Answers): Promise<Codex> {
    let nth = 0;
    const script = ({ text }: { text: string }): ReplyStep => {
      if (text.includes("<transcript>") || text.includes("CONTEXT CHECKPOINT COMPACTION"))
        return { text: SUMMARY };
      nth += 1;
      return answers(nth);
    };
    return new Codex(await ProgramBench.open({ protocol, script, lossless: LOSSLESS }), provider);
  }

  async ask(): Promise<ProgramEnd> {
    const next = this.#turns === 0 ? [] : ["resume", "--last"];
    const args = ["exec", "--skip-git-repo-check", ...next, question(this.#turns)];
    this.#turns += 1;
    const ended = await this.bench.run(codexBinary(), args, { PAGURUS_TOKEN: this.bench.key });
    assert.equal(ended.code, 0, ended.output);
    return ended;
  }
}

function compacts({ output }: ProgramEnd): boolean {
  return output.includes("context compacted");
}

const TWO_TURNS = [
  "user: berth 0",
  "assistant: Answer 1.",
  "user: berth 1",
  "assistant: I look.",
  "call exec_command call_a",
  "result call_a the-crane",
  "assistant: Answer 3.",
];

describe("Codex at the model API", { timeout: 600_000 }, () => {
  for (const protocol of ["openai-responses", "openai-completions", "anthropic-messages"] as const)
    it(`compacts by a trigger between turns and continues its session, with a model of ${protocol}`, async () => {
      const codex = await Codex.open("OpenAI", protocol, between);
      const { bench } = codex;
      try {
        const ends: ProgramEnd[] = [];
        for (let turn = 0; turn < 6; turn += 1) ends.push(await codex.ask());
        assert.deepEqual(ends.map(compacts), [false, false, false, false, true, false]);
        assert.ok(bench.model.requests.every(({ text }) => !text.includes("compaction_trigger")));
        const last = bench.mains.at(-1)?.text ?? "";
        assert.equal(last.split(berth(5)).length, 2, "the question once");
        assert.ok(last.includes(berth(4)) && last.includes("Answer 6."), "the turn before");
        assert.match(last, /the-crane/, "a result that Codex drops at a compaction");
        assert.doesNotMatch(last, /pagurus:summary/);
        const [session, ...others] = await bench.sessions();
        assert.deepEqual(others, []);
        assert.deepEqual(shortLines(session?.messages ?? []), [
          ...TWO_TURNS,
          "user: berth 2",
          "assistant: Answer 4.",
          "user: berth 3",
          "assistant: Answer 5.",
          "user: berth 4",
          "assistant: Answer 6.",
          "user: berth 5",
          "assistant: Answer 7.",
        ]);
      } finally {
        await bench.end();
      }
    });

  it("compacts by a trigger in the middle of a turn, and the turn continues", async () => {
    const codex = await Codex.open("OpenAI", "openai-responses", inside);
    const { bench } = codex;
    try {
      const ends: ProgramEnd[] = [];
      for (let turn = 0; turn < 3; turn += 1) ends.push(await codex.ask());
      assert.deepEqual(ends.map(compacts), [false, true, false]);
      const [session, ...others] = await bench.sessions();
      assert.deepEqual(others, []);
      assert.deepEqual(shortLines(session?.messages ?? []), [
        ...TWO_TURNS,
        "user: berth 2",
        "assistant: Answer 4.",
      ]);
    } finally {
      await bench.end();
    }
  });

  it("compacts by a prompt where its provider has another name, and continues with the summary", async () => {
    const codex = await Codex.open("pagurus", "openai-responses", between);
    const { bench } = codex;
    try {
      const ends: ProgramEnd[] = [];
      for (let turn = 0; turn < 6; turn += 1) ends.push(await codex.ask());
      assert.deepEqual(ends.map(compacts), [false, false, false, false, true, false]);
      const last = bench.mains.at(-1)?.text ?? "";
      assert.equal(last.split(berth(5)).length, 2);
      assert.ok(last.includes(berth(4)) && last.includes("Answer 6."));
      assert.match(last, /the-crane/);
    } finally {
      await bench.end();
    }
  });
});
