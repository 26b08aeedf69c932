/**
 * The real pi with `pagurus serve` as its provider. It has no route to `POST /responses/compact` itself; an extension gives it one, as
 * its interface for extensions is meant for: the compaction is asked with the official `openai` package, and what that returns is
 * sent in place of the summary.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Protocol, ReplyStep } from "../../servers/server.ts";
import { packageFile, realProgram } from "../programs.ts";
import { berth, ProgramBench, question, shortLines, SUMMARY, type ProgramEnd } from "./programs-bench.ts";

const WINDOW = 100_000;
/** How pi asks a model for a summary by itself. */
const OWN_PROMPT = "You are a context summarization assistant.";
const CALL = { id: "call_a", name: "bash", arguments: { command: "echo the-crane" } };
const LOSSLESS = { trigger: 3_000, headTokens: 900, tailTokens: 900 };

const EXTENSION = (library: string): string => `
import OpenAI from ${JSON.stringify(library)};
const MARK = "compacted by the server: ";
const client = new OpenAI({ apiKey: process.env.PAGURUS_TOKEN, baseURL: process.env.PAGURUS_URL, maxRetries: 0 });
const textOf = (content) => typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
const callId = (id) => id.split("|")[0];
const itemsOf = ({ role, content, toolCallId }) => {
  if (role === "toolResult") return [{ type: "function_call_output", call_id: callId(toolCallId), output: textOf(content) }];
  const calls = role === "assistant" ? content.filter(({ type }) => type === "toolCall") : [];
  const called = calls.map(({ id, name, arguments: args }) =>
    ({ type: "function_call", call_id: callId(id), name, arguments: JSON.stringify(args) }));
  return [{ role, content: textOf(content) }, ...called];
};
export default function (pi) {
  pi.on("session_before_compact", async ({ preparation }) => {
    const { messagesToSummarize, turnPrefixMessages, firstKeptEntryId, tokensBefore } = preparation;
    const input = [...messagesToSummarize, ...turnPrefixMessages].flatMap(itemsOf);
    const { output } = await client.responses.compact({ model: "test/model", input });
    return { compaction: { summary: MARK + JSON.stringify(output), firstKeptEntryId, tokensBefore } };
  });
  pi.on("before_provider_request", ({ payload }) => {
    const input = payload.input.flatMap((item) => {
      const text = item.role === "user" ? textOf(item.content) : "";
      const at = text.indexOf(MARK);
      if (at < 0) return [item];
      const list = text.slice(at + MARK.length);
      return JSON.parse(list.slice(0, list.lastIndexOf("]") + 1));
    });
    return { ...payload, input };
  });
}
`;

class Pi {
  readonly bench: ProgramBench;
  readonly #args: string[] = [];
  #turns = 0;

  private constructor(bench: ProgramBench) {
    this.bench = bench;
    const model = {
      id: "test/model",
      contextWindow: WINDOW,
      maxTokens: 4_000,
      input: ["text"],
      reasoning: false,
    };
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const pagurus = {
      baseUrl: bench.url,
      api: "openai-responses",
      apiKey: bench.key,
      models: [{ ...model, cost }],
    };
    bench.write(".pi/agent/models.json", { providers: { pagurus } });
    const compaction = { enabled: true, reserveTokens: 10_000, keepRecentTokens: 500 };
    bench.write(".pi/agent/settings.json", {
      defaultProvider: "pagurus",
      defaultModel: "test/model",
      compaction,
    });
  }

  /** The second question is answered with a call of the shell first; after the fifth answer the window is full. */
  static async open(protocol: Protocol): Promise<Pi> {
    let nth = 0;
    const script = ({ text }: { text: string }): ReplyStep => {
      if (text.includes("<transcript>") || text.includes(OWN_PROMPT)) return { text: SUMMARY };
      nth += 1;
      if (nth === 2) return { text: "I look.", toolCalls: [CALL], usage: { input: 5_000, output: 10 } };
      return { text: `Answer ${nth}.`, usage: { input: nth === 5 ? WINDOW - 5_000 : 5_000, output: 10 } };
    };
    return new Pi(await ProgramBench.open({ protocol, script, lossless: LOSSLESS }));
  }

  extended(): this {
    this.bench.write("compact.mjs", EXTENSION(pathToFileURL(packageFile("openai", "index.mjs")).href));
    this.#args.push("--extension", join(this.bench.home, "compact.mjs"));
    return this;
  }

  async ask(): Promise<ProgramEnd> {
    const next = this.#turns === 0 ? [] : ["--continue"];
    const args = [...this.#args, "-p", ...next, question(this.#turns)];
    this.#turns += 1;
    const env = { PI_OFFLINE: "1", PAGURUS_TOKEN: this.bench.key, PAGURUS_URL: this.bench.url };
    const ended = await this.bench.run(realProgram("@earendil-works/pi-coding-agent", "pi"), args, env);
    assert.equal(ended.code, 0, ended.output);
    return ended;
  }
}

const WHOLE = [
  "user: berth 0",
  "assistant: Answer 1.",
  "user: berth 1",
  "assistant: I look.",
  "call bash call_a",
  "result call_a the-crane",
  "assistant: Answer 3.",
  "user: berth 2",
  "assistant: Answer 4.",
  "user: berth 3",
  "assistant: Answer 5.",
  "user: berth 4",
  "assistant: Answer 6.",
  "user: berth 5",
  "assistant: Answer 7.",
];

describe("pi at the model API", { timeout: 600_000 }, () => {
  for (const protocol of ["openai-responses", "openai-completions", "anthropic-messages"] as const)
    it(`compacts by the endpoint and continues its session, with a model of ${protocol}`, async () => {
      const pi = (await Pi.open(protocol)).extended();
      const { bench } = pi;
      try {
        for (let turn = 0; turn < 6; turn += 1) await pi.ask();
        assert.ok(
          bench.mains.every(({ text }) => !text.includes(OWN_PROMPT)),
          "not by its own prompt",
        );
        const last = bench.mains.at(-1)?.text ?? "";
        assert.equal(last.split(berth(5)).length, 2, "the question once");
        assert.ok(last.includes(berth(4)) && last.includes("Answer 6."), "the turn before");
        assert.match(last, /the-crane/, "a result that the client has not sent");
        assert.doesNotMatch(last, /pagurus:summary|compacted by the server/);
        const sessions = (await bench.sessions()).map(({ messages }) => shortLines(messages));
        assert.deepEqual(
          sessions.find(({ length }) => length === WHOLE.length),
          WHOLE,
        );
        // It compacts all but its newest messages, which is a fork at that point.
        for (const lines of sessions) assert.deepEqual(lines, WHOLE.slice(0, lines.length));
      } finally {
        await bench.end();
      }
    });

  it("compacts by its own prompt without the extension, and continues with the summary", async () => {
    const pi = await Pi.open("openai-responses");
    const { bench } = pi;
    try {
      for (let turn = 0; turn < 6; turn += 1) await pi.ask();
      assert.equal(bench.mains.filter(({ text }) => text.includes(OWN_PROMPT)).length, 1);
      const last = bench.mains.at(-1)?.text ?? "";
      assert.equal(last.split(berth(5)).length, 2);
      assert.ok(last.includes(berth(4)) && last.includes(SUMMARY));
      assert.ok(!last.includes(berth(0)));
    } finally {
      await bench.end();
    }
  });
});
