import type { ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import type { ToolOutcome } from "../contract/tool.ts";
import { killGroup } from "../platform/process-group.ts";
import { numberArgument, stringArgument } from "./arguments.ts";
import { findProgram } from "./find-program.ts";
import { failedOutcome, textOutcome, type HostTool } from "./host-tool.ts";
import type { Sandbox } from "./sandbox.ts";
import { shellEnvironment } from "./shell-env.ts";
import { runInGroup, type ShellResult } from "./shell-run.ts";
import { systemCode, ToolError } from "./tool-error.ts";

const DEFAULT_SECONDS = 120;
const MOST_SECONDS = 600;
const MOST_CHARACTERS = 30_000;

export interface ShellOptions {
  env: Record<string, string | undefined>;
  shellEnv: readonly string[];
  /** Looked for at the first command, since trying one out starts a process. */
  sandbox(): Sandbox;
  /** Refuse to run without a sandbox. */
  sandboxRequired: boolean;
}

/** Ends the commands that still run when the host process exits. */
function createTracker(): (child: ChildProcess) => () => void {
  const running = new Set<ChildProcess>();
  const endAll = (): void => {
    for (const child of running) killGroup(child, "SIGKILL");
  };
  return (child) => {
    if (running.size === 0) process.on("exit", endAll);
    running.add(child);
    return () => {
      running.delete(child);
      if (running.size === 0) process.off("exit", endAll);
    };
  };
}

function endText(end: ShellResult["end"], seconds: number): string {
  if (end.kind === "exit") return `[exit code ${end.code}]`;
  if (end.kind === "signal") return `[ended by ${end.signal}]`;
  if (end.kind === "aborted") return "[aborted]";
  return `[ended after ${seconds} s: timeout; set "timeout" (at most ${MOST_SECONDS}) for more]`;
}

/** What a program says when the sandbox keeps it from writing. */
const CONFINED = /Read-only file system|EROFS|Operation not permitted/;

function outcomeOf(result: ShellResult, seconds: number, sandbox: Sandbox): ToolOutcome {
  const { end, bytes, cut } = result;
  const succeeded = end.kind === "exit" && end.code === 0;
  const confined = !succeeded && sandbox.report.kind !== "none" && CONFINED.test(result.text);
  const notes = [
    ...(result.text === "" ? ["(no output)"] : [result.text.replace(/\n$/, "")]),
    ...(cut ? [`[output cut: ${bytes} bytes in all]`] : []),
    ...(succeeded ? [] : [endText(end, seconds)]),
    ...(confined ? [`[sandbox: ${sandbox.report.detail}]`] : []),
  ];
  const details = { end: end.kind, ...(end.kind === "exit" && { exitCode: end.code }), bytes, cut };
  const text = notes.join("\n");
  return succeeded ? textOutcome(text, details) : failedOutcome(text, details);
}

export function createShellTool(options: ShellOptions): HostTool {
  const track = createTracker();
  return {
    name: "shell",
    description:
      "Run a bash command in the workspace. Each call starts afresh (no cd, no background process survives); no input.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "string" },
        cwd: { type: "string", description: "Folder in the workspace" },
        timeout: {
          type: "number",
          minimum: 1,
          maximum: MOST_SECONDS,
          description: `Seconds, default ${DEFAULT_SECONDS}`,
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    plan(params, workspace) {
      const command = stringArgument(params, "command") ?? "";
      const folder = workspace.locate(stringArgument(params, "cwd") ?? ".");
      const seconds = numberArgument(params, "timeout") ?? DEFAULT_SECONDS;
      if (command.trim() === "") throw new ToolError(`"command" is empty.`);
      if (command.includes("\0")) throw new ToolError(`"command" must not hold a NUL character.`);
      if (!folder.inside)
        throw new ToolError(`"cwd" must be inside the workspace; "${folder.shown}" is not.`);
      if (!statSync(folder.path, { throwIfNoEntry: false })?.isDirectory()) {
        throw new ToolError(`"cwd" names no folder: "${folder.shown}".`);
      }
      return {
        access: { kind: "shell", command, folder },
        preview: () => command,
        async run({ signal, output }) {
          const sandbox = options.sandbox();
          if (options.sandboxRequired && sandbox.report.kind === "none") {
            throw new ToolError(`The configuration requires a sandbox. ${sandbox.report.detail}`);
          }
          const env = shellEnvironment(options.env, options.shellEnv);
          const shell = findProgram("bash", env["PATH"]) ?? findProgram("bash", "/bin:/usr/bin") ?? "/bin/sh";
          try {
            const result = await runInGroup({
              command: sandbox.wrap([shell, "-c", command]),
              cwd: folder.path,
              env,
              timeoutMs: seconds * 1_000,
              signal,
              mostCharacters: MOST_CHARACTERS,
              output,
              track,
            });
            return outcomeOf(result, seconds, sandbox);
          } catch (error) {
            throw new ToolError(`The shell could not be started: ${systemCode(error) ?? String(error)}.`);
          }
        },
      };
    },
  };
}
