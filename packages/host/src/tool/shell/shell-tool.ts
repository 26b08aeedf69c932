import { shellEnvironment } from "@pagurus/core/platform/child-environment";
import { statSync } from "node:fs";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { numberArgument, stringArgument } from "../arguments.ts";
import { usesNetwork } from "./network-words.ts";
import { findProgram } from "@pagurus/core/platform/executables";
import { failedOutcome, textOutcome, type HostTool, type RunContext } from "../host-tool.ts";
import type { ChangeGuard, GuardedCommand, Held } from "../changes/change-guard.ts";
import type { Sandbox } from "./sandbox.ts";
import type { ShellResult } from "./shell-run.ts";
import { systemCode, ToolError } from "../tool-error.ts";

const DEFAULT_SECONDS = 120;
const MOST_SECONDS = 600;
const MOST_CHARACTERS = 30_000;

export interface ShellOptions {
  env: Record<string, string | undefined>;
  shellEnv: readonly string[];
  /** Created at the first command, since testing it starts a process. */
  sandbox(): Promise<Sandbox>;
  /** Looks at the workspace around each command; undefined where the workspace is the whole file system. */
  guard(): Promise<ChangeGuard | undefined>;
  /** Moves what was held back to its place again; returns sentences for what could not be moved. */
  takeBack(held: readonly Held[]): Promise<string[]>;
  /** Why commands need a sandbox; undefined if they do not. */
  sandboxRequired: string | undefined;
}

function endText(end: ShellResult["end"], seconds: number): string {
  if (end.kind === "exit") return `[exit code ${end.code}]`;
  if (end.kind === "signal") return `[ended by ${end.signal}]`;
  if (end.kind === "aborted") return "[aborted]";
  return `[ended after ${seconds} s: timeout; set "timeout" (at most ${MOST_SECONDS}) for more]`;
}

/** Error texts of programs that the sandbox blocks. */
const CONFINED = /Read-only file system|EROFS|Operation not permitted|EPERM|Device or resource busy|EBUSY/;
/** Signs that a command searched for a file of an earlier one, or for something that the sandbox hides. */
const LOOKED_FOR =
  /No such file or directory|ENOENT|Could not resolve|Network is unreachable|ENETUNREACH|EAI_AGAIN/;

/** Signs of a command that was cut off from the network. */
const UNREACHED =
  /Could not resolve|Temporary failure in name resolution|Network is unreachable|No route to host|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|Connection refused/i;
const NO_NETWORK =
  'this command had no network but its own loopback; call shell again with "network": true, about which the user is asked';

interface Ended {
  result: ShellResult;
  seconds: number;
  command: string;
  sandbox: Sandbox;
  /** Reports of what the sandbox undid after the command. */
  undone: readonly string[];
  network: RunContext["network"];
}

function outcomeOf({ result, seconds, command, sandbox, undone, network }: Ended): ToolOutcome {
  const { end, bytes, cut } = result;
  const succeeded = end.kind === "exit" && end.code === 0;
  const missed = LOOKED_FOR.test(result.text) && /\/tmp|\/run|\/proc|[a-z]:\/\/|npm|git|curl/.test(command);
  const offline =
    !succeeded && network === "off" && sandbox.report.kind !== "none" && UNREACHED.test(result.text);
  const confined = !succeeded && sandbox.report.kind !== "none" && (CONFINED.test(result.text) || missed);
  const notes = [
    ...(result.text === "" ? ["(no output)"] : [result.text.replace(/\n$/, "")]),
    ...(cut ? [`[output cut: ${bytes} bytes in all]`] : []),
    ...(succeeded ? [] : [endText(end, seconds)]),
    ...undone.map((sentence) => `[${sentence}]`),
    ...(offline && !confined ? [`[sandbox: ${NO_NETWORK}]`] : []),
    ...(confined ? [`[sandbox: ${sandbox.report.detail}]`] : []),
  ];
  const details = { end: end.kind, ...(end.kind === "exit" && { exitCode: end.code }), bytes, cut };
  const text = notes.join("\n");
  return succeeded ? textOutcome(text, details) : failedOutcome(text, details);
}

const PARAMETERS = {
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
    network: { type: "boolean", description: "Needs the network" },
  },
  required: ["command"],
  additionalProperties: false,
};

function bashIn(env: Record<string, string>, root: string): string | undefined {
  return findProgram("bash", { env, path: `${env["PATH"]}:/bin:/usr/bin`, workspaces: [root] }).file;
}

/** What a command left is held back, unless the user keeps it. Sentences for the model. */
async function heldBack(
  guarded: GuardedCommand | undefined,
  { keep, notice, takeBack }: Pick<RunContext, "keep" | "notice"> & Pick<ShellOptions, "takeBack">,
): Promise<string[]> {
  const held = (await guarded?.end()) ?? [];
  if (held.length === 0) return [];
  const places = held.flatMap(({ record }) => record.places.map(({ shown }) => shown));
  const sentences = held.flatMap((each) => each.sentences);
  if (await keep?.(places, held.map(({ preview }) => preview).join("\n"))) return await takeBack(held);
  notice?.(sentences.join("; "));
  return sentences.map((sentence) => `sandbox: ${sentence}`);
}

export function createShellTool(options: ShellOptions): HostTool {
  return {
    onlyReads: false,
    name: "shell",
    description:
      "Run a bash command in the workspace. Each call starts afresh (no cd, no background process survives); no input.",
    parameters: PARAMETERS,
    plan(params, workspace) {
      const command = stringArgument(params, "command") ?? "";
      const folder = workspace.locate(stringArgument(params, "cwd") ?? ".");
      const seconds = numberArgument(params, "timeout") ?? DEFAULT_SECONDS;
      const { network } = params;
      if (command.trim() === "") throw new ToolError(`"command" is empty.`);
      if (command.includes("\0")) throw new ToolError(`"command" must not hold a NUL character.`);
      if (!folder.inside)
        throw new ToolError(`"cwd" must be inside the workspace; "${folder.shown}" is not.`);
      if (!statSync(folder.path, { throwIfNoEntry: false })?.isDirectory()) {
        throw new ToolError(`"cwd" names no folder: "${folder.shown}".`);
      }
      return {
        access: {
          kind: "shell",
          command,
          folder,
          network: network === undefined ? usesNetwork(command) : network === true,
        },
        preview: () => command,
        async run({ signal, output, keep, notice, network: allowed }) {
          const [sandbox, { runInGroup }, guard] = await Promise.all([
            options.sandbox(),
            import("./shell-run.ts"),
            options.guard(),
          ]);
          if (options.sandboxRequired !== undefined && sandbox.report.kind === "none") {
            throw new ToolError(`The configuration ${options.sandboxRequired}. ${sandbox.report.detail}`);
          }
          const env = shellEnvironment(options.env, options.shellEnv);
          const shell = bashIn(env, workspace.root) ?? "/bin/sh";
          const guarded = await guard?.start(command);
          let after = (): string[] => [];
          let result: ShellResult;
          let undone: string[] = [];
          try {
            const confined = sandbox.wrap([shell, "-c", command], guarded?.before, allowed);
            ({ after } = confined);
            result = await runInGroup({
              command: confined.command,
              cwd: folder.path,
              env: { ...env, ...confined.env },
              filter: confined.filter,
              timeoutMs: seconds * 1_000,
              signal,
              mostCharacters: MOST_CHARACTERS,
              output,
            });
          } catch (error) {
            throw new ToolError(`The shell could not be started: ${systemCode(error) ?? String(error)}.`);
          } finally {
            undone = [...after(), ...(await heldBack(guarded, { keep, notice, takeBack: options.takeBack }))];
          }
          return outcomeOf({ result, seconds, command, sandbox, undone, network: allowed });
        },
      };
    },
  };
}
