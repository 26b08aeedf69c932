/**
 * The real OpenCode with `pagurus serve` as its provider: it compacts by the endpoint with a plugin, and by its own prompt without one.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Protocol, ReplyStep } from "../../servers/server.ts";
import { nativeProgram } from "../programs.ts";
import { OPENCODE_PLUGIN, OWN_PROMPT } from "./opencode-plugin.ts";
import { berth, ProgramBench, question, shortLines, SUMMARY, type ProgramEnd } from "./programs-bench.ts";

const WINDOW = 100_000;
const LOSSLESS = { trigger: 3_000, headTokens: 900, tailTokens: 900 };
const CALL = { id: "call_a", name: "bash", arguments: { command: "echo the-crane", description: "Say it" } };
/** What OpenCode says in its user's place after a compaction. */
const CONTINUE = "user: Continue if you have next steps";

class OpenCode {
  readonly bench: ProgramBench;
  readonly #plugins: string[] = [];
  #turns = 0;

  private constructor(bench: ProgramBench) {
    this.bench = bench;
  }

  /** The second question is answered with a call of the shell first; after the fourth answer the window is full. */
  static async open(protocol: Protocol): Promise<OpenCode> {
    let nth = 0;
    const script = ({ text, body }: { text: string; body: Record<string, unknown> }): ReplyStep => {
      if (text.includes("<transcript>") || text.includes(OWN_PROMPT)) return { text: SUMMARY };
      if (body["tools"] === undefined) return { text: "A title." };
      nth += 1;
      if (nth === 2) return { text: "I look.", toolCalls: [CALL], usage: { input: 5_000, output: 10 } };
      return { text: `Answer ${nth}.`, usage: { input: nth === 4 ? WINDOW - 2_000 : 5_000, output: 10 } };
    };
    return new OpenCode(await ProgramBench.open({ protocol, script, lossless: LOSSLESS }));
  }

  extended(): this {
    this.bench.write("compact.js", OPENCODE_PLUGIN);
    this.#plugins.push(pathToFileURL(join(this.bench.home, "compact.js")).href);
    return this;
  }

  get #config(): object {
    const model = { name: "m1", tool_call: true, limit: { context: WINDOW, output: 8_000 } };
    const options = { baseURL: this.bench.url, apiKey: this.bench.key };
    return {
      autoupdate: false,
      model: "pagurus/test/model",
      small_model: "pagurus/test/model",
      plugin: this.#plugins,
      provider: { pagurus: { npm: "@ai-sdk/openai", options, models: { "test/model": model } } },
    };
  }

  async ask(): Promise<ProgramEnd> {
    const program = nativeProgram(
      "opencode-ai",
      `opencode-${process.platform}-${process.arch}`,
      "bin/opencode",
    );
    const args = ["run", ...(this.#turns === 0 ? [] : ["--continue"]), question(this.#turns)];
    this.#turns += 1;
    // In a configuration folder it would install a package of its own at each start.
    const env = { OPENCODE_CONFIG_CONTENT: JSON.stringify(this.#config), OPENCODE_DISABLE_MODELS_FETCH: "1" };
    const ended = await this.bench.run(program, args, env);
    assert.equal(ended.code, 0, ended.output);
    return ended;
  }
}

describe("OpenCode at the model API", { timeout: 900_000 }, () => {
  it("compacts by the endpoint with a plugin, and continues its session", async () => {
    const program = (await OpenCode.open("anthropic-messages")).extended();
    const { bench } = program;
    try {
      for (let turn = 0; turn < 4; turn += 1) await program.ask();
      assert.ok(
        bench.mains.every(({ text }) => !text.includes(OWN_PROMPT)),
        "not by its own prompt",
      );
      const last = bench.mains.at(-1)?.text ?? "";
      assert.equal(last.split(berth(3)).length, 2, "the question once");
      assert.match(last, /the-crane/, "a result that the client has not sent");
      assert.doesNotMatch(last, /pagurus:summary|compacted by the server/);
      const sessions = (await bench.sessions()).map(({ messages }) => shortLines(messages));
      const [whole, ...others] = sessions.filter(([first]) => !first?.startsWith("user: Generate a title"));
      assert.deepEqual(others, []);
      assert.deepEqual(
        whole?.filter((line) => !line.startsWith(CONTINUE)),
        [
          "user: berth 0",
          "assistant: Answer 1.",
          "user: berth 1",
          "assistant: I look.",
          "call bash call_a",
          "result call_a the-crane",
          "assistant: Answer 3.",
          "user: berth 2",
          "assistant: Answer 4.",
          "assistant: Answer 5.",
          "user: berth 3",
          "assistant: Answer 6.",
        ],
      );
    } finally {
      await bench.end();
    }
  });

  it("compacts by its own prompt without a plugin, and continues with the summary", async () => {
    const program = await OpenCode.open("openai-responses");
    const { bench } = program;
    try {
      for (let turn = 0; turn < 4; turn += 1) await program.ask();
      assert.equal(bench.mains.filter(({ text }) => text.includes(OWN_PROMPT)).length, 1);
      const last = bench.mains.at(-1)?.text ?? "";
      assert.ok(last.includes(berth(3)) && last.includes(SUMMARY));
      assert.ok(!last.includes(berth(0)));
    } finally {
      await bench.end();
    }
  });
});
