// Preloaded into a measured process: writes what it used when it ends. Without an import, which takes as long as the thin entry itself.
"use strict";

const fs = require("node:fs");

process.on("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  let peakMb = maxRSS / 1024;
  try {
    // `maxRSS` begins with what the parent had when it started this process; the kernel's own figure does not.
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kilobytes !== undefined) peakMb = Number(kilobytes) / 1024;
  } catch {
    // Not Linux.
  }
  const file = process.env.USAGE_REPORT;
  if (file) fs.writeFileSync(file, JSON.stringify({ cpuS: (userCPUTime + systemCPUTime) / 1e6, peakMb }));
});
