/** A scripted conversation with Claude Code in rounds, each with a compaction, and what has to hold of its requests. */
import assert from "node:assert/strict";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { byLength } from "../../runner/short-form.ts";
import { assertWholePairs, blocksOf, FULL_USAGE, isHead, type InsideBench } from "./inside-bench.ts";

export const SMALL = { input: 900, output: 10 };
export const ROUNDS = byLength(6, 3, 2);
/** Turns of a round; the last one of an odd round fills the window. */
export const TURNS = byLength(10, 6, 4);

/** Claude Code as a conversation that a test leads. */
export interface Talk {
  /** Sends a message and waits for the end of its turn, or of its command. */
  send(text: string): Promise<unknown>;
  end(): Promise<void>;
  readonly sessionId: string;
  /** Triggers of the compactions that this process has made. */
  readonly boundaries: unknown[];
  /** Lines that the mod has shown. */
  readonly notices: string[];
}

export const words = (name: string, count = 500): string =>
  Array.from({ length: count }, (_, n) => `${name}${n}`).join(" ");
export const question = (round: number, turn: number): string =>
  `Question ${round}.${turn} about the harbour. ${words(`q${round}x${turn}x`)}`;

/** Texts of the newest message of a request. */
function newest(request: RecordedRequest): string {
  return blocksOf(request)
    .slice(-2)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("\n");
}

/** The second turn of a round runs two commands, the third of the first one starts a subagent; the others only answer. */
export function answer(nth: number, request: RecordedRequest): ReplyStep {
  const [, round = "", turn = ""] = /Question (\d+)\.(\d+) /.exec(newest(request)) ?? [];
  const full = Number(round) % 2 === 1 && Number(turn) === TURNS - 1;
  const usage = full ? FULL_USAGE : SMALL;
  const last = blocksOf(request).at(-1);
  if (last?.["type"] === "tool_result") return { text: `Done ${nth}.`, usage: SMALL };
  const bash = (id: string, command: string) => ({
    id: `toolu_${id}${nth}`,
    name: "Bash",
    arguments: { command, description: "look" },
  });
  if (turn === "1")
    return {
      text: "I look.",
      toolCalls: [bash("a", `echo ${words(`out${nth}x`, 60)}`), bash("b", "echo two")],
      usage,
    };
  const task = { description: "count", prompt: "Count the boats.", subagent_type: "general-purpose" };
  if (turn === "2" && round === "0")
    return {
      text: "I delegate.",
      toolCalls: [{ id: `toolu_s${nth}`, name: "Agent", arguments: task }],
      usage,
    };
  return { text: `Answer ${nth} ${words(`a${nth}x`, 60)} end${nth}.`, usage };
}

/** Leads the rounds: a compaction at the end of each, by the user or by itself in turn, and a new process that resumes after it. */
export async function leadRounds(bench: InsideBench, begin: (resume: string[]) => Talk): Promise<void> {
  let resume: string[] = [];
  let sessionId = "";
  for (let round = 0; round < ROUNDS; round += 1) {
    const talk = begin(resume);
    const firstRequest = bench.mains.length;
    for (let turn = 0; turn < TURNS; turn += 1) await talk.send(question(round, turn));
    const before = bench.mains.at(-1);
    if (round % 2 === 0) await talk.send("/compact keep the harbour");
    const count = bench.mains.length;
    await talk.send(`And now ${round}?`);
    assert.deepEqual(talk.boundaries, [round % 2 === 0 ? "manual" : "auto"], talk.notices.join("\n"));
    assertCompacted(before, bench.mains[count]);
    if (round > 0) assertCompacted(undefined, bench.mains[firstRequest]);
    bench.mains.slice(firstRequest).forEach(assertWholePairs);
    assert.deepEqual(talk.notices, []);
    sessionId = talk.sessionId;
    resume = ["--resume", sessionId];
    await talk.end();
  }
  assert.deepEqual(bench.compactions, [], "zero requests for compactions");
  const stored = await bench.stored(sessionId);
  for (let round = 0; round < ROUNDS; round += 1)
    for (let turn = 0; turn < TURNS; turn += 1) {
      const has = stored.filter((text) => text.includes(question(round, turn)));
      assert.equal(has.length, 1, `question ${round}.${turn} is stored once`);
    }
}

/** Claude Code's own news of a subagent that ended later than its turn, as on a slow machine. */
function isNotification({ text }: Record<string, unknown>): boolean {
  return typeof text === "string" && text.startsWith("<task-notification>");
}

/** One head at the beginning; after it blocks that the request before had too, byte for byte, and not all of them. */
export function assertCompacted(
  before: RecordedRequest | undefined,
  request: RecordedRequest | undefined,
): void {
  const blocks = blocksOf(request);
  assert.deepEqual(
    blocks.map(isHead),
    blocks.map((_, index) => index === 0),
  );
  if (!before) return;
  const known = new Set(blocksOf(before).map((block) => JSON.stringify(block)));
  // The last answer is in no request before, and the newest words are new.
  const kept = blocks
    .slice(1, -2)
    .filter((block) => !isNotification(block))
    .map((block) => JSON.stringify(block));
  assert.deepEqual(
    kept.filter((block) => !known.has(block)),
    [],
  );
  assert.ok(kept.length < known.size, "the older messages are not sent");
}
