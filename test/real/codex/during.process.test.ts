/** A running turn: steering, endless steps, an abort. Faults are in `faults*.process.test.ts`. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

describe("while a turn runs on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  async function turn(
    pagurus: Pagurus,
    prompt: string,
    on: (event: TurnEvent) => void,
  ): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const event of pagurus.run({ prompt, cwd: bench.cwd })) {
      events.push(event);
      on(event);
    }
    return events;
  }

  /** The next turn shows these lines before its own prompt. */
  async function next(pagurus: Pagurus, lines: readonly (string | RegExp)[]): Promise<void> {
    await bench.ask(pagurus, "And now?");
    const shown = conversation(bench.request(-1));
    assert.equal(shown.at(-1), "user: And now?");
    assert.equal(shown.length, lines.length + 1, shown.join("\n"));
    for (const [index, line] of lines.entries())
      if (typeof line === "string") assert.equal(shown[index], line);
      else assert.match(shown[index] ?? "", line);
  }

  it("input steers it; earlier text is kept, and the next turn has all of it once", async () => {
    // The first answer stops after its first text: what comes while the input is on its way would follow the input.
    bench = await CodexBench.with((_request, index) => ({
      text: `Answer ${index} is a longer one, so that it takes its time.`,
      ...(index === 0 ? { hangAfterChunks: 5 } : {}),
    }));
    const pagurus = await bench.host();
    const run = pagurus.run({ prompt: "Begin.", cwd: bench.cwd });
    let steered = false;
    for await (const event of run) {
      if (event.type === "text.delta" && !steered) {
        steered = true;
        run.steer("Hurry.");
      }
      if (event.type === "turn.failed") assert.fail(JSON.stringify(event));
    }
    assert.equal(bench.server.requests.length, 2);
    assert.equal(conversation(bench.request(1)).at(-1), "user: Hurry.");
    await next(pagurus, [
      "user: Begin.",
      /^assistant: Answer 0 is/,
      "user: Hurry.",
      /^assistant: Answer 1 is .* time\.$/,
    ]);
  });

  it("a turn that calls tools forever ends after its maximum of steps", async () => {
    bench = await CodexBench.with((_request, index) => ({
      toolCalls: [{ id: `call_${index}`, name: "exec_command", arguments: { cmd: "true" } }],
    }));
    const pagurus = await bench.host({ maxSteps: 3 });
    const events = await turn(pagurus, "Begin.", () => undefined);
    const last = events.at(-1);
    assert.ok(last?.type === "turn.completed" && last.stopReason === "max_steps", JSON.stringify(last));
    assert.ok(bench.server.requests.length <= 6, `${bench.server.requests.length} requests`);
  });

  it("an abort returns at once and keeps the text so far", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? { text: "A long answer that never ends.", hangAfterChunks: 8, chunkSize: 6 }
        : { text: "Fine." },
    );
    const pagurus = await bench.host();
    const run = pagurus.run({ prompt: "Begin.", cwd: bench.cwd });
    let at = 0;
    let last: TurnEvent | undefined;
    for await (const event of run) {
      if (event.type === "text.delta" && at === 0) {
        at = performance.now();
        run.abort();
      }
      last = event;
    }
    assert.ok(last?.type === "turn.completed" && last.stopReason === "aborted", JSON.stringify(last));
    assert.ok(performance.now() - at < 4_900, "before the 5 s for an interrupt without an answer");
    await next(pagurus, ["user: Begin.", /^assistant: A long/]);
  });
});
