/** Crashes of a real `pagurus serve` in the middle of turns: work is neither lost nor doubled. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { POSTGRES } from "../servers/on-postgres/tables.ts";
import { startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { until } from "../runner/until.ts";
import { ServeProcess } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

const ASKING = { agents: { defaults: { permission: { mode: "ask", sandbox: "off" } } } };

async function withServer(
  script: (request: Parameters<typeof readBody>[1], index: number) => ReplyStep | Promise<ReplyStep>,
  work: (server: ServeProcess, model: ModelServer, setting: Setting) => Promise<void>,
  more: Record<string, unknown> = {},
): Promise<void> {
  const model = await startServer({ protocol: "openai-completions", script });
  const setting = makeSetting(modelConfig("openai-completions", model.url, {}, more));
  const server = await ServeProcess.start(setting);
  try {
    await work(server, model, setting);
  } finally {
    await server.kill();
    await model.close();
    setting.remove();
  }
}

function answersIn(body: ReturnType<typeof readBody>): number {
  const input = body.messages.findLastIndex(({ role }) => role === "user");
  return body.messages.slice(input).filter(({ role }) => role === "assistant").length;
}

function newest(model: ModelServer): ReturnType<typeof readBody> {
  const request = model.requests.at(-1);
  assert.ok(request);
  return readBody("openai-completions", request);
}

/** A start loads about 70 files. */
const LEAST_FILES = 30;

const SHELL = { id: "c1", name: "shell", arguments: { command: "echo run >> runs.txt; sleep 0.3" } };

function runsOf(setting: Setting): number {
  const file = join(setting.workspace, "runs.txt");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).length : 0;
}

describe("a server that is killed", () => {
  longTest("has kept its compiled code for its next start, where no other user can change it", async () => {
    const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "unused" }) });
    const setting = makeSetting(modelConfig("openai-completions", model.url));
    const cache = mkdtempSync(join(tmpdir(), "pagurus-compiled-"));
    setting.env["NODE_COMPILE_CACHE"] = cache;
    const server = await ServeProcess.start(setting);
    const files = (): string[] =>
      readdirSync(cache, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
    try {
      await until(() => files().length > LEAST_FILES);
      await server.kill();
      assert.deepEqual(
        files().filter((file) => (statSync(file).mode & 0o077) !== 0),
        [],
      );
    } finally {
      await server.kill();
      await model.close();
      setting.remove();
      rmSync(cache, { recursive: true, force: true });
    }
  });

  longTest("while a model answers asks it again, and the session has the input once", async () => {
    let asked = 0;
    await withServer(
      async () => {
        asked += 1;
        if (asked === 1) await pause(60_000, undefined, { ref: false });
        return { text: "the answer" };
      },
      async (server, model) => {
        const posted = await server.call("POST", "/api/v1/sessions/one/turns", { prompt: "the question" });
        while (asked === 0) await pause(10);
        await server.kill();
        await server.begin();
        const ended = await server.ended(String(posted.body["id"]));
        assert.equal(ended["outcome"], "completed");
        const last = newest(model);
        assert.deepEqual(
          last.messages.map(({ role, text }) => [role, text]),
          [["user", "the question"]],
        );
        const { body } = await server.call("GET", "/api/v1/sessions/one");
        assert.equal(body["turns"], 1);
      },
    );
  });

  it("while a tool runs closes that call as of unknown outcome, and does not run it again", async () => {
    await withServer(
      (request) =>
        answersIn(readBody("openai-completions", request)) === 0
          ? {
              text: "I run it.",
              toolCalls: [{ ...SHELL, arguments: { command: "echo run >> runs.txt; sleep 60" } }],
            }
          : { text: "done" },
      async (server, model, setting) => {
        const posted = await server.call("POST", "/api/v1/sessions/two/turns", { prompt: "run it" });
        while (runsOf(setting) === 0) await pause(10);
        await server.kill();
        await server.begin();
        assert.equal((await server.ended(String(posted.body["id"])))["outcome"], "completed");
        assert.equal(runsOf(setting), 1);
        const last = newest(model);
        assert.match(last.messages.at(-1)?.results[0]?.text ?? "", /outcome is unknown/);
        assert.equal(model.requests.length, 2, "the first round is not asked again");
      },
    );
  });

  longTest(
    "while a permission question is open keeps the question, and runs the call once after the answer",
    async () => {
      await withServer(
        (request) =>
          answersIn(readBody("openai-completions", request)) === 0
            ? { text: "I ask.", toolCalls: [SHELL] }
            : { text: "done" },
        async (server, model, setting) => {
          const posted = await server.call("POST", "/api/v1/sessions/three/turns", { prompt: "ask first" });
          const path = `/api/v1/work/${String(posted.body["id"])}/events`;
          const asked = await server.events(path, ({ type }) => type === "approval.asked");
          const id = String(asked.at(-1)?.data["id"]);
          // A round is sent to a database without waiting; a crash before it arrives may cost one more model call.
          if (POSTGRES !== undefined) await pause(2_000);
          await server.kill();
          await server.begin();
          const { body } = await server.call("GET", "/api/v1/approvals");
          assert.deepEqual(
            (body["approvals"] as { id: string }[]).map((each) => each.id),
            [id],
          );
          const answered = await server.call("POST", `/api/v1/approvals/${id}`, { answer: "once" });
          assert.equal(answered.body["answered"], true);
          assert.equal((await server.ended(String(posted.body["id"])))["outcome"], "completed");
          assert.equal(runsOf(setting), 1);
          assert.equal(model.requests.length, 2);
          const all = await server.events(path, ({ type }) => type === "work.ended");
          assert.equal(all.filter(({ type }) => type === "approval.asked").length, 1);
        },
        ASKING,
      );
    },
  );

  longTest("leaves waiting work in the inbox, in its order, also after a stop", async () => {
    let isOpen = false;
    await withServer(
      async () => {
        while (!isOpen) await pause(10);
        return { text: "ok" };
      },
      async (server, model) => {
        const ids: string[] = [];
        for (const prompt of ["first", "second", "third"]) {
          const { body } = await server.call("POST", "/api/v1/sessions/four/turns", { prompt });
          ids.push(String(body["id"]));
        }
        while (model.requests.length === 0) await pause(10);
        await server.kill();
        await server.begin();
        isOpen = true;
        for (const id of ids) assert.equal((await server.ended(id))["outcome"], "completed");
        const last = newest(model);
        const inputs = last.messages.filter(({ role }) => role === "user").map(({ text }) => text);
        assert.deepEqual(inputs, ["first", "second", "third"]);
      },
    );
  });
});
