/**
 * A host that starts one child of the kind of its first argument, through the code that starts it in the product, and runs until it is
 * killed, or exits at SIGUSR2. The child is the stubborn program of `STUBBORN`.
 */
import { findProgram } from "../../packages/core/src/platform/executables.ts";
import { spawnGroup } from "../../packages/core/src/platform/process-group.ts";
import {
  outputOf,
  startModule,
  startProgram,
  waitForProgram,
} from "../../packages/core/src/platform/start-program.ts";
import { runInForeground } from "../../packages/cli/src/wire/wire-program.ts";
import { ServerChild } from "../../packages/host/src/mcp/client/mcp-child.ts";
import { runCommandWithTimeout } from "../../packages/host/src/plugin/compat/plugin-run-command.ts";
import { RpcChild } from "../../packages/core/src/rpc/rpc-child.ts";
import { checkJob } from "../../packages/inbox/src/schedule/job-check.ts";
import { searchWithRipgrep } from "../../packages/host/src/tool/files/search-engine.ts";
import { runInGroup } from "../../packages/host/src/tool/shell/shell-run.ts";

const [kind = ""] = process.argv.slice(2);
const program = process.env["STUBBORN"] ?? "";
const args: string[] = [];
const env = process.env as Record<string, string>;
const cwd = process.cwd();
const { signal } = new AbortController();

const kinds: Record<string, () => unknown> = {
  group: () => spawnGroup(program, args),
  foreground: () => startProgram(program, args, { stdio: "inherit" }),
  fork: () =>
    startModule(program, {
      detached: true,
      execPath: "/bin/sh",
      execArgv: [],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    }),
  output: () => outputOf(program, args, { env, timeout: 300_000 }),
  sync: () => waitForProgram(program, args, { timeout: 300_000 }),
  mcp: () => ServerChild.start({ command: program, args, env, cwd: undefined }, []),
  // Codex, Claude Code and agents of the Agent Client Protocol.
  rpc: () => RpcChild.start({ command: program, args, env, label: "It" }),
  shell: () =>
    runInGroup({
      command: [program],
      cwd,
      env,
      timeoutMs: 300_000,
      signal,
      mostCharacters: 100,
      output: () => undefined,
    }),
  sandbox: () =>
    runInGroup({
      command: [
        findProgram("bwrap", { env: process.env, workspaces: [] }).file ?? "",
        "--die-with-parent",
        "--unshare-pid",
        "--dev-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        program,
      ],
      cwd,
      env,
      timeoutMs: 300_000,
      signal,
      mostCharacters: 100,
      output: () => undefined,
    }),
  job: () => checkJob({ kind: "command", command: program }, { stamp: undefined, cwd }),
  wire: () => runInForeground({ command: program, args, env }, cwd),
  ripgrep: () =>
    searchWithRipgrep(
      program,
      { start: cwd, isFolder: true, pattern: "x", ignoreCase: false, wanted: () => true },
      signal,
    ).next(),
  plugin: () => runCommandWithTimeout([program], 300_000),
};

if (kind === "kinds") console.log(Object.keys(kinds).join(" "));
else {
  setInterval(() => undefined, 1_000);
  process.once("SIGUSR2", () => process.exit());
  void Promise.resolve(kinds[kind]?.()).catch(() => undefined);
}
