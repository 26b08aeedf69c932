/** The adapter for OpenClaw as an installation writes it, with the service that answers it. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createPagurus } from "../../packages/app/src/app.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { insideSocket } from "../../packages/inside/src/install/inside-place.ts";
import { install } from "../../packages/inside/src/install/install-record.ts";
import { OPENCLAW } from "../../packages/inside/src/install/openclaw-install.ts";
import type { ClawApi, ClawEngine, ClawMessage } from "../../packages/inside/src/openclaw/openclaw-types.ts";
import { insideOptions } from "../../packages/inside/src/service/inside-options.ts";
import { InsideService } from "../../packages/inside/src/service/inside-service.ts";

const root = mkdtempSync(join(tmpdir(), "pg-oca-"));
const LEDGER = Array.from({ length: 900 }, (_, row) => `row ${row} of the ledger`).join("\n");
const text = (words: string): { type: string; text: string }[] => [{ type: "text", text: words }];

function turn(callId: string): ClawMessage[] {
  const call = { type: "toolCall", id: callId, name: "exec", arguments: { command: "cat" } };
  return [
    { role: "user", content: "Show the ledger.", timestamp: 1 },
    { role: "assistant", content: [call] },
    { role: "toolResult", toolCallId: callId, toolName: "exec", content: text(LEDGER) },
    { role: "assistant", content: text("There.") },
  ];
}

it("commits a turn once, shows its large result in part, and opens the exact text, whatever form the call's id has", async () => {
  const home = join(root, "home");
  mkdirSync(join(home, "resident"), { recursive: true });
  const folder = join(root, "claw");
  const facts = { home, env: { OPENCLAW_STATE_DIR: folder }, wake: [], version: "1" };
  install(home, "openclaw", "1", OPENCLAW.changes(facts, folder));
  // Other programs use this machine too.
  const patient = { socket: insideSocket(home), wake: [], deadlineMs: 120_000, compactionMs: 120_000 };
  writeFileSync(join(folder, "extensions/pagurus/place.json"), JSON.stringify(patient));
  const pagurus = await createPagurus(insideOptions(home, { PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1" }));
  const service = await InsideService.start({
    home,
    socket: insideSocket(home),
    logger: silentLogger,
    open: async () => pagurus,
    begin: () => () => undefined,
  });
  after(async () => {
    await service.close();
    rmSync(root, { recursive: true, force: true });
  });
  let engine: ClawEngine | undefined;
  let tools: ReturnType<Parameters<ClawApi["registerTool"]>[0]> = [];
  const place = { workspaceDir: root, sessionId: "one" };
  const plugin = (await import(pathToFileURL(join(folder, "extensions/pagurus/openclaw/index.js")).href)) as {
    default: { register(api: ClawApi): void };
  };
  plugin.default.register({
    registerContextEngine: (_id, make) => void (engine = make(place)),
    registerTool: (make) => void (tools = make(place)),
  });
  assert.ok(engine);
  const commit = { sessionId: "one", advancementKey: "key-1", messages: turn("call_1") };
  assert.deepEqual(await engine.commitTurn(commit), { status: "committed" });
  assert.deepEqual(await engine.commitTurn(commit), { status: "duplicate" });
  const { messages } = await engine.assemble({
    sessionId: "one",
    messages: turn("call1"),
    tokenBudget: 90_000,
  });
  assert.equal(messages.length, 4);
  const shown = JSON.stringify(messages[2]?.content);
  assert.ok(!shown.includes("row 450 of"), "the middle is not sent");
  const [, id] = /pagurus_open with the id (\w+)/.exec(shown) ?? [];
  const opened = await tools.find(({ name }) => name === "pagurus_open")?.execute("call_2", { id });
  assert.equal(opened?.content[0]?.text, LEDGER);
  // Nothing to compact yet is an answer, and no failure of the engine.
  assert.equal((await engine.compact({ sessionId: "two" })).compacted, false);
});
