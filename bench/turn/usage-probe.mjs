// Preloaded into a measured process: writes what it used when it ends.
import { readFileSync, writeFileSync } from "node:fs";

// `maxRSS` begins with what the parent had when it started this process; the kernel's own figure for the program does not.
function peakMb() {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) / 1024;
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS / 1024;
}

process.on("exit", () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const report = { userCpuS: userCPUTime / 1e6, systemCpuS: systemCPUTime / 1e6, peakMb: peakMb() };
  writeFileSync(process.env.USAGE_REPORT, JSON.stringify(report));
});
