/**
 * A home of OpenClaw 2026.9.6 as it writes one: two agents of `agents.entries` with workspaces and databases of their own, conversations with
 * each kind of entry, and a job of each kind of schedule, work and delivery in its state database.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Row } from "../sessions/support.ts";
import { ClawLines, type ClawHome } from "./openclaw-home.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const IMAGE = { type: "image", data: PIXEL, mimeType: "image/png" };

/** The columns of its state database that jobs are in. */
const CRON_SCHEMA = `
CREATE TABLE cron_jobs (store_key TEXT NOT NULL, job_id TEXT NOT NULL, declaration_key TEXT, owner_agent_id TEXT, name TEXT NOT NULL,
  description TEXT, enabled INTEGER NOT NULL, agent_id TEXT, payload_kind TEXT NOT NULL, job_json TEXT NOT NULL,
  grant_definition_revision TEXT, grant_definition_generation INTEGER, grant_definition_updated_at INTEGER,
  state_json TEXT NOT NULL DEFAULT '{}', runtime_updated_at_ms INTEGER, schedule_identity TEXT, sort_order INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL, PRIMARY KEY (store_key, job_id)) STRICT;
CREATE TABLE cron_job_scratch (store_key TEXT NOT NULL, job_id TEXT NOT NULL, content TEXT, revision INTEGER NOT NULL, source_sha256 TEXT,
  updated_at_ms INTEGER NOT NULL, PRIMARY KEY (store_key, job_id)) STRICT;`;

export const LATER = "2031-05-01T08:00:00";

/** By id. Each differs from the first in what its id says. */
export const JOBS: Readonly<Record<string, Row>> = {
  cron: {
    name: "Morning",
    schedule: { kind: "cron", expr: "0 7 * * 1-5", tz: "Europe/Vienna", staggerMs: 30_000 },
    sessionTarget: "main",
    payload: { kind: "systemEvent", text: "What is due today?" },
  },
  hostzone: { schedule: { kind: "cron", expr: "30 6 * * *" } },
  every: {
    schedule: { kind: "every", everyMs: 1_800_000, anchorMs: 1_700_000_000_000 },
    agentId: "work",
    sessionTarget: "isolated",
    payload: {
      kind: "agentTurn",
      message: "Sort the mail.",
      model: "local/m",
      thinking: "xhigh",
      toolsAllow: ["*"],
      timeoutSeconds: 90,
    },
    delivery: { mode: "announce", channel: "telegram", to: "-1001", threadId: 7, bestEffort: true },
  },
  at: { schedule: { kind: "at", at: LATER }, sessionTarget: "session:plans", deleteAfterRun: true },
  past: { schedule: { kind: "at", at: "2020-05-01T08:00:00Z" } },
  current: {
    agentId: "work",
    sessionKey: "agent:work:telegram:direct:42",
    sessionTarget: "current",
    delivery: { mode: "webhook", to: "https://example.com/hook" },
  },
  off: { enabled: false },
  narrow: { payload: { kind: "agentTurn", message: "Look.", toolsAllow: ["read"] } },
  paced: { pacing: { min: "15m", max: "4h" }, failureAlert: { after: 2 } },
  exit: { schedule: { kind: "on-exit", command: "./build.sh", cwd: "/srv" } },
  stream: { schedule: { kind: "stream", command: ["node", "events.mjs"], mode: "line" } },
  watcher: { trigger: { script: "json({ fire: true })" } },
  command: { payload: { kind: "command", argv: ["sh", "-lc", "df -h"] } },
  script: { payload: { kind: "script", script: "json({})" } },
  heartbeat: { name: "Heartbeat", payload: { kind: "heartbeat" }, agentId: "home" },
};

export const CONFIG = (url: string, folder: string) => ({
  meta: { lastTouchedVersion: "2026.9.6" },
  agents: {
    ownership: "explicit",
    defaults: { model: { primary: "local/m" }, heartbeat: { every: "1h", target: "telegram" } },
    entries: {
      home: { workspace: join(folder, "workspace-of-home"), identity: { name: "Crab" } },
      work: { tools: { deny: ["exec"] }, thinkingDefault: "high" },
    },
  },
  bindings: [{ agentId: "work", match: { channel: "telegram" } }],
  channels: { telegram: { botToken: "123:SECRET", allowFrom: ["42"] }, whatsapp: { enabled: true } },
  cron: { enabled: true, skipMissedJobs: true, webhookToken: "SECRET-OF-HOOKS" },
  models: {
    providers: {
      local: { api: "openai-completions", baseUrl: url, apiKey: "sk-SECRET", models: [{ id: "m" }] },
    },
  },
  plugins: { slots: { contextEngine: "lossless-claw" }, entries: { "lossless-claw": { enabled: true } } },
  skills: { entries: { weather: { enabled: true } } },
  tools: { profile: "coding" },
});

/** A conversation with each kind of entry, and its messages in order. */
export function talk(id: string, about: string): { rows: Row[]; said: Row[] } {
  const lines = new ClawLines(id);
  const header = lines.rows[0];
  if (header) header["version"] = 4;
  const said: Row[] = [];
  const say = (message: Row, how: Row = {}): void => {
    said.push(message);
    lines.add({ type: "message", message, ...how });
  };
  const result = (call: string, name: string, content: Row[], isError = false): void =>
    say({ role: "toolResult", toolCallId: call, toolName: name, content, isError, timestamp: 1 });
  const answer = (content: Row[], stopReason: string, how: Row = {}): void =>
    say(
      {
        role: "assistant",
        content,
        api: "openai-completions",
        provider: "local",
        model: "m",
        usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { total: 0 } },
        stopReason,
        timestamp: 1,
      },
      how,
    );
  lines.add({ type: "model_change", provider: "local", modelId: "m" });
  lines.add({ type: "thinking_level_change", thinkingLevel: "high" });
  say({ role: "user", content: `Tell me of ${about}.`, timestamp: 1 });
  answer(
    [
      { type: "thinking", thinking: `Two files on ${about}.`, thinkingSignature: `sig-${id}` },
      { type: "text", text: "I look into both." },
      { type: "toolCall", id: `${id}-1`, name: "read", arguments: { path: `${about}.md`, lines: [1, 9] } },
      { type: "toolCall", id: `${id}-2`, name: "exec", arguments: { command: `grep -c ${about} *` } },
    ],
    "toolUse",
  );
  result(`${id}-1`, "read", [{ type: "text", text: `All of ${about}.` }, IMAGE]);
  result(`${id}-2`, "exec", [{ type: "text", text: "exit 1" }], true);
  answer([{ type: "text", text: `That was ${about}.` }], "stop");
  lines.add({
    type: "custom_message",
    customType: "reminder",
    content: `Mind the ${about}.`,
    display: true,
  });
  lines.add({ type: "custom", customType: "openclaw:state", data: { about } });
  say(
    {
      role: "user",
      content: [{ type: "text", text: `And this picture of ${about}?` }, IMAGE],
      timestamp: 1,
    },
    { id: "kept" },
  );
  answer([{ type: "text", text: "A dot." }], "stop");
  lines.add({
    type: "compaction",
    summary: `They spoke of ${about}.`,
    firstKeptEntryId: "kept",
    tokensBefore: 900,
    tokensAfter: 90,
  });
  say({ role: "user", content: "Try one way.", timestamp: 1 }, { id: "fork" });
  answer([{ type: "text", text: `The wrong way to ${about}.` }], "stop", { id: "wrong" });
  lines.add({ type: "leaf", targetId: "fork", appendParentId: "fork" });
  lines.add({ type: "branch_summary", fromId: "wrong", summary: "One way led nowhere.", parentId: "fork" });
  answer([{ type: "text", text: `The right way to ${about}.` }], "stop");
  lines.add({ type: "label", targetId: "kept", label: "picture" });
  lines.add({ type: "session_info", name: `Of ${about}` });
  return { rows: lines.rows, said };
}

export interface NewestHome {
  /** Messages of each conversation, by `<agent> <key here>`. */
  said: Map<string, Row[]>;
}

/** Writes it. `url`: of its only model. */
export function writeNewestHome(home: ClawHome, url: string): NewestHome {
  home.write("openclaw.json", JSON.stringify(CONFIG(url, home.folder), null, 2));
  for (const folder of ["workspace-of-home", "workspace-work"]) {
    mkdirSync(join(home.folder, folder, "memory"), { recursive: true });
    writeFileSync(join(home.folder, folder, "AGENTS.md"), `You live in ${folder}.`);
    writeFileSync(join(home.folder, folder, "SOUL.md"), "Words.");
  }
  home.write("workspace-work/skills/tide/SKILL.md", "---\nname: tide\ndescription: tides\n---\nWater.\n");
  const said = new Map<string, Row[]>();
  for (const agent of ["home", "work"]) {
    const db = home.database(agent);
    const place = (id: string, key: string, how: { current?: boolean; packed?: number[] } = {}): void => {
      const { rows, said: messages } = talk(id, `${agent}${id}`);
      db.session(id, key, rows, how);
      said.set(`${agent} ${how.current === false ? `${key}:${id}` : key}`, messages);
    };
    place(`${agent}-main`, `agent:${agent}:main`, { packed: [3, 4, 5] });
    place(`${agent}-old`, `agent:${agent}:main`, { current: false });
    place(`${agent}-group`, `agent:${agent}:telegram:group:-1001`);
    place(`${agent}-cron`, `agent:${agent}:cron:every`);
    const cold = talk(`${agent}-cold`, `${agent}cold`);
    db.archived(`${agent}-cold`, `agent:${agent}:cold`, cold.rows);
    said.set(`${agent} agent:${agent}:cold`, cold.said);
    db.close();
    home.write(`agents/${agent}/agent/auth-profiles.json`, JSON.stringify({ profiles: {} }));
  }
  writeJobs(home);
  return { said };
}

function writeJobs(home: ClawHome): void {
  mkdirSync(join(home.folder, "state"), { recursive: true });
  const db = new DatabaseSync(join(home.folder, "state", "openclaw.sqlite"));
  db.exec(CRON_SCHEMA);
  const key = join(home.folder, "cron", "jobs.json");
  for (const [order, [id, job]] of Object.entries(JOBS).entries()) {
    const whole: Row = {
      id,
      name: id,
      enabled: true,
      createdAtMs: 1,
      updatedAtMs: 1,
      agentId: "home",
      schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: `Do ${id}.` },
      state: {},
      ...job,
    };
    const { kind } = whole["payload"] as { kind: string };
    db.prepare(
      "INSERT INTO cron_jobs (store_key, job_id, name, enabled, agent_id, payload_kind, job_json, sort_order, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
    ).run(
      key,
      id,
      String(whole["name"]),
      whole["enabled"] === true ? 1 : 0,
      String(whole["agentId"]),
      kind,
      JSON.stringify(whole),
      order,
    );
  }
  db.prepare("INSERT INTO cron_job_scratch VALUES (?, 'heartbeat', 'Water the plants.', 1, NULL, 1)").run(
    key,
  );
  db.close();
}
