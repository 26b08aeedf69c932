import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { TurnOutput } from "../../packages/cli/src/run/turn-output.ts";
import { TestClock } from "../runner/test-clock.ts";
import { completed, failed } from "./fake-pagurus.ts";

const delta = (text: string): TurnEvent => ({ type: "text.delta", delta: text });
const answer = (text: string): TurnEvent => ({
  type: "message",
  message: { role: "assistant", content: [{ type: "text", text }] },
});
const retry: TurnEvent = { type: "model.retry", attempt: 1, delayMs: 500, reason: "The connection was cut." };
const started: TurnEvent = {
  type: "turn.started",
  sessionKey: "main",
  sessionId: "s",
  turnId: "t",
  runtime: "embedded",
  model: "local/m",
  engine: "legacy",
  seam: "embedded",
};

/** An output and what was written to it, in order. */
function screen(terminal: boolean, quiet?: () => boolean) {
  const shown = { out: "", err: "" };
  const clock = new TestClock();
  const stream = (name: "out" | "err") => ({
    isTTY: terminal,
    write: (data: string | Uint8Array) => {
      shown[name] += String(data);
      return true;
    },
  });
  return {
    shown,
    pass: (seconds: number) => clock.move(seconds * 1_000),
    output: new TurnOutput(
      stream("out"),
      stream("err"),
      { NO_COLOR: "1" },
      { clock, ...(quiet && { quiet }) },
    ),
  };
}

function played(terminal: boolean, events: TurnEvent[]): { out: string; err: string } {
  const { shown, output } = screen(terminal);
  for (const event of events) output.show(event);
  output.close();
  return shown;
}

test("off a terminal a retried answer is written once; on one the restart is announced", () => {
  const events = [delta("Half an"), retry, delta("Half an answer"), answer("Half an answer"), completed];
  assert.equal(played(false, events).out, "Half an answer\n");
  const { out, err } = played(true, events);
  assert.equal(out, "Half an\nHalf an answer\n");
  assert.match(err, /^\(answer cut off; starting again\)\nretry 1 in 500 ms: The connection was cut\.\n$/);
  assert.doesNotMatch(played(true, [retry, answer("x"), completed]).err, /broke off/);
});

test("off a terminal an answer that never became complete is written at the end", () => {
  assert.equal(played(false, [delta("half"), failed("internal", "x")]).out, "half\n");
});

test("a character split over two chunks is shown as one", () => {
  const { shown, output } = screen(true);
  for (const half of ["a\ud83d", "\ude00b"]) output.show(delta(half));
  assert.equal(shown.out, "a😀b");
  output.close();
});

test("messages are whole, however long; only arguments of a call are shortened", () => {
  const long = `${"word ".repeat(100)}do this.`;
  const { err } = played(false, [
    { type: "tool.started", toolCallId: "c", toolName: "shell", arguments: { command: long } },
    {
      type: "tool.completed",
      toolCallId: "c",
      toolName: "shell",
      outcome: { content: [{ type: "text", text: long }], isError: true },
    },
    { type: "notice", kind: "n", detail: long },
    { ...retry, reason: long } as TurnEvent,
    { type: "context.degraded", stage: "assemble", reason: long, engineId: "e", turnId: "t" },
    {
      type: "compaction.failed",
      tokensBefore: 900,
      handledBy: "legacy",
      lane: "queued",
      trigger: "manual",
      backend: "b",
      ownsCompaction: false,
      reason: long,
    },
    answer("ok"),
    completed,
  ]);
  const lines = err.trimEnd().split("\n");
  assert.equal(lines.length, 6);
  assert.ok((lines[0] ?? "").length < 110);
  for (const line of lines.slice(1)) assert.ok(line.endsWith("word do this."), line.slice(0, 40));
});

test("a failure of very many lines keeps its start and its end", () => {
  const text = Array.from({ length: 100 }, (_, line) => `line ${line}`).join("\n");
  const { err } = played(false, [
    {
      type: "tool.completed",
      toolCallId: "c",
      toolName: "shell",
      outcome: { content: [{ type: "text", text }], isError: true },
    },
    answer("ok"),
    completed,
  ]);
  assert.match(err, /line 0\n[^]* {4}… 60 more lines …\n {4}line 80\n[^]*line 99\n$/);
});

test("a turn with an empty answer is reported, an aborted one is not", () => {
  assert.equal(played(false, [answer(""), completed]).err, "the model's answer was empty\n");
  assert.equal(played(false, [answer("x"), completed]).err, "");
  assert.equal(played(false, [{ ...completed, stopReason: "aborted" } as TurnEvent]).err, "");
});

test("a silent endpoint is reported after 10 seconds, then every 30, until an event arrives", () => {
  const { shown, output, pass } = screen(false);
  output.show(started);
  pass(9);
  assert.equal(shown.err, "");
  pass(60);
  assert.deepEqual(shown.err.trimEnd().split("\n"), [
    "waiting for local/m (10 s)…",
    "waiting for local/m (30 s)…",
    "waiting for local/m (60 s)…",
  ]);
  output.show({ type: "tool.started", toolCallId: "c", toolName: "shell", arguments: {} });
  pass(10);
  assert.match(shown.err, /waiting for shell \(10 s\)…\n$/);
  output.close();
  pass(100);
  assert.match(shown.err, /waiting for shell \(10 s\)…\n$/);
});

test("a wait for a compaction is named so, until it has ended", () => {
  const { shown, output, pass } = screen(false);
  const facts = { lane: "queued", trigger: "overflow", backend: "b", ownsCompaction: true } as const;
  output.show(started);
  output.show({ type: "compaction.started", ...facts, tokensBefore: 9_000 });
  pass(10);
  assert.match(shown.err, /waiting for the compaction \(10 s\)…\n$/);
  output.show({
    type: "compaction.completed",
    ...facts,
    tokensBefore: 9_000,
    tokensAfter: 9_000,
    handledBy: "e",
  });
  assert.match(shown.err, /9,000 → 9,000 tokens \(nothing saved\)\n$/);
  pass(10);
  assert.match(shown.err, /waiting for local\/m \(10 s\)…\n$/);
  output.close();
});

test("on a terminal the wait counts in place and is erased by the next event", () => {
  let asked = false;
  const { shown, output, pass } = screen(true, () => asked);
  output.show(started);
  output.show(delta("Well"));
  pass(11);
  assert.equal(shown.out, "Well\n");
  const clear = "\r\u001b[K";
  assert.equal(shown.err, `${clear}waiting for local/m (10 s)…${clear}waiting for local/m (11 s)…`);
  output.show(delta(", yes"));
  assert.ok(shown.err.endsWith(clear));
  asked = true;
  const before = shown.err;
  pass(60);
  assert.equal(shown.err, before);
  output.close();
});
