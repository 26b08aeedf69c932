/** One `pagurus` process, measured from outside: wall time, processor time, peak memory. */
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Place } from "./place.ts";

export interface OneShot {
  wallMs: number;
  /** Start time, epoch ms. */
  startedAt: number;
  userCpuS: number;
  systemCpuS: number;
  peakMb: number;
  code: number | null;
}

/** Runs the launcher with Node 24; the probe writes the process's own resource usage as it ends. */
export async function oneShot(launcher: string, place: Place, args: readonly string[]): Promise<OneShot> {
  const report = join(place.root, `usage-${process.pid}.json`);
  rmSync(report, { force: true });
  const probe = join(import.meta.dirname, "usage-probe.mjs");
  const startedAt = performance.timeOrigin + performance.now();
  const start = performance.now();
  const child = spawn(process.execPath, ["--import", probe, launcher, ...args], {
    cwd: place.workspace,
    env: { ...place.env, USAGE_REPORT: report },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const wallMs = performance.now() - start;
  const usage = JSON.parse(readFileSync(report, "utf8")) as Pick<
    OneShot,
    "userCpuS" | "systemCpuS" | "peakMb"
  >;
  return { wallMs, startedAt, code, ...usage };
}
