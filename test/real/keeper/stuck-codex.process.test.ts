/** Rollouts that the real Codex cannot continue, each kind before and after `pagurus rescue`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { writeCodex } from "../../../packages/keeper/src/native/write-codex.ts";
import { CODEX_REPAIRS } from "../../../packages/keeper/src/rescue/codex-repairs.ts";
import { inputOf } from "../../runner/child-input.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { finish, makeSetting, type Setting } from "../../turn/setting.ts";
import { PROGRAM_CASES } from "../wire/programs-table.ts";
import { madeConversation, marksOf } from "./made-conversation.ts";
import { responsesFlaw } from "./provider-rules.ts";
import { HEALED_BY_CODEX, STUCK_CODEX, type StuckRollout } from "./stuck-codex.ts";
import type { Line } from "./stuck-claude.ts";

const TURNS = 4;
const MARKS = Array.from({ length: TURNS }, (_, turn) => marksOf(turn).words).flat();
const CODEX = PROGRAM_CASES.find(({ id }) => id === "codex") ?? assert.fail("codex");

describe("a rollout of Codex that cannot continue", { timeout: 3_000_000 }, () => {
  const setting: Setting = makeSetting();
  let server: ModelServer;
  let env: Record<string, string>;

  before(async () => {
    server = await startServer({
      protocol: "openai-responses",
      script: ({ body }): ReplyStep => {
        const flaw = responsesFlaw(body);
        if (flaw === undefined) return { text: "An answer of the real Codex." };
        const error = { message: flaw, type: "invalid_request_error", param: null, code: null };
        return { status: 400, errorBody: { error } };
      },
    });
    const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    env = { ...setting.env, PATH: path, ...CODEX.setUp({ home: setting.root, url: server.url }) };
  });
  after(async () => {
    await server.close();
    setting.remove();
  });

  /** A rollout with a kind of damage. */
  function damaged({ damage }: StuckRollout): { id: string; file: string } {
    const made = { cwd: setting.workspace, items: madeConversation(TURNS, -1) };
    const { id, place = "", content } = writeCodex(made, { id: randomUUID(), now: Date.now() });
    const [head, ...items] = content
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    damage(items, (payload) =>
      items.push({ timestamp: new Date().toISOString(), type: "response_item", payload }),
    );
    const file = join(setting.root, ".codex", place);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, [head, ...items].map((line) => `${JSON.stringify(line)}\n`).join(""));
    return { id, file };
  }

  /** Whether Codex resumes a session, and how often it sends each mark. */
  async function resume(id: string): Promise<{ isRefused: boolean; wrong: string[]; output: string }> {
    const asked = server.requests.length;
    const args = ["exec", "--skip-git-repo-check", "resume", id, "The next question."];
    const { isFailed, output } = await new Promise<{ isFailed: boolean; output: string }>((resolve) => {
      const child = execFile(
        CODEX.program(),
        args,
        { cwd: setting.workspace, env, maxBuffer: 256 * 1024 ** 2 },
        (error, stdout, stderr) =>
          resolve({ isFailed: error !== null, output: `${stdout}${stderr}`.slice(-600) }),
      );
      inputOf(child).end();
    });
    const sent = JSON.stringify(server.requests.slice(asked).findLast(CODEX.isMain)?.body ?? {});
    const wrong = MARKS.filter((mark) => sent.split(mark).length !== 2);
    return { isRefused: isFailed, wrong, output };
  }

  it("is of a kind that the table has a row for, and each row has one", () => {
    const kinds = STUCK_CODEX.map(({ kind }) => kind).filter((kind) => kind !== "half a character");
    assert.deepEqual(kinds.toSorted(), CODEX_REPAIRS.map(({ kind }) => kind).toSorted());
  });

  for (const stuck of STUCK_CODEX)
    it(`opens after rescue: ${stuck.kind}`, async () => {
      const { id, file } = damaged(stuck);
      const original = readFileSync(file);
      if (!HEALED_BY_CODEX.has(stuck.kind)) {
        const first = await resume(id);
        assert.ok(first.isRefused || first.wrong.length > 0, `before: ${first.output}`);
        writeFileSync(file, original);
      }
      const { code, stdout, stderr } = await finish({ ...setting, env }, ["rescue", file]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, stuck.finding);
      assert.ok(readFileSync(file).equals(original), "the original is as it was");
      const [, rescued = ""] = /codex resume (\S+)/.exec(stdout) ?? [];
      const second = await resume(rescued);
      assert.deepEqual(
        { isRefused: second.isRefused, wrong: second.wrong },
        { isRefused: false, wrong: [] },
        second.output,
      );
    });
});
