/** `bench serve`: what the server adds to a turn, how fast it accepts work, what idle streams cost, how soon it answers. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtPackage } from "./built-package.ts";
import { createPagurus } from "../../packages/app/src/create.ts";
import { startServer } from "../../test/servers/server.ts";
import { makeSetting, modelConfig } from "../../test/turn/setting.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";

/** A warm turn of its gateway, measured before on a machine of the same kind. */
const PEER = "OpenClaw 2026.9.6";
const PEER_MS = 815;

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

async function turnsOf(count: number, one: (index: number) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const from = performance.now();
    await one(index);
    times.push(performance.now() - from);
  }
  return times;
}

const STARTS = 5;
/** Streams that are open while turns run. */
const FOLLOWERS = 200;

export const parts: readonly string[] = [];

interface Scale {
  turns: number;
  sessions: number;
  streams: number;
  posts: number;
}

/** Turns of a host in this process, ms. */
async function bareTurns({ turns, sessions }: Scale, url: string, cwd: string): Promise<number[]> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
  const config = modelConfig("openai-completions", url, { contextWindow: 900_000 });
  const host = await createPagurus({ home, config });
  const times = await turnsOf(turns, async (index) => {
    for await (const _event of host.run({ prompt: "hello", sessionKey: `s${index % sessions}`, cwd }));
  });
  await host.close();
  rmSync(home, { recursive: true, force: true });
  return times;
}

/** Turns through the server one after another, ms. */
async function servedTurns(server: ServeProcess, { turns, sessions }: Scale): Promise<number[]> {
  return turnsOf(turns, async (index) => {
    const path = `/api/v1/sessions/s${index % sessions}/turns`;
    const { body } = await server.call("POST", path, { prompt: "hello" });
    await server.events(`/api/v1/work/${String(body["id"])}/events`, ({ type }) => type === "work.ended");
  });
}

/** The same while clients follow the sessions. */
async function followedTurns(server: ServeProcess, scale: Scale): Promise<number[]> {
  const stop = new AbortController();
  const open = Array.from({ length: FOLLOWERS }, async (_, index) => {
    const path = `/api/v1/sessions/s${index % scale.sessions}/events`;
    for await (const _event of server.follow(path, {}, stop.signal));
  });
  await untilOpen(server, FOLLOWERS);
  const times = await servedTurns(server, scale);
  stop.abort();
  await Promise.allSettled(open);
  return times;
}

async function untilOpen(server: ServeProcess, streams: number): Promise<void> {
  for (;;) {
    const { body } = await server.call("GET", "/api/v1/status");
    if (Number(body["streams"]) >= streams) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function turnRows(server: ServeProcess, scale: Scale, bare: number[]): Promise<BenchRow[]> {
  const served = await servedTurns(server, scale);
  const followed = await followedTurns(server, scale);
  const [p50, bareP50] = [quantile(served.slice(10), 0.5), quantile(bare.slice(10), 0.5)];
  const added = { measure: "added by the server, p50", value: p50 - bareP50, unit: "ms" };
  const followedP50 = quantile(followed.slice(10), 0.5) - bareP50;
  const measure = `added with ${FOLLOWERS} streams of the sessions open, p50`;
  return [
    { measure: "turn in a host of this process, p50", value: bareP50, unit: "ms" },
    withPeer({ measure: "turn through the server, p50", value: p50, unit: "ms" }, PEER, PEER_MS),
    { measure: "turn through the server, p95", value: quantile(served.slice(10), 0.95), unit: "ms" },
    withTarget(added, "<=", 10),
    withTarget({ measure, value: followedP50, unit: "ms" }, "<=", 10),
  ];
}

async function streamRow(server: ServeProcess, { streams }: Scale): Promise<BenchRow> {
  const pid = server.child.pid ?? 0;
  const idle = residentMb(pid);
  const stop = new AbortController();
  const open = Array.from({ length: streams }, async () => {
    for await (const _event of server.follow("/api/v1/events", {}, stop.signal));
  });
  await untilOpen(server, streams);
  const value = residentMb(pid) - idle;
  stop.abort();
  await Promise.allSettled(open);
  return withTarget(
    { measure: `${streams} idle event streams over an idle server`, value, unit: "MB" },
    "<=",
    100,
  );
}

async function acceptRow(server: ServeProcess, { posts }: Scale): Promise<BenchRow> {
  const from = performance.now();
  let posted = 0;
  const client = async (): Promise<void> => {
    while (posted < posts) {
      posted += 1;
      // After a turn that does not end, so that acceptance alone is measured.
      await server.call("POST", "/api/v1/sessions/held/turns", { prompt: "hold" });
    }
  };
  await Promise.all(Array.from({ length: 50 }, client));
  const value = posts / ((performance.now() - from) / 1_000);
  return withTarget({ measure: "work accepted", value, unit: "1/s" }, ">=", 1_000);
}

export async function run({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const scale = quick
    ? { turns: 30, sessions: 10, streams: 50, posts: 500 }
    : { turns: 200, sessions: 100, streams: 500, posts: 5_000 };
  const model = await startServer({
    protocol: "openai-completions",
    script: async (request) => {
      if (request.text.includes("hold")) await new Promise(() => undefined);
      return { text: "ok" };
    },
  });
  const setting = makeSetting(modelConfig("openai-completions", model.url, { contextWindow: 900_000 }));
  let server: ServeProcess | undefined;
  log("build");
  const built = await builtPackage();
  try {
    log("turns of a host in this process");
    const bare = await bareTurns(scale, model.url, setting.workspace);
    log("starts");
    const starts: number[] = [];
    for (let start = 0; start < STARTS; start++) {
      await server?.kill();
      const from = performance.now();
      server = await ServeProcess.start(setting, [], built.launcher);
      assert.equal((await fetch(`${server.url}/health`)).status, 200);
      starts.push(performance.now() - from);
    }
    if (!server) throw new Error("the server did not start");
    const started = {
      measure: "first answer after the start, p50",
      value: quantile(starts, 0.5),
      unit: "ms",
    };
    log("turns through the server");
    const turns = await turnRows(server, scale, bare);
    log(`${scale.streams} idle event streams`);
    const streams = await streamRow(server, scale);
    log(`${scale.posts} posts of 50 clients`);
    return [withTarget(started, "<=", 700), ...turns, streams, await acceptRow(server, scale)];
  } finally {
    await server?.kill();
    await model.close();
    setting.remove();
    built.remove();
  }
}
