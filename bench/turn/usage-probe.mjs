// Preloaded into a measured process: writes what it used when it ends.
import { writeFileSync } from "node:fs";

process.on("exit", () => {
  const { userCPUTime, maxRSS } = process.resourceUsage();
  writeFileSync(
    process.env.USAGE_REPORT,
    JSON.stringify({ userCpuS: userCPUTime / 1e6, peakMb: maxRSS / 1024 }),
  );
});
