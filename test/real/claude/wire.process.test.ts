/**
 * Seam "wire" on Claude Code: its requests pass the host's model gateway, which shows the model the engine's context instead
 * of the program's own. One process for all turns, through compactions, turns elsewhere, and a turn longer than the window.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { ClaudeBench } from "./claude-bench.ts";
import { assertPairs, isMain, markersOf, notOnce, oncePlace } from "./wire-words.ts";

const LONG_TURN = 4;
const ROUNDS = 30;
const ELSEWHERE = 5;
const KILLED_BEFORE = 7;
const TURNS = 8;
const WINDOW = 40_000;
/** Length of a result in the long turn, so that the turn is longer than the window. */
const LONG_CHARACTERS = 6_000;

let bench: ClaudeBench;
let pagurus: Pagurus;
let turn = 0;
let round = 0;

function reply(request: RecordedRequest, index: number): ReplyStep {
  const isConversation = request.headers["x-claude-code-session-id"] !== undefined;
  // A summary has all the markers that it replaces.
  if (!isConversation && request.body["tools"] === undefined)
    return { text: `## Goal\n- ${[...new Set(markersOf(request.text))].join(" ")}` };
  const wanted = turn === ELSEWHERE ? 0 : turn === LONG_TURN ? ROUNDS : 1 + (turn % 2);
  if (round >= wanted) return { text: `verbatim-${turn}-verbatim` };
  round += 1;
  const long = turn === LONG_TURN ? `; head -c ${LONG_CHARACTERS} /dev/zero | tr '\\0' x` : "";
  const toolCalls = ["a", "b"].map((name) => ({
    id: `toolu_${index}${name}`,
    name: "Bash",
    arguments: { command: `echo found-${turn}-${round}${name}-found${name === "a" ? long : ""}` },
  }));
  return { text: `I look, ${round}.`, toolCalls };
}

before(async () => {
  bench = await ClaudeBench.with(reply);
  pagurus = await bench.host({
    context: "wire",
    contextWindow: WINDOW,
    maxSteps: 100,
    plugins: { lossless: { config: { trigger: 12_000, headTokens: 3_000, tailTokens: 4_000 } } },
  });
});

after(async () => {
  await bench.end();
  await bench.nothingLeft();
});

async function ask(prompt: string): Promise<TurnEvent[]> {
  const elsewhere = turn === ELSEWHERE ? { runtime: "embedded" } : {};
  const events = await bench.ask(pagurus, prompt, elsewhere);
  assert.deepEqual(
    events.flatMap((event) => (event.type === "context.degraded" ? [event.reason] : [])),
    [],
    `turn ${turn}`,
  );
  return events;
}

describe(`${TURNS} turns of Claude Code at the model gateway`, { timeout: 180_000 }, () => {
  /** After each turn. */
  const programs: number[][] = [];
  const compactions: TurnEvent[] = [];

  it("show the model the whole conversation once at each request, verbatim or through a summary", async () => {
    const markers: string[] = [];
    const wrong: string[] = [];
    for (turn = 0; turn < TURNS; turn += 1) {
      round = 0;
      if (turn === KILLED_BEFORE) for (const pid of bench.programs()) process.kill(pid, "SIGKILL");
      const from = bench.server.requests.length;
      const prompt = `asked-${turn}-asked`;
      markers.push(prompt);
      const events = await ask(prompt);
      compactions.push(...events.filter(({ type }) => type === "compaction.started"));
      const requests = bench.server.requests.slice(from).filter(isMain);
      assert.equal(requests.length, round + 1, `requests of turn ${turn}`);
      for (const [index, request] of requests.entries()) {
        if (index > 0) for (const name of ["a", "b"]) markers.push(`found-${turn}-${index}${name}-found`);
        // Requests of the runtime's own loop are checked by other tests.
        if (turn === ELSEWHERE) continue;
        wrong.push(...notOnce(request, markers).map((what) => `turn ${turn}, request ${index}: ${what}`));
        assertPairs(request);
      }
      markers.push(`verbatim-${turn}-verbatim`);
      programs.push(bench.programs());
      const last = events.at(-1);
      assert.equal(last?.type === "turn.completed" && last.seam, turn === ELSEWHERE ? "embedded" : "wire");
    }
    assert.deepEqual(wrong, []);
  });

  it("run in one process, and in another only after it was killed", () => {
    const [first] = programs;
    assert.equal(first?.length, 1);
    for (const [at, running] of programs.entries())
      if (at < KILLED_BEFORE) assert.deepEqual(running, first, `turn ${at}`);
    assert.equal(programs.at(-1)?.length, 1);
    assert.notDeepEqual(programs.at(-1), first);
  });

  it("are compacted by the engine alone, also within the turn that is longer than the window", () => {
    assert.ok(compactions.length >= 2, `${compactions.length} compactions`);
    for (const event of compactions)
      assert.ok(event.type === "compaction.started" && event.lane !== "harness", JSON.stringify(event));
    const chars = LONG_CHARACTERS * ROUNDS;
    assert.ok(chars / 4 > WINDOW, "longer than the window");
    assert.ok(
      !bench.server.requests.some(({ text }) => text.includes("CRITICAL: Respond with TEXT ONLY")),
      "and never by Claude Code",
    );
  });

  it("have the base instructions once, and a receipt for each request, reported by the gateway", async () => {
    for (const request of bench.server.requests.filter(isMain)) {
      assert.equal(oncePlace(request, "You are an agent that works in the user's folder"), "system");
    }
    const receipts = await pagurus.context.receipts({});
    assert.equal(receipts.length, round + 1);
    for (const { seam, usage, runtime } of receipts)
      assert.deepEqual([seam, runtime, usage === undefined], ["wire", "claude-cli", false]);
  });

  it("use the host's key, and the token of the gateway reaches no endpoint", () => {
    for (const { headers } of bench.server.requests) {
      assert.equal(headers["x-api-key"], "test-key");
      assert.ok(!Object.keys(headers).some((name) => name.startsWith("x-pagurus")));
    }
  });
});
