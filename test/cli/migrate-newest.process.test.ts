/** A home of OpenClaw 2026.9.6, migrated by the command line: each part of it is here and opens, or the report names it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { agentDir } from "../../packages/core/src/config/config-paths.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { Migration } from "../../packages/importers/src/openclaw/migrate-home.ts";
import type { Job } from "../../packages/inbox/src/schedule/job.ts";
import { JOBS, LATER, writeNewestHome } from "../importers/openclaw/newest-home.ts";
import { ClawHome, hashTree } from "../importers/openclaw/openclaw-home.ts";
import { messagesOf, type Row } from "../importers/sessions/support.ts";
import { startServer } from "../servers/server.ts";
import { entriesOf, openStore } from "../stores/files/fixtures.ts";
import { eventsOf } from "../turn/in-process.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { Launcher } from "./launch.ts";

const launcher = new Launcher();
after(() => launcher.remove());
const server = await startServer({
  protocol: "openai-completions",
  script: () => ({ text: "I am here." }),
});
after(() => server.close());
const home = new ClawHome(join(launcher.root, ".openclaw"));
const { said } = writeNewestHome(home, server.url);
const before = hashTree(home.folder);
const ours = launcher.env.PAGURUS_HOME;

/** Undefined fields are left out, as in a file. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The parts of a message that a model or a person sees, from either program's form. */
function substance(message: Row | AgentMessage): unknown {
  const { role, content, toolCallId, toolName, isError } = message as Row;
  const parts = (typeof content === "string" ? [{ type: "text", text: content }] : (content as Row[])).map(
    ({ thinkingSignature, ...part }) => ({ signature: thinkingSignature, ...part }),
  );
  return asStored({ role, parts, toolCallId, toolName, isError });
}

async function report(...more: string[]): Promise<Migration> {
  const { code, out, err } = await launcher.run(["migrate", "openclaw", "--json", ...more]);
  assert.equal(code, 0, err + out);
  return JSON.parse(out) as Migration;
}

async function listed(): Promise<Map<string, Job>> {
  const { code, out } = await launcher.run(["jobs", "list", "--json"]);
  assert.equal(code, 0);
  return new Map((JSON.parse(out) as Job[]).map((job) => [job.id, job]));
}

describe("a home of the newest OpenClaw", async () => {
  const dry = await report("--dry-run");
  const wasWritten = existsSync(ours);
  const done = await report();

  it("is not changed, and a dry run writes nothing and reports the same", () => {
    assert.equal(wasWritten, false);
    assert.deepEqual({ ...dry, dryRun: false }, done);
    assert.deepEqual(hashTree(home.folder), before);
  });

  it("gives every message, call and result of each conversation, with its arguments and images", () => {
    assert.deepEqual(
      done.conversations.map(({ agentId, sessionKey }) => `${agentId} ${sessionKey}`).toSorted(),
      [...said.keys()].toSorted(),
    );
    for (const [place, messages] of said) {
      const [agent = "", key = ""] = place.split(" ");
      const store = openStore(agentDir(ours, agent));
      const record = store.find(key);
      assert.ok(record, place);
      const here = messagesOf(entriesOf(record.file));
      store.close();
      assert.deepEqual(here.map(substance), messages.map(substance), place);
    }
  });

  it("opens each conversation: the next turn's model sees its words or its summary", async () => {
    for (const place of said.keys()) {
      const [agentId = "", sessionKey = ""] = place.split(" ");
      const pagurus = await createPagurus({ home: ours, env: launcher.env });
      try {
        const asked = server.requests.length;
        const run = { prompt: "Go on", agentId, sessionKey, cwd: launcher.root };
        const last = (await eventsOf(pagurus.run(run))).at(-1);
        assert.equal(last?.type, "turn.completed", `${place}: ${JSON.stringify(last)}`);
        const request = server.requests[asked];
        assert.ok(request);
        const body = readBody("openai-completions", request);
        const seen = [body.system, ...body.messages.map(({ text }) => text)].join("\n");
        assert.match(seen, /Tell me of |They spoke of /, place);
        assert.match(seen, /And this picture of [\s\S]*Try one way\.[\s\S]*The right way to /, place);
        assert.doesNotMatch(seen, /The wrong way/, place);
      } finally {
        await pagurus.close();
      }
    }
  });

  it("gives its agents with their workspaces and settings", () => {
    const config = JSON.parse(readFileSync(join(ours, "pagurus.json"), "utf8")) as {
      agents: { list: Row[]; defaults: Row };
    };
    assert.deepEqual(config.agents.list, [
      { workspace: join(home.folder, "workspace-of-home"), id: "home" },
      { thinking: "high", id: "work", workspace: join(home.folder, "workspace-work") },
    ]);
    assert.deepEqual(config.agents.defaults["heartbeat"], { every: "1h" });
  });

  it("names each setting that is not taken, with a reason, and prints no secret", async () => {
    const named = done.config.notTaken.map(({ path }) => path);
    for (const path of [
      "channels.whatsapp",
      "bindings",
      "cron",
      "meta",
      "tools",
      "agents.ownership",
      "agents.defaults.heartbeat.target",
      "agents.entries.home.identity",
      "agents.entries.work.tools",
    ])
      assert.ok(
        named.some((each) => each === path || each.startsWith(`${path}.`)),
        `${path} of ${named.join(", ")}`,
      );
    const { out } = await launcher.run(["migrate", "openclaw"]);
    assert.doesNotMatch(out + JSON.stringify(done), /SECRET/);
    assert.match(done.config.notes.join("\n"), /SOUL\.md of \S+workspace-work are not read here/);
  });

  it("gives its jobs with their times, zones, prompts, agents and sessions, those that were off as paused", async () => {
    const jobs = await listed();
    const short = [...jobs.values()].map(({ id, agentId, sessionKey, times, missed, request, isPaused }) => [
      id.replace("openclaw-", ""),
      { agentId, sessionKey, times, missed, request, isPaused },
    ]);
    const like = (id: string, more: Row = {}) => ({
      agentId: "home",
      sessionKey: `cron-${id}`,
      times: { kind: "cron", expression: "0 9 * * *", tz: "UTC" },
      missed: "skip",
      request: { prompt: `Do ${id}.` },
      isPaused: false,
      ...more,
    });
    const tz = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const expected: Row = {
      cron: like("cron", {
        sessionKey: "agent:home:main",
        times: { kind: "cron", expression: "0 7 * * 1-5", tz: "Europe/Vienna" },
        request: { prompt: "What is due today?" },
      }),
      hostzone: like("hostzone", { times: { kind: "cron", expression: "30 6 * * *", tz } }),
      every: like("every", {
        agentId: "work",
        times: { kind: "every", everyMs: 1_800_000, from: 1_700_000_000_000 },
        request: { prompt: "Sort the mail.", model: "local/m", thinking: "high" },
      }),
      at: like("at", {
        sessionKey: "agent:home:plans",
        times: { kind: "at", at: Date.parse(`${LATER}Z`) },
        missed: "once",
      }),
      current: like("current", { agentId: "work", sessionKey: "agent:work:telegram:direct:42" }),
      off: like("off", { isPaused: true }),
      narrow: like("narrow", { request: { prompt: "Look." }, isPaused: true }),
      paced: like("paced"),
    };
    assert.deepEqual(Object.fromEntries(short), expected);
  });

  it("names each job that has no counterpart with the way to have one, and each part of the others that has none", () => {
    const texts = new Map(
      done.jobs.map(({ sourceId, state, what }) => [sourceId, `${state}: ${what.join(" ")}`]),
    );
    assert.deepEqual([...texts.keys()].toSorted(), Object.keys(JOBS).toSorted());
    const names = (id: string, pattern: RegExp): void => assert.match(texts.get(id) ?? "", pattern, id);
    names("cron", /^taken: Its runs begin on the minute here/);
    names(
      "every",
      /Its answer goes to telegram \(-1001, 7\) there; here it stays in its session \(pagurus sess/,
    );
    names("every", /Without effect here: payload\.timeoutSeconds, delivery\.bestEffort\./);
    names("past", /^left: Not taken: its time, 2020-05-01T08:00:00\.000Z, has passed\./);
    names("current", /^taken: Its answer is posted to a webhook there; here it stays in its session/);
    names("off", /^paused: It is switched off there, so it is paused here\./);
    names("narrow", /^paused: It may use the tools read there, .* pagurus jobs resume lets it run\./);
    names("paced", /Without effect here: pacing, failureAlert\./);
    names("exit", /^left: .*--check-command \.\/build\.sh/);
    names("stream", /^left: .*"node events\.mjs"; let that program post to pagurus serve/);
    names("watcher", /^left: .*--check-command/);
    names("command", /^left: .*"sh -lc df -h" without a model/);
    names("script", /^left: .*without a model/);
    names("heartbeat", /^left: .*pagurus config set agents\.defaults\.heartbeat\.every .* \(scratch\)/);
    assert.match(done.notes.join("\n"), /^The 6 jobs run while pagurus serve runs, and in OpenClaw/m);
  });

  it("is taken once: a second run creates and changes nothing", async () => {
    const jobs = await listed();
    const again = await report();
    assert.deepEqual(new Set(again.conversations.map(({ state }) => state)), new Set(["here"]));
    assert.deepEqual(new Set(again.jobs.map(({ state }) => state)), new Set(["here", "left"]));
    assert.deepEqual(await listed(), jobs);
  });
});
