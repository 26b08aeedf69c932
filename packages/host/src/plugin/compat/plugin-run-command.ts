/** `runtime.system.runCommandWithTimeout` of OpenClaw: runs a program and returns its output and exit state. */
import { defined } from "@pagurus/core/data/defined";
import { once } from "node:events";
import { recordOf } from "@pagurus/core/data/record-fields";
import { missingProgram, namedProgram } from "@pagurus/core/platform/executables";
import { killGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import { currentEnv } from "@pagurus/core/platform/surroundings";

export interface CommandEnd {
  pid?: number;
  stdout: string;
  stderr: string;
  code: number | null;
  signal: NodeJS.Signals | null;
  killed: boolean;
  termination: "exit" | "timeout" | "no-output-timeout" | "signal";
  noOutputTimedOut?: boolean;
}

interface Options {
  timeoutMs?: number;
  cwd?: string;
  input?: string;
  env?: Record<string, string | undefined>;
  noOutputTimeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
const GRACE_MS = 1_000;
const OUTPUT_MAX_CHARS = 16_000_000;

/** Resolves for any end of the program; rejects with Node's error if it cannot be started. */
export async function runCommandWithTimeout(
  argv: readonly string[],
  given?: number | Options,
): Promise<CommandEnd> {
  const options: Options = typeof given === "number" ? { timeoutMs: given } : recordOf(given);
  const [command = "", ...args] = argv;
  const env = { ...currentEnv(), ...options.env };
  const { file, passedOver } = namedProgram(command, { env, cwd: options.cwd });
  if (file === undefined) throw missingProgram(command, passedOver, "the call");
  const child = spawnGroup(file, args, {
    cwd: options.cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  let why: CommandEnd["termination"] | undefined;
  let forced: NodeJS.Timeout | undefined;
  const stop = (reason: "timeout" | "no-output-timeout"): void => {
    why ??= reason;
    killGroup(child, "SIGTERM");
    forced ??= setTimeout(() => killGroup(child, "SIGKILL"), GRACE_MS);
  };
  const timer = setTimeout(stop, options.timeoutMs ?? TIMEOUT_MS, "timeout");
  let silence = silenceTimer(options, stop);
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      if (output[name].length < OUTPUT_MAX_CHARS) output[name] += text;
      clearTimeout(silence);
      silence = silenceTimer(options, stop);
    });
  }
  // A program that does not read may have ended before the write.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(options.input ?? "");
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    return {
      ...output,
      ...defined({ pid: child.pid }),
      code,
      signal,
      killed: child.killed || why !== undefined,
      termination: why ?? (signal === null ? "exit" : "signal"),
      ...(why === "no-output-timeout" && { noOutputTimedOut: true }),
    };
  } finally {
    for (const each of [timer, silence, forced]) clearTimeout(each);
  }
}

function silenceTimer(
  { noOutputTimeoutMs }: Options,
  stop: (reason: "no-output-timeout") => void,
): NodeJS.Timeout | undefined {
  return noOutputTimeoutMs === undefined
    ? undefined
    : setTimeout(() => stop("no-output-timeout"), noOutputTimeoutMs);
}
