/** Faults of Codex, its host or its endpoint, and the assertions afterwards. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { ErrorCode } from "../../../packages/contract/src/errors.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import { processIds, processIsAlive } from "../../../packages/core/src/platform/process-group.ts";
import { startServer, type ReplyScript } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { CodexBench, conversation, type Line } from "./codex-bench.ts";
import type { TapRules } from "./tap.child.ts";
import { until } from "../../runner/until.ts";

const MOST_SENTENCE_CHARACTERS = 700;

export type Expected = string | RegExp;
type Failed = Extract<TurnEvent, { type: "turn.failed" }>["error"];

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

export class FaultBench extends CodexBench {
  readonly #rules = join(this.root, "tap.json");

  static override async with(script: ReplyScript): Promise<FaultBench> {
    return new FaultBench(await startServer({ protocol: "openai-responses", script }));
  }

  /** Ids of the living processes that were started for this bench's Codex, with their children. */
  processes(): number[] {
    const mark = `CODEX_HOME=${join(this.root, "codex")}`;
    return processIds().filter((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
        return variables.includes(mark) && pid !== process.pid && processIsAlive(pid);
      } catch {
        return false;
      }
    });
  }

  appServers(): number[] {
    return this.processes().filter((pid) => commandOf(pid).includes("app-server"));
  }

  /** kill -9 of the app-server, the program before the tap that leads to it. */
  killCodex(): void {
    for (const pid of this.appServers().toReversed()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        // One that the kill before has ended.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  async nothingLeft(): Promise<void> {
    await until(
      () => this.processes().length === 0,
      () => `left: ${this.processes().map(commandOf).join("; ")}`,
    );
  }

  /** A program that is Codex with the tap before it. */
  tapped(rules: TapRules = {}): string {
    this.tap(rules);
    const tap = join(import.meta.dirname, "tap.child.ts");
    const codex = codexBinary();
    return this.program(
      `test "$1" = app-server || exec "${codex}" "$@"\n` +
        `exec "${process.execPath}" "${tap}" "${codex}" "${this.#rules}" "$@"`,
    );
  }

  /** An executable of these shell lines. */
  program(lines: string): string {
    const path = join(this.root, "program");
    writeFileSync(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    return path;
  }

  /** Rules for the tap from now on. */
  tap(rules: TapRules): void {
    rmSync(`${this.#rules}.done`, { force: true });
    writeFileSync(this.#rules, JSON.stringify(rules));
  }

  /** Whether the tap has reached its point. */
  get isTapped(): boolean {
    return existsSync(`${this.#rules}.done`);
  }

  /** All events of a turn, whatever its end. */
  async turn(
    pagurus: Pagurus,
    prompt: string,
    on: (event: TurnEvent) => unknown = () => undefined,
    more: Partial<RunRequest> = {},
  ): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const event of pagurus.run({ prompt, cwd: this.cwd, ...more })) {
      events.push(event);
      await on(event);
    }
    return events;
  }

  /** Asserts that the next turn shows the model these lines, each once, and its own prompt; the transcript has the same. */
  async goesOn(
    pagurus: Pagurus,
    lines: readonly Expected[],
    prompt = "And now?",
    sessionKey = "main",
  ): Promise<TurnEvent[]> {
    const before = this.server.requests.length;
    const events = await this.ask(pagurus, prompt, { sessionKey });
    const [request] = this.server.requests
      .slice(before)
      .filter((each) => conversation(each).at(-1) === `user: ${prompt}`);
    assert.ok(request, "the model was asked");
    const shown = conversation(request);
    assertLines(shown, [...lines, `user: ${prompt}`]);
    const kept = await transcriptLines(pagurus, sessionKey);
    assertLines(kept.slice(0, shown.length), [...lines, `user: ${prompt}`]);
    return events;
  }
}

function assertLines(shown: readonly string[], lines: readonly Expected[]): void {
  assert.equal(shown.length, lines.length, `\n${shown.join("\n")}\n`);
  for (const [index, line] of lines.entries())
    if (typeof line === "string") assert.equal(shown[index], line);
    else assert.match(shown[index] ?? "", line);
}

/** The active path of the session, as `conversation` writes a request. */
async function transcriptLines(pagurus: Pagurus, sessionKey: string): Promise<Line[]> {
  const reader = pagurus.sessions().openReader(sessionKey);
  const lines: Line[] = [];
  try {
    for await (const entry of reader.cursor.forward()) {
      if (entry.type !== "message") continue;
      const { message } = entry;
      const { content } = message;
      const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
      const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      if (message.role === "toolResult") lines.push(`result ${message.toolCallId} ${text}`);
      else if (text !== "") lines.push(`${message.role}: ${text}`);
      for (const part of parts) if (part.type === "toolCall") lines.push(`call ${part.name} ${part.id}`);
    }
  } finally {
    reader.close();
  }
  return lines;
}

/** Asserts that the turn failed with this code, in one sentence that contains these words. */
export function failedWith(events: readonly TurnEvent[], code: ErrorCode, words: RegExp): Failed {
  const last = events.at(-1);
  assert.ok(last?.type === "turn.failed", JSON.stringify(last));
  const { error } = last;
  assert.equal(error.code, code, error.message);
  assertClear(error.message, words);
  return error;
}

/** Asserts that the text is sentences in one line, with these words. */
export function assertClear(message: string, words: RegExp): void {
  assert.match(message, words);
  assert.match(message, /^[A-Z\d`].*\.$/, "one line that ends like a sentence");
  assert.ok(message.length <= MOST_SENTENCE_CHARACTERS, `${message.length} characters: ${message}`);
  assert.doesNotMatch(message, /undefined|\[object|\.\.$/, message);
}
