/** Compactions that programs make by themselves or for their user: answered by the engine if it can, and the conversation stays one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { ProgramRun } from "./programs-bench.ts";
import { PROGRAM_CASES } from "./programs-table.ts";
import { linesOf, Spy } from "./spy.ts";

const TURNS = 5;
const LOSSLESS = { trigger: 2_000, headTokens: 500, tailTokens: 600 };
const THINGS = "anchor barrel capstan davit ensign fender gangway hawser jetty keel lantern mast".split(" ");

/** No sentence twice, and none in two turns. */
function words(turn: number): string {
  return THINGS.map(
    (thing, at) =>
      `The ${thing} of quay ${at * 7 + turn} was counted ${at * 37 + turn * 5} times in week ${at + 20}.`,
  ).join(" ");
}

interface Compacting {
  id: string;
  /** The prompt that compacts. */
  prompt?: string;
  /** Tokens at which the program compacts by itself. */
  full?: number;
  /** Whether a request asks for a summary. */
  asks(request: RecordedRequest): boolean;
}

const COMPACTING: readonly Compacting[] = [
  {
    id: "copilot",
    prompt: "/compact",
    asks: ({ headers }) => headers["x-interaction-type"] === "conversation-compaction",
  },
  {
    id: "qwen",
    full: 165_000,
    asks: ({ text }) => text.includes("You are the component that summarizes a conversation"),
  },
  {
    id: "opencode",
    full: 198_000,
    asks: ({ text }) => text.includes("You are a context summarization agent."),
  },
];

for (const { id, prompt, full = 0, asks } of COMPACTING)
  describe(`a compaction of ${id} under pagurus wire`, () => {
    it("leaves one session with the user's words, which the next start continues", async () => {
      const program = PROGRAM_CASES.find((each) => each.id === id);
      assert.ok(program);
      const mains: RecordedRequest[] = [];
      const asked: RecordedRequest[] = [];
      let isFull = false;
      const run = new ProgramRun((request): ReplyStep => {
        if (asks(request)) {
          asked.push(request);
          return { text: `<overview>The user has things of many quays counted. ${words(90)}</overview>` };
        }
        if (!program.isMain(request)) return { text: "A title." };
        mains.push(request);
        const usage = { input: isFull ? full : 5_000, output: 20 };
        isFull = false;
        return { text: `Answer ${mains.length}. ${words(mains.length + 50)}`, usage };
      }, LOSSLESS);
      const spy = new Spy();
      const start = (text: string, isNext = true): ReturnType<ProgramRun["start"]> =>
        run.start(program, spy, { prompt: text, isNext });
      try {
        for (let turn = 0; turn < TURNS; turn += 1) {
          isFull = prompt === undefined && turn === TURNS - 1;
          const { code, output } = await start(`Question ${turn}: berth ${turn}. ${words(turn)}`, turn > 0);
          assert.equal(code, 0, output);
        }
        if (prompt !== undefined) await start(prompt);
        const last = await start(`Question ${TURNS}: which berth is free?`);
        assert.equal(last.code, 0, last.output);
        // Nothing is left to compact for a user who asks for it right after the engine has: the provider answers.
        assert.equal(asked.length, prompt === undefined ? 0 : 1, "summaries asked of the provider");
        const sessions = await run.sessions();
        assert.deepEqual(
          sessions.map(({ key }) => key),
          ["work"],
        );
        const inputs = linesOf(sessions[0]?.messages ?? []).filter((line) => line.startsWith("user: "));
        // OpenCode asks its model to continue, in its user's place.
        const own = inputs.filter((line) => !line.startsWith("user: Continue if you have next steps"));
        assert.deepEqual(
          own.map((line) => /Question (\d)/.exec(line)?.[1]),
          Array.from({ length: TURNS + 1 }, (_, turn) => String(turn)),
          "the user's words alone, each once",
        );
      } finally {
        await run.end();
      }
    });
  });
