/**
 * Every program of `pagurus wire` that runs offline: through the engine's compactions each request is the engine's context and the
 * live turn, requests beside the conversation stay out of it, and the conversation continues in the next program.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FULL } from "../../runner/short-form.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { ProgramRun } from "./programs-bench.ts";
import { PROGRAM_CASES, type ProgramCase } from "./programs-table.ts";
import { linesOf, Spy } from "./spy.ts";

const TURNS = FULL ? 40 : 6;
const LEAST_COMPACTIONS = FULL ? 3 : 1;
const LOSSLESS = FULL
  ? { trigger: 5_000, headTokens: 1_000, tailTokens: 1_500 }
  : { trigger: 2_600, headTokens: 600, tailTokens: 900 };
/** No sentence twice: Gemini CLI takes repeated text for a loop. */
const MORE = "anchor barrel capstan davit ensign fender gangway hawser jetty keel lantern mast"
  .split(" ")
  .map(
    (thing, at) => `The ${thing} of quay ${at * 7 + 3} was counted ${at * 37 + 11} times in week ${at + 20}.`,
  )
  .join(" ");

/** Programs with a test of their own of the same claim: `turns.process.test.ts`. */
const OTHERS = PROGRAM_CASES.filter(({ id }) => id !== "codex" && id !== "claude");

interface Main {
  request: RecordedRequest;
  /** The engine's context at the request. */
  expected: string[];
}

/** Answers a turn with one call of the shell, then with words; requests beside the conversation with a title. */
class Script {
  readonly mains: Main[] = [];
  readonly spy = new Spy();
  readonly #program: () => ProgramCase;
  turn = 0;
  rounds = 0;
  /** Added to the command. */
  after = "";

  constructor(program: () => ProgramCase) {
    this.#program = program;
  }

  answer(request: RecordedRequest): ReplyStep {
    const program = this.#program();
    if (!program.isMain(request)) return { text: "Ships and quays" };
    this.mains.push({ request, expected: linesOf(this.spy.last?.messages ?? []) });
    if (this.rounds > 0) return { text: `Answer ${this.turn}. ${MORE}` };
    this.rounds += 1;
    const call = program.call(`cat berth-${this.turn}.txt${this.after}`);
    return {
      text: `I look at berth ${this.turn}.`,
      toolCalls: [{ id: `call_${program.id}_${this.turn}`, ...call }],
    };
  }
}

/** The head of a context may be several elements, and results have the program's own additions. */
function comparable(lines: readonly string[], prompt: string): string[] {
  return lines.map((line) => (line.includes(prompt) ? `user: ${prompt}` : line.trim()));
}

for (const program of OTHERS)
  describe(`${TURNS} turns of ${program.id} under pagurus wire`, () => {
    it("show the model the engine's context and the live turn at each request", async () => {
      const script = new Script(() => program);
      const run = new ProgramRun((request) => script.answer(request), LOSSLESS);
      const natives = new Set<unknown>();
      try {
        for (script.turn = 0; script.turn < TURNS; script.turn += 1) {
          script.rounds = 0;
          const { turn } = script;
          writeFileSync(
            join(run.cwd, `berth-${turn}.txt`),
            `berth ${turn} holds the barge number ${turn + 700}\n`,
          );
          const prompt = `Question ${turn}: look after berth ${turn}. ${MORE}`;
          const from = script.mains.length;
          const { code, output, report } = await run.start(program, script.spy, { prompt, isNext: turn > 0 });
          assert.equal(code, 0, output);
          assert.deepEqual(report.notices, []);
          const asked = script.mains.slice(from);
          assert.equal(asked.length, 2, "the call, and the answer");
          for (const [index, { request, expected }] of asked.entries()) {
            const about = `request ${index} of turn ${turn}`;
            const lines = comparable(program.lines(request), prompt);
            // The first request of a turn leaves the input to the host.
            const live = index === 0 ? [`user: ${prompt}`] : [];
            const whole = comparable(expected, prompt);
            assert.deepEqual(lines, whole.includes(`user: ${prompt}`) ? whole : [...whole, ...live], about);
            natives.add(program.nativeId?.(request));
          }
        }
        assert.equal(natives.size, 1, "one conversation of the program's own");
        const { compactions } = script.spy;
        assert.ok(compactions >= LEAST_COMPACTIONS, `${compactions} compactions of the engine`);
        const sessions = await run.sessions();
        assert.equal(sessions.length, 1, "requests beside the conversation are not in a session");
        const inputs = linesOf(sessions[0]?.messages ?? []).filter((line) => line.startsWith("user: "));
        assert.equal(inputs.length, TURNS, "each input once");
      } finally {
        await run.end();
      }
    });
  });

describe("a conversation that goes through every program", () => {
  it("shows each next one all messages before it, once", async () => {
    let at = 0;
    const script = new Script(() => PROGRAM_CASES[at] as ProgramCase);
    // Qwen Code now and then reports an empty output of a command that ends at once.
    script.after = "; sleep 0.3";
    const run = new ProgramRun((request) => script.answer(request));
    try {
      for (; at < PROGRAM_CASES.length; at += 1) {
        const program = PROGRAM_CASES[at] as ProgramCase;
        script.turn = at;
        script.rounds = 0;
        writeFileSync(join(run.cwd, `berth-${at}.txt`), `berth ${at} holds barge-${at}-x\n`);
        const prompt = `The pilot of ${program.id} is pilot-${at}-x.`;
        const from = script.mains.length;
        const started = { prompt, isNext: false, sessionKey: "quay" };
        const { code, output } = await run.start(program, script.spy, started);
        assert.equal(code, 0, output);
        const last = script.mains.at(-1);
        assert.ok(last && script.mains.length === from + 2, `${program.id} asked twice`);
        const text = program.lines(last.request).join("\n");
        for (let before = 0; before <= at; before += 1)
          for (const fact of [`pilot-${before}-x`, `barge-${before}-x`])
            assert.equal(text.split(fact).length - 1, 1, `${fact} in ${program.id}:\n${text}`);
      }
      const sessions = await run.sessions();
      assert.deepEqual(
        sessions.map(({ key }) => key),
        ["quay"],
      );
    } finally {
      await run.end();
    }
  });
});
