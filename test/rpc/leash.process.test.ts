/** A child on a leash ends with its host, however that ends, together with its own children. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { processIsAlive } from "../../src/platform/process-group.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

const CHILD = fileURLToPath(new URL("../../src/rpc/rpc-child.ts", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "pagurus-leash-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** Ignores polite signals, reads no input, and has a command in another process session. */
const PROGRAM = `trap "" HUP TERM; setsid sleep 300 & echo $! > "${root}/command"; echo $$ > "${root}/program"; while :; do sleep 300; done`;
const HOST = `
import { RpcChild } from ${JSON.stringify(CHILD)};
const [program] = process.argv.slice(1);
await RpcChild.start({ command: "/bin/sh", args: ["-c", program], env: process.env, label: "It", leash: true });
setInterval(() => undefined, 1000);
console.log("started");
`;

function pidIn(name: string): number {
  try {
    return Number(readFileSync(join(root, name), "utf8"));
  } catch {
    return 0;
  }
}

describe("A child on a leash", { skip: process.platform !== "linux" }, () => {
  longTest("is killed with its children when its host is killed", async () => {
    const host = spawn(process.execPath, ["--input-type=module", "-e", HOST, PROGRAM], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(host.stdout, "data");
    await until(() => pidIn("program") > 0 && pidIn("command") > 0);
    const pids = [pidIn("program"), pidIn("command")];
    assert.ok(pids.every(processIsAlive));
    host.kill("SIGKILL");
    await until(() => !pids.some(processIsAlive));
  });
});
