/**
 * Claim 1 of the model gateway: at every request the model sees exactly the engine's context and the live turn, through many
 * compactions of the engine, in one native conversation that keeps growing and never compacts itself.
 */
import { turnMetadata } from "../codex/turn-metadata.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { ClaudeBench, conversation as claudeLines } from "../claude/claude-bench.ts";
import { CodexBench, conversation as codexLines } from "../codex/codex-bench.ts";
import { captured, type CapturedPair } from "./captured.ts";
import { linesOf, Spy } from "./spy.ts";
import { FULL } from "../../runner/short-form.ts";

const TURNS = FULL ? 200 : 24;
const LONG_TURN = 10;
const ROUNDS = FULL ? 150 : 24;
/** Minimum number of the engine's compactions in the run. */
const LEAST = FULL ? 6 : 3;
const WINDOW = 48_000;

const MORE =
  "The keeper of the quay wrote down which ships had come, and when they were to leave again. ".repeat(6);

/** Text of a round of the long turn, so that this is longer than the window. */
const LONG = MORE.repeat(FULL ? 3 : 14);

/** Properties of one harness, in a test that is the same for both. */
interface Kind {
  name: string;
  runtime: string;
  /** The call that its model makes. */
  call(id: string, words: string): { id: string; name: string; arguments: Record<string, unknown> };
  lines(request: RecordedRequest): string[];
  isMain(request: RecordedRequest): boolean;
  isCompaction(request: RecordedRequest): boolean;
  /** The harness's own id of its conversation. */
  nativeId(request: RecordedRequest): unknown;
  elements(body: Record<string, unknown>): unknown[];
  bench(script: (request: RecordedRequest, index: number) => ReplyStep): Promise<Bench>;
}

interface Bench {
  server: { requests: RecordedRequest[] };
  root: string;
  open(spy: Spy): Promise<Pagurus>;
  ask(pagurus: Pagurus, prompt: string): Promise<TurnEvent[]>;
  end(): Promise<void>;
}

const CONFIG = {
  capture: true,
  contextWindow: WINDOW,
  maxSteps: 400,
  slot: "spy",
};
const LOSSLESS = { config: { trigger: FULL ? 12_000 : 6_000, headTokens: 1_500, tailTokens: 2_500 } };

const CODEX: Kind = {
  name: "Codex",
  runtime: "codex",
  call: (id, words) => ({ id, name: "exec_command", arguments: { cmd: `echo ${words}` } }),
  lines: codexLines,
  isMain: (request) =>
    turnMetadata(request) !== "" && !turnMetadata(request).includes('"request_kind":"compaction"'),
  isCompaction: (request) =>
    turnMetadata(request).includes('"request_kind":"compaction"') ||
    request.text.includes("CONTEXT CHECKPOINT COMPACTION"),
  nativeId: ({ body }) => body["prompt_cache_key"],
  elements: (body) => body["input"] as unknown[],
  bench: async (script) => {
    const bench = await CodexBench.with(script);
    return {
      server: bench.server,
      root: bench.root,
      open: (spy) =>
        bench.host({
          ...CONFIG,
          seam: "wire",
          more: { engines: { spy: (context) => spy.make(context) } },
          plugins: { lossless: LOSSLESS },
        }),
      ask: (pagurus, prompt) => bench.ask(pagurus, prompt),
      end: () => bench.end(),
    };
  },
};

const CLAUDE: Kind = {
  name: "Claude Code",
  runtime: "claude-cli",
  call: (id, words) => ({ id, name: "Bash", arguments: { command: `echo ${words}` } }),
  lines: (request) =>
    claudeLines(request).filter(
      (line) =>
        !/^assistant (?:thinking|redacted_thinking)$/.test(line) &&
        !line.startsWith("user: <system-reminder>"),
    ),
  isMain: ({ headers, text }) =>
    headers["x-claude-code-session-id"] !== undefined && !text.includes("CRITICAL: Respond with TEXT ONLY"),
  isCompaction: ({ text }) => text.includes("CRITICAL: Respond with TEXT ONLY"),
  nativeId: ({ headers }) => headers["x-claude-code-session-id"],
  elements: (body) => body["messages"] as unknown[],
  bench: async (script) => {
    const bench = await ClaudeBench.with(script);
    return {
      server: bench.server,
      root: bench.root,
      open: (spy) =>
        bench.host({
          ...CONFIG,
          context: "wire",
          more: { engines: { spy: (context) => spy.make(context) } },
          plugins: { lossless: LOSSLESS },
        }),
      ask: (pagurus, prompt) => bench.ask(pagurus, prompt),
      end: () => bench.end(),
    };
  },
};

for (const kind of [CODEX, CLAUDE])
  describe(`${TURNS} turns on ${kind.name} at the wire, one of ${ROUNDS} rounds`, () => {
    it("show the model the engine's context and the live turn at each request", async () => {
      const spy = new Spy();
      let turn = 0;
      let round = 0;
      /** The engine's context at each request. */
      const expected: { turn: number; lines: string[]; epoch: string | undefined }[] = [];
      const mains: RecordedRequest[] = [];
      const bench = await kind.bench((request, index): ReplyStep => {
        if (kind.isCompaction(request)) assert.fail("the harness compacted by itself");
        if (!kind.isMain(request)) return { text: "## Goal\n- The berths are looked after." };
        mains.push(request);
        expected.push({
          turn,
          lines: linesOf(spy.last?.messages ?? []),
          epoch: spy.last?.contextProjection?.epoch,
        });
        const wanted = turn === LONG_TURN ? ROUNDS : turn % 3;
        if (round >= wanted) return { text: `Answer of ${turn}. ${MORE}` };
        round += 1;
        const calls = Array.from({ length: 1 + ((turn + round) % 3) }, (_, at) =>
          kind.call(`call_${index}_${at}`, `${turn} ${round} ${at}`),
        );
        const thinking = { text: `I think of ${index}.`, signature: `c2lnbmVk${index}` };
        const words = turn === LONG_TURN ? LONG : MORE;
        return { thinking, text: `Round ${round} of ${turn}. ${words}`, toolCalls: calls };
      });
      try {
        const pagurus = await bench.open(spy);
        const natives = new Set<unknown>();
        for (turn = 0; turn < TURNS; turn += 1) {
          round = 0;
          const prompt = `Request ${turn}: look after berth ${turn}. ${MORE}`;
          const from = mains.length;
          const events = await bench.ask(pagurus, prompt);
          const lanes = events.flatMap((event) => (event.type === "compaction.started" ? [event.lane] : []));
          assert.ok(!lanes.includes("harness"), "no compaction of its own");
          const [started] = events;
          assert.equal(started?.type === "turn.started" && started.seam, "wire");
          for (const [offset, request] of mains.slice(from).entries()) {
            const answer = expected[from + offset];
            const lines = answer?.lines ?? [];
            // The first result of a turn leaves the input to the host.
            const whole = lines.includes(`user: ${prompt}`) ? lines : [...lines, `user: ${prompt}`];
            const sent = kind.lines(request);
            assert.deepEqual(
              inOrder(sent),
              inOrder(withLate(whole, sent)),
              `request ${offset} of turn ${turn}`,
            );
            assertPairs(sent);
            natives.add(kind.nativeId(request));
          }
        }
        assert.equal(natives.size, 1, "one conversation of the harness's own, whatever the engine does");
        assert.ok(spy.compactions >= LEAST, `${spy.compactions} compactions of the engine`);
        assertKept(kind, await captured(bench.root), mains);
      } finally {
        await bench.end();
      }
    });
  });

/** Results of parallel calls come in any order. */
function inOrder(lines: readonly string[]): string[] {
  const ordered: string[] = [];
  let results: string[] = [];
  for (const line of [...lines, ""]) {
    if (line.startsWith("result ")) {
      results.push(line);
      continue;
    }
    ordered.push(...results.toSorted(), line);
    results = [];
  }
  return ordered.slice(0, -1);
}

/** A result may reach the model before the transcript: then the harness's own is sent. */
function withLate(lines: readonly string[], sent: readonly string[]): string[] {
  return lines.map((line) => {
    const late = / No result was recorded for this tool call\.$/.exec(line);
    if (!late) return line;
    const call = line.slice(0, late.index + 1);
    return sent.find((own) => own.startsWith(call) && own !== line) ?? assert.fail(`not sent: ${call}`);
  });
}

/** Each result follows its call, and each call has one. */
function assertPairs(lines: readonly string[]): void {
  const open = new Set<string>();
  for (const line of lines) {
    const [what, second = "", third = ""] = line.split(" ");
    if (what === "call") open.add(third);
    else if (what === "result") assert.ok(open.delete(second), `result without call: ${second}`);
    else if (what === "user:") assert.equal(open.size, 0, `calls without result: ${[...open].join()}`);
  }
  assert.equal(open.size, 0);
}

function hashOf(element: unknown): string {
  return createHash("sha256").update(JSON.stringify(element)).digest("hex");
}

/**
 * Asserts that the harness sent more than the model saw; that the kept part of it is the same to the byte, the live turn
 * whole; and that what the model has seen is unchanged within an epoch.
 */
function assertKept(kind: Kind, pairs: readonly CapturedPair[], mains: readonly RecordedRequest[]): void {
  const own = pairs.filter(({ facts }) => facts.kind === "main");
  assert.equal(own.length, mains.length);
  const most = Math.max(...own.map(({ harness }) => estimateTokens(harness.toString())));
  assert.ok(most > WINDOW, `the harness has ${most} tokens, the window ${WINDOW}`);
  let longer = 0;
  for (const [index, { harness, sent }] of own.entries()) {
    assert.equal(sent.toString(), mains[index]?.text, "the capture is what the model was sent");
    const before = kind.elements(JSON.parse(harness.toString()) as Record<string, unknown>);
    const after = kind.elements(JSON.parse(sent.toString()) as Record<string, unknown>);
    if (before.length > after.length) longer += 1;
    const theirs = new Set(before.map(hashOf));
    const kept = after.filter((element) => theirs.has(hashOf(element)));
    for (const element of kept) assert.ok(harness.includes(JSON.stringify(element)), "kept to the byte");
    const last = after.at(-1);
    assert.equal(hashOf(last), hashOf(before.at(-1)), "the newest element is the harness's own");
  }
  const seen = Math.max(...own.map(({ sent }) => estimateTokens(sent.toString())));
  assert.ok(seen < WINDOW, `the model was sent ${seen} tokens, the window ${WINDOW}`);
  assert.ok(longer > own.length / 2, `the harness's own history is longer in ${longer} of ${own.length}`);
}
