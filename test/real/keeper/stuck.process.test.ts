/** Conversations that the real Claude Code cannot continue, each kind before and after `pagurus rescue`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CLAUDE_CODE_REPAIRS } from "../../../packages/keeper/src/rescue/rescue-claude-code.ts";
import { inputOf } from "../../runner/child-input.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { InsideBench } from "../inside/inside-bench.ts";
import { claudeBinary } from "../programs.ts";
import { anthropicFlaw } from "./provider-rules.ts";
import { HEALED_BY_CLAUDE, STUCK_CLAUDE, type Line, type Stuck } from "./stuck-claude.ts";

const WORDS = [
  "Question one about the pier.",
  "Answer 1 about the harbour.",
  "Question two about the crane.",
  "Answer 2 about the harbour.",
];
const NEXT = "Question three about the ship.";

interface Outcome {
  isRefused: boolean;
  /** The conversation that was sent last. */
  sent: string;
  output: string;
}

class StuckClaude {
  readonly bench: InsideBench;
  #lines: Line[] = [];

  private constructor(bench: InsideBench) {
    this.bench = bench;
  }

  static async open(): Promise<StuckClaude> {
    let answers = 0;
    const bench = await InsideBench.open((_nth, { body }): ReplyStep => {
      const flaw = anthropicFlaw(body);
      if (flaw !== undefined)
        return {
          status: 400,
          errorBody: { type: "error", error: { type: "invalid_request_error", message: flaw } },
        };
      answers += 1;
      return { text: `Answer ${answers} about the harbour.` };
    });
    const stuck = new StuckClaude(bench);
    const claude = bench.claude();
    await claude.send(WORDS[0] ?? "");
    await claude.send(WORDS[2] ?? "");
    await claude.end();
    const file = stuck.#file(claude.sessionId);
    stuck.#lines = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    return stuck;
  }

  #file(id: string): string {
    const projects = join(this.bench.config, "projects");
    const [folder = ""] = readdirSync(projects);
    return join(projects, folder, `${id}.jsonl`);
  }

  /** A session with a kind of damage. */
  damaged({ damage }: Stuck): { id: string; file: string } {
    const id = randomUUID();
    const lines = structuredClone(this.#lines).filter(({ type }) => type === "user" || type === "assistant");
    damage(lines, (role, content, more = {}) => {
      const template = lines.find(({ type }) => type === role) ?? {};
      const message = {
        ...(template["message"] as Line),
        role,
        content,
        ...(role === "assistant" && { id: `msg_${randomUUID()}` }),
      };
      const parentUuid = lines.findLast(({ uuid }) => uuid !== undefined)?.["uuid"];
      const line: Line = {
        ...template,
        message,
        ...more,
        uuid: randomUUID(),
        parentUuid,
        timestamp: new Date().toISOString(),
      };
      lines.push(line);
      return line;
    });
    const file = this.#file(id);
    writeFileSync(file, lines.map((line) => `${JSON.stringify({ ...line, sessionId: id })}\n`).join(""));
    return { id, file };
  }

  async resume(id: string): Promise<Outcome> {
    const asked = this.bench.mains.length;
    const args = [
      "-p",
      NEXT,
      "--resume",
      id,
      "--output-format",
      "json",
      "--model",
      "claude-sonnet-4-5",
      "--tools",
      "",
    ];
    const output = await new Promise<string>((resolve) => {
      const child = execFile(
        claudeBinary(),
        args,
        { cwd: this.bench.cwd, env: this.bench.env() },
        (_error, stdout, stderr) => resolve(stdout + stderr),
      );
      inputOf(child).end();
    });
    const requests = this.bench.mains.slice(asked);
    const sent = requests.findLast(({ text }) => text.includes(NEXT))?.text ?? "";
    return { isRefused: !/"is_error":\s*false/.test(output), sent, output };
  }
}

function countsOf(sent: string): number[] {
  return [...WORDS, NEXT].map((words) => sent.split(words).length - 1);
}

describe("a conversation of Claude Code that cannot continue", { timeout: 3_000_000 }, () => {
  let run: StuckClaude;
  before(async () => void (run = await StuckClaude.open()));
  after(() => run.bench.end());

  it("is of a kind that the table has a row for, and each row has one", () => {
    const rows = CLAUDE_CODE_REPAIRS.map(({ kind }) => kind);
    assert.ok(STUCK_CLAUDE.length >= 20);
    const others = ["half a character", "empty message", "wrong role"];
    assert.deepEqual(
      rows.filter((kind) => !STUCK_CLAUDE.some((each) => each.kind === kind)),
      ["line without a message"],
    );
    assert.deepEqual(
      STUCK_CLAUDE.filter(({ kind }) => !rows.includes(kind) && !others.includes(kind)),
      [],
    );
  });

  for (const stuck of STUCK_CLAUDE)
    it(`opens after rescue: ${stuck.kind}`, async () => {
      const { id, file } = run.damaged(stuck);
      const original = readFileSync(file);
      if (!HEALED_BY_CLAUDE.has(stuck.kind)) {
        const first = await run.resume(id);
        const isLost = countsOf(first.sent).some((count) => count !== 1);
        assert.ok(first.isRefused || isLost, `before: ${first.output.slice(0, 600)}`);
        writeFileSync(file, original);
      }
      const report = await run.bench.pagurus("rescue", file);
      assert.match(report, stuck.finding);
      assert.ok(readFileSync(file).equals(original), "the original is as it was");
      const [, rescued = ""] = /claude --resume (\S+)/.exec(report) ?? [];
      const second = await run.resume(rescued);
      assert.deepEqual(
        { isRefused: second.isRefused, counts: countsOf(second.sent) },
        { isRefused: false, counts: [1, 1, 1, 1, 1] },
        second.output.slice(0, 600),
      );
    });
});
