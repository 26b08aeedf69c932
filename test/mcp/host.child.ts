/** A host that serves tools and uses servers, and ends in the way of its first argument; `PIDS` collects processes. */
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { McpServers } from "../../packages/host/src/mcp/client/mcp-servers.ts";
import { serveTools } from "../../packages/host/src/mcp/serve/serve-tools.ts";
import { child } from "./client/hosted.ts";
import { until } from "../runner/until.ts";

const [way = "exit", home = ""] = process.argv.slice(2);
const pids = process.env["PIDS"] ?? "";
const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

const served = await serveTools({ tools: () => undefined });
const { command, args } = served.server;
// Detached, like a harness that outlives the host.
const bridge = spawn(command, args, { stdio: ["pipe", "ignore", "ignore"], detached: true });
appendFileSync(pids, `${bridge.pid}\n`);
// A server that ignores everything can only be ended by a host that still runs.
const modes = way === "kill" ? ["good"] : ["good", "mute"];
const env = { PIDS: pids };
const servers = new McpServers({
  config: { mcp: { servers: Object.fromEntries(modes.map((mode) => [mode, child(mode, { env })])) } },
  home,
  env: process.env,
  logger: silent,
  waitMs: 3_000,
});
await servers.forTurn(new AbortController().signal);
// On a busy machine a server may start later than the host waits for it.
const wanted = way === "kill" ? 2 : 4;
await until(() => readFileSync(pids, "utf8").trim().split("\n").length === wanted);
process.stdout.write(`${dirname(args[0] ?? "")}\n`);
if (way === "exit") process.exit(0);
if (way === "throw") throw new Error("a defect");
setInterval(() => undefined, 1_000);
