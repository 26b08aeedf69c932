/**
 * `bench inside`: processor time of what an adapter in another program asks at the host's socket: a prompt (recall), a large result, the storing of a
 * turn, a compaction, in a conversation with an earlier compaction. The program's own part of a hook is not in these figures.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../packages/app/src/app.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import type { ProgramMessage } from "../../packages/inside/src/client/host-client.ts";
import { insideOptions } from "../../packages/inside/src/service/inside-options.ts";
import { InsideService } from "../../packages/inside/src/service/inside-service.ts";
import { withTarget, type BenchOptions, type BenchRow } from "../report.ts";

const FULL = { turns: 200, samples: 60 };
const QUICK = { turns: 40, samples: 5 };
/** Milliseconds. */
const MOST = { prompt: 30, result: 5 };

function message(role: "user" | "assistant", text: string): ProgramMessage {
  return { role, text, calls: [], results: [] };
}

function turn(n: number): ProgramMessage[] {
  const words = Array.from({ length: 120 }, (_, word) => `w${(n * 31 + word * 7) % 997}`).join(" ");
  return [
    message("user", `Question ${n} about pier ${n % 17}: ${words}`),
    message("assistant", `Answer ${n}. ${words}`),
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

function cpuMs(begin: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1_000;
}

class Adapter {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  ask(operation: string, body: object): Promise<Record<string, unknown>> {
    const text = JSON.stringify({ program: "bench", session: "one", cwd: "/", ...body });
    return new Promise((resolve, reject) => {
      const sent = request(
        { socketPath: this.#socketPath, path: `/v1/${operation}`, method: "POST" },
        (answer) => {
          let got = "";
          answer.on("data", (chunk: Buffer) => void (got += chunk.toString()));
          answer.on("end", () => {
            if (answer.statusCode === 200) resolve(JSON.parse(got) as Record<string, unknown>);
            else reject(new Error(`${operation}: ${got}`));
          });
        },
      );
      sent.on("error", reject).end(text);
    });
  }

  /** Median processor time of a request, client included, ms: a busy machine makes it no longer. */
  async timed(samples: number, operation: string, body: (n: number) => object): Promise<number> {
    const times: number[] = [];
    for (let n = 0; n < samples; n += 1) {
      const asked = body(n);
      const begin = process.cpuUsage();
      await this.ask(operation, asked);
      times.push(cpuMs(begin));
    }
    return median(times);
  }
}

/** Rows about the adapters' requests. */
export async function run({ quick }: BenchOptions): Promise<BenchRow[]> {
  const { turns, samples } = quick ? QUICK : FULL;
  const root = mkdtempSync(join(tmpdir(), "pg-bi-"));
  const home = join(root, "home");
  mkdirSync(home);
  const env = { PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1" };
  const pagurus = await createPagurus(insideOptions(home, env));
  const socket = join(root, "inside.sock");
  const open = async () => pagurus;
  const begin = () => () => undefined;
  const service = await InsideService.start({ home, socket, logger: silentLogger, open, begin });
  try {
    const adapter = new Adapter(socket);
    const messages = Array.from({ length: turns }, (_, n) => turn(n)).flat();
    const before = process.cpuUsage();
    const { head, keep } = await adapter.ask("compact", { messages, reason: "manual" });
    const compaction = cpuMs(before);
    const held = [message("user", String(head)), ...(keep as number[]).flatMap((n) => messages[n] ?? [])];
    await adapter.ask("append", { messages: held, isWhole: true });
    const text = "depth 12 m\n".repeat(2_000);
    const stored = await adapter.timed(samples, "append", (n) => ({
      messages: turn(turns + n),
      isWhole: false,
    }));
    const result = await adapter.timed(samples, "result", (n) => ({ callId: `call ${n}`, text }));
    const prompt = await adapter.timed(samples, "recall", (n) => ({
      prompt: `What was question ${n} about pier ${n % 17}?`,
    }));
    const row = (measure: string, value: number): BenchRow => ({ measure, value, unit: "ms CPU" });
    return [
      withTarget(row(`recall for a prompt, ${turns} turns, median of ${samples}`, prompt), "<=", MOST.prompt),
      withTarget(row("keeping a result of 22,000 characters", result), "<=", MOST.result),
      row("storing a turn", stored),
      row(`first compaction of ${turns} turns, which are stored in it`, compaction),
    ];
  } finally {
    await service.close();
    rmSync(root, { recursive: true, force: true });
  }
}
