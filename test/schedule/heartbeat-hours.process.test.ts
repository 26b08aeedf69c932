/** Heartbeats of a real server whose clock the test moves: active hours through midnight, restarts, missed ones, and their runs. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MovedClock } from "../servers/clock.ts";
import { startServer } from "../servers/server.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { longTest } from "../runner/long-tests.ts";

/** An engine that writes down of each turn whether it is a heartbeat. */
const ENGINE = `import { appendFileSync } from "node:fs";
export default function register(api) {
  api.registerContextEngine("noting", () => ({
    info: { id: "noting", name: "Noting", contract: "pagurus.engine/1" },
    ingest: async () => ({ ingested: false }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
    compact: async () => ({ ok: true, compacted: false, reason: "never" }),
    afterTurn: async ({ isHeartbeat }) => appendFileSync(api.pluginConfig.file, isHeartbeat + "\\n"),
  }));
}`;
const PROMPT = "Check the oven.";
const JOBS = "/api/v1/jobs";
const HEARTBEAT = `${JOBS}/heartbeat-main`;

function settingWith(url: string): Setting {
  const setting = makeSetting();
  const plugin = join(setting.root, "noting.js");
  writeFileSync(plugin, ENGINE);
  const activeHours = { start: "22:00", end: "01:30", timezone: "Asia/Tokyo" };
  const heartbeat = { every: "1h", activeHours, prompt: PROMPT, session: "kitchen" };
  const plugins = {
    load: { paths: [plugin] },
    slots: { contextEngine: "noting" },
    entries: { noting: { config: { file: join(setting.root, "noted") } } },
  };
  const config = modelConfig("openai-completions", url, {}, { agents: { defaults: { heartbeat } }, plugins });
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  return setting;
}

longTest(
  "heartbeats run in their zone's hours through midnight, once each, and none that was missed",
  async () => {
    let says = "HEARTBEAT_OK";
    const model = await startServer({
      protocol: "openai-completions",
      script: (request) => {
        const text = readBody("openai-completions", request).messages.at(-1)?.text ?? "";
        return { text: text.includes(PROMPT) ? says : "Yes." };
      },
    });
    const setting = settingWith(model.url);
    const clock = new MovedClock(setting);
    clock.set(Date.parse("2027-01-10T11:30Z"));
    const server = await ServeProcess.start(setting);

    const isDueAt = async (time: string): Promise<void> => {
      const { body } = await server.call("GET", HEARTBEAT);
      assert.equal(body["nextAt"], `${time}:00.000Z`);
    };
    /** Moves the clock right after a time, and waits until the job has marked it. */
    const passes = async (time: string, job = HEARTBEAT): Promise<Record<string, unknown>> => {
      const at = Date.parse(`${time}Z`);
      clock.set(at + 1_000);
      for (;;) {
        const { body } = await server.call("GET", job);
        if (body["lastAt"] === new Date(at).toISOString()) return body;
        await pause(20);
      }
    };
    const beats = async (): Promise<{ id: string; state: string; outcome: string }[]> => {
      const { body } = await server.call("GET", "/api/v1/sessions/kitchen/work");
      const work = body["work"] as { id: string; origin: string; state: string; outcome: string }[];
      for (const { id } of work) await server.ended(id);
      return work.filter(({ origin }) => origin === "job:heartbeat-main");
    };

    try {
      await isDueAt("2027-01-10T13:00");
      for (const time of ["10T13:00", "10T14:00", "10T15:00", "10T16:00"])
        assert.equal((await passes(`2027-01-${time}`))["lastOutcome"], "posted");
      await isDueAt("2027-01-11T13:00");
      assert.equal((await beats()).length, 4);
      assert.equal(existsSync(join(setting.root, "noted")), false, "a quiet one is not for the engine");

      // A job of the same hour that runs shows that the schedule was looked at.
      const times = { kind: "at", at: Date.parse("2027-01-10T20:00Z") };
      const made = await server.call("POST", JOBS, { prompt: "Look.", session: "witness", times });
      await passes("2027-01-10T20:00", `${JOBS}/${String(made.body["id"])}`);
      assert.equal((await beats()).length, 4);
      await isDueAt("2027-01-11T13:00");

      await server.kill();
      clock.set(Date.parse("2027-01-11T14:30Z"));
      await server.begin();
      for (;;) {
        const { body } = await server.call("GET", HEARTBEAT);
        if (body["lastOutcome"] === "missed") break;
        await pause(20);
      }
      await isDueAt("2027-01-11T15:00");
      assert.equal((await beats()).length, 4);

      says = "The cake is burning!";
      await passes("2027-01-11T15:00");
      await server.kill();
      await server.begin();
      assert.equal((await beats()).length, 5);
      const posted = await server.call("POST", "/api/v1/sessions/kitchen/turns", {
        prompt: "What happened?",
      });
      await server.ended(String(posted.body["id"]));
      const request = model.requests.findLast(({ text }) => text.includes("What happened?"));
      assert.ok(request);
      assert.deepEqual(
        readBody("openai-completions", request).messages.map(({ text }) => text),
        [PROMPT, "The cake is burning!", "What happened?"],
        "quiet ones are left out of the context",
      );
      // The witness, the heartbeat with something to report, the question.
      assert.equal(readFileSync(join(setting.root, "noted"), "utf8"), "false\ntrue\nfalse\n");
    } finally {
      await server.kill();
      await model.close();
      setting.remove();
    }
  },
);
