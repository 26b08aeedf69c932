/** A plugin and an engine written from OpenClaw's types (`types/probe`), loaded as a user's and run by the host. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { startServer, type ModelServer, type ReplyScript } from "../../servers/server.ts";
import { eventsOf } from "../../turn/in-process.ts";
import { modelConfig } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { probeCalls, type ProbeCall } from "./types/probe/calls.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-probe-"));
after(() => rmSync(root, { recursive: true, force: true }));

const LEAST_CALLS = 36;

/** The plugin in a folder of its own, beside which nothing of OpenClaw is installed. */
const PROBE = probeFolder();

function probeFolder(): string {
  const folder = join(root, "plugins/probe");
  cpSync(join(import.meta.dirname, "types/probe"), folder, { recursive: true });
  symlinkSync(join(import.meta.dirname, "types/openclaw.ts"), join(root, "plugins/openclaw.ts"));
  return folder;
}

interface Asked {
  script: ReplyScript;
  engine: string;
  prompts: readonly string[];
  /** Compacts the session at the end. */
  compacts?: boolean;
}

/** Runs turns with an engine of the probe. */
async function probed(
  home: string,
  { script, engine, prompts, compacts = false }: Asked,
): Promise<ModelServer> {
  const server = await startServer({ protocol: "anthropic-messages", script });
  const plugins = { slots: { contextEngine: engine }, load: { paths: [PROBE] } };
  const pagurus = await createPagurus({
    home: join(root, home),
    env: { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" },
    config: modelConfig("anthropic-messages", server.url, {}, { plugins }),
  });
  const degraded: unknown[] = [];
  try {
    for (const prompt of prompts) {
      const events = await eventsOf(pagurus.run({ prompt, cwd: root, sessionKey: "main" }));
      const last = events.at(-1);
      assert.equal(last?.type, "turn.completed", JSON.stringify(last));
      degraded.push(...events.filter(({ type }) => type === "context.degraded"));
    }
    if (compacts) {
      const done = await pagurus.compact({ cwd: root, sessionKey: "main", focus: "keep names" });
      assert.equal(done.compacted, true);
    }
  } finally {
    await pagurus.close();
    await server.close();
  }
  assert.deepEqual(degraded, []);
  return server;
}

/** Kinds of calls so far, all of which had each of their fields. */
function assertCalls(): Set<string> {
  const calls = probeCalls();
  const wrong = calls.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
  assert.deepEqual(wrong, []);
  return new Set(calls.map(({ name }: ProbeCall) => name));
}

it("calls of engines and plugins in OpenClaw's form work, and each field of their answers is read", async () => {
  const usage = { input: 10, output: 5, cacheRead: 700, cacheWrite: 300 };
  const server = await probed("home", {
    engine: "probe",
    prompts: ["Look around", "And now?"],
    compacts: true,
    script: (request) => {
      if (request.text.includes("Sum it up.")) return { text: "A digest.", usage };
      const isFirst = !request.text.includes("tool_result") && request.text.includes("Look around");
      return isFirst
        ? { toolCalls: [{ id: "call-1", name: "glob", arguments: { pattern: "*" } }], usage }
        : { text: "Done.", usage };
    },
  });
  const names = assertCalls();
  console.log(`${names.size} kinds of calls: ${[...names].join(", ")}`);
  assert.ok(names.size >= LEAST_CALLS, [...names].join());
  const turns = server.requests.filter(({ text }) => !text.includes("Sum it up."));
  const bodies = turns.map((request) => readBody("anthropic-messages", request));
  assert.ok(bodies.every(({ system }) => system.includes("The probe's addition.")));
  assert.ok(bodies.every(({ system }) => system.includes("The probe's hook.")));
  assert.deepEqual(
    bodies.map(({ tools }) => tools.toSorted().join()),
    bodies.map(() => "glob,read,spawn_agent"),
  );
  assert.match(
    bodies
      .at(-1)
      ?.messages.map(({ text }) => text)
      .join() ?? "",
    /\[redacted\]/,
  );
});

it("turns are committed and subagents announced in OpenClaw's form", async () => {
  await probed("durable-home", {
    engine: "probe-durable",
    prompts: ["Count the lamps."],
    script: (_request, index) => {
      if (index === 0)
        return { toolCalls: [{ id: "call-1", name: "spawn_agent", arguments: { task: "Count." } }] };
      return { text: "Done." };
    },
  });
  const names = assertCalls();
  console.log(`${names.size} kinds of calls with those of the durable engine`);
  for (const name of ["commitTurn", "prepareSubagentSpawn", "onSubagentEnded", "subagent_ended"])
    assert.ok(names.has(name), name);
});
