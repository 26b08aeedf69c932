"use strict";

const fs = require("node:fs");

/**
 * Blanks the values in the environment block of this process, which `/proc/<pid>/environ` shows to every program of the user: a child
 * without a sandbox would read the keys of the host there. The variables themselves move to memory of their own before. The one
 * that remains marks this process as the child of another host.
 */
exports.blankEnvironmentBlock = function blankEnvironmentBlock() {
  if (process.platform !== "linux") return;
  try {
    const stat = fs.readFileSync("/proc/self/stat", "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // env_start and env_end: fields 50 and 51 of proc(5), the first one here being the third.
    const start = Number(fields[47]);
    const block = fs.readFileSync("/proc/self/environ");
    if (!Number.isSafeInteger(start) || start === 0 || Number(fields[48]) - start !== block.length) return;
    for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
    let at = 0;
    for (const entry of block.toString("latin1").split("\0")) {
      const value = entry.indexOf("=") + 1;
      if (!entry.startsWith("PAGURUS_CHILD="))
        block.fill("x", at + (value || entry.length), at + entry.length);
      at += entry.length + 1;
    }
    const memory = fs.openSync("/proc/self/mem", "r+");
    try {
      fs.writeSync(memory, block, 0, block.length, start);
    } finally {
      fs.closeSync(memory);
    }
  } catch {
    // The system does not let a process write there: the block stays as it was.
    return;
  }
};
