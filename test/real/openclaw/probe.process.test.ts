/** A plugin and an engine written from OpenClaw's types (`types/probe`), loaded as a user's and run by the host. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { startServer } from "../../servers/server.ts";
import { eventsOf } from "../../turn/in-process.ts";
import { modelConfig } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { probeCalls, type ProbeCall } from "./types/probe/calls.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-probe-"));
after(() => rmSync(root, { recursive: true, force: true }));

const LEAST_CALLS = 30;

/** The plugin in a folder of its own, beside which nothing of OpenClaw is installed. */
function probeFolder(): string {
  const folder = join(root, "plugins/probe");
  cpSync(join(import.meta.dirname, "types/probe"), folder, { recursive: true });
  symlinkSync(join(import.meta.dirname, "types/openclaw.ts"), join(root, "plugins/openclaw.ts"));
  return folder;
}

it("calls of engines and plugins in OpenClaw's form work, and each field of their answers is read", async () => {
  const usage = { input: 10, output: 5, cacheRead: 700, cacheWrite: 300 };
  const server = await startServer({
    protocol: "anthropic-messages",
    script: (request) => {
      if (request.text.includes("Sum it up.")) return { text: "A digest.", usage };
      const isFirst = !request.text.includes("tool_result") && request.text.includes("Look around");
      return isFirst
        ? { toolCalls: [{ id: "call-1", name: "glob", arguments: { pattern: "*" } }], usage }
        : { text: "Done.", usage };
    },
  });
  const plugins = { slots: { contextEngine: "probe" }, load: { paths: [probeFolder()] } };
  const pagurus = await createPagurus({
    home: join(root, "home"),
    env: { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" },
    config: modelConfig("anthropic-messages", server.url, {}, { plugins }),
  });
  const degraded: unknown[] = [];
  try {
    for (const prompt of ["Look around", "And now?"]) {
      const events = await eventsOf(pagurus.run({ prompt, cwd: root, sessionKey: "main" }));
      const last = events.at(-1);
      assert.equal(last?.type, "turn.completed", JSON.stringify(last));
      degraded.push(...events.filter(({ type }) => type === "context.degraded"));
    }
    const done = await pagurus.compact({ cwd: root, sessionKey: "main", focus: "keep names" });
    assert.equal(done.compacted, true);
  } finally {
    await pagurus.close();
    await server.close();
  }
  assert.deepEqual(degraded, []);
  const calls = probeCalls();
  const wrong = calls.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
  assert.deepEqual(wrong, []);
  const names = new Set(calls.map(({ name }: ProbeCall) => name));
  console.log(`${names.size} kinds of calls: ${[...names].join(", ")}`);
  assert.ok(names.size >= LEAST_CALLS, [...names].join());
  const turns = server.requests.filter(({ text }) => !text.includes("Sum it up."));
  const bodies = turns.map((request) => readBody("anthropic-messages", request));
  assert.ok(bodies.every(({ system }) => system.includes("The probe's addition.")));
  assert.ok(bodies.every(({ system }) => system.includes("The probe's hook.")));
  assert.deepEqual(
    bodies.map(({ tools }) => tools.toSorted().join()),
    bodies.map(() => "glob,read"),
  );
  assert.match(
    bodies
      .at(-1)
      ?.messages.map(({ text }) => text)
      .join() ?? "",
    /\[redacted\]/,
  );
});
