/** `bench serve`: what the server adds to a turn, how fast it accepts work, what idle streams cost, how soon it answers. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../src/create.ts";
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

export const parts: readonly string[] = [];

export async function run({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const turns = quick ? 30 : 200;
  const sessions = quick ? 10 : 100;
  const streams = quick ? 50 : 500;
  const posts = quick ? 500 : 5_000;
  const rows: BenchRow[] = [];
  const model = await startServer({
    protocol: "openai-completions",
    script: async (request) => {
      if (request.text.includes("hold")) await new Promise(() => undefined);
      return { text: "ok" };
    },
  });
  const setting = makeSetting(modelConfig("openai-completions", model.url, { contextWindow: 900_000 }));
  let server: ServeProcess | undefined;
  try {
    log("turns of a host in the same process");
    const library = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
    const host = await createPagurus({
      home: library,
      config: modelConfig("openai-completions", model.url, { contextWindow: 900_000 }),
    });
    const bare = await turnsOf(turns, async (index) => {
      for await (const _event of host.run({
        prompt: "hello",
        sessionKey: `s${index % sessions}`,
        cwd: setting.workspace,
      }));
    });
    await host.close();
    rmSync(library, { recursive: true, force: true });

    const from = performance.now();
    server = await ServeProcess.start(setting);
    const serve = server;
    rows.push(
      withTarget(
        { measure: "serve: first answer after the start", value: performance.now() - from, unit: "ms" },
        "<=",
        700,
      ),
    );
    log("turns through the server");
    const served = await turnsOf(turns, async (index) => {
      const { body } = await serve.call("POST", `/api/v1/sessions/s${index % sessions}/turns`, {
        prompt: "hello",
      });
      await serve.events(`/api/v1/work/${String(body["id"])}/events`, ({ type }) => type === "work.ended");
    });
    const [p50, bareP50] = [quantile(served.slice(10), 0.5), quantile(bare.slice(10), 0.5)];
    rows.push({ measure: "turn in a host of this process, p50", value: bareP50, unit: "ms" });
    rows.push(withPeer({ measure: "turn through the server, p50", value: p50, unit: "ms" }, PEER, PEER_MS));
    rows.push({
      measure: "turn through the server, p95",
      value: quantile(served.slice(10), 0.95),
      unit: "ms",
    });
    rows.push(
      withTarget({ measure: "added by the server, p50", value: p50 - bareP50, unit: "ms" }, "<=", 10),
    );

    log(`${streams} idle event streams`);
    const pid = serve.child.pid ?? 0;
    const idle = residentMb(pid);
    const stop = new AbortController();
    const open = Array.from({ length: streams }, async () => {
      for await (const _event of serve.follow("/api/v1/events", {}, stop.signal));
    });
    for (;;) {
      const { body } = await serve.call("GET", "/api/v1/status");
      if (Number(body["streams"]) >= streams) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    rows.push(
      withTarget(
        {
          measure: `${streams} idle event streams over an idle server`,
          value: residentMb(pid) - idle,
          unit: "MB",
        },
        "<=",
        100,
      ),
    );
    stop.abort();
    await Promise.allSettled(open);

    log(`${posts} posts of 50 clients`);
    const start = performance.now();
    let posted = 0;
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        while (posted < posts) {
          posted += 1;
          // Behind a turn that does not end, so that acceptance alone is measured.
          await serve.call("POST", "/api/v1/sessions/held/turns", { prompt: "hold" });
        }
      }),
    );
    rows.push(
      withTarget(
        { measure: "work accepted", value: posts / ((performance.now() - start) / 1_000), unit: "1/s" },
        ">=",
        1_000,
      ),
    );
  } finally {
    await server?.kill();
    await model.close();
    setting.remove();
  }
  return rows;
}
