import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { loadConfig } from "../config/load.ts";
import { resolveHome } from "../config/paths.ts";
import { PagurusError } from "../contract/errors.ts";
import type { ProgramWrap, WrapLaunch, WrappedProgram } from "../contract/wrap.ts";
import type { OpenWrap, WrapOptions, WrapReport } from "../gateway/wire/wrap/wrap.ts";
import { createFileLogger } from "../platform/log.ts";
import { printLine, sessionOf, type Cli, type SessionOptions } from "./cli.ts";
import { usageError } from "./failure.ts";

export interface WireOptions extends SessionOptions {
  engine?: string;
  model?: string;
  contextWindow?: number;
  capture?: boolean;
  observe?: boolean;
}

/** Programs that can be wrapped. */
export type LoadWraps = () => Promise<readonly ProgramWrap[]>;

const fromApp: LoadWraps = async () => (await import("../app.ts")).loadProgramWraps();

/** `wire`: the exit code is the program's. Throws when refused before it starts. */
export async function wire(
  cli: Cli,
  words: readonly string[],
  options: WireOptions,
  load: LoadWraps = fromApp,
): Promise<number> {
  const [command = "", ...args] = words;
  const wrap = wrapFor(command, await load());
  const home = resolveHome(cli.env);
  const loaded = loadConfig({ home });
  const folder = join(home, "runtimes", wrap.id);
  const program = await wrap.survey({ command, args, env: cli.env, cwd: cli.cwd, folder });
  checkRefusal(program, options);
  const { openWrap } = await import("../gateway/wire/wrap/wrap.ts");
  const { id, label, api } = wrap;
  const about: WrapOptions = {
    ...sessionOf(options),
    ...options,
    home,
    env: cli.env,
    loaded,
    logger: createFileLogger(home, loaded.config.logging?.level),
    program,
    id,
    label,
    api,
    capture: options.capture === true,
    observe: options.observe === true,
    open: (made) => cli.open(made),
    serveTools: serveOverMcp,
  };
  return follow(cli, program, await openWrap(about));
}

const serveOverMcp: WrapOptions["serveTools"] = async (tools, name) => {
  const { loadToolServer } = await import("../app.ts");
  return (await loadToolServer())({ tools: () => tools, name });
};

function wrapFor(command: string, wraps: readonly ProgramWrap[]): ProgramWrap {
  const name = basename(command).replace(/\.(?:exe|cmd|js)$/i, "");
  const wrap = wraps.find(({ id }) => id === name);
  if (wrap) return wrap;
  const known = wraps.map(({ id }) => id).join(" and ");
  const what = command === "" ? "No program is named" : `The program "${command}" is not known`;
  throw usageError(`${what}; pagurus wire wraps ${known}, as in: pagurus wire -- codex.`);
}

function checkRefusal({ refusal }: WrappedProgram, { observe, model }: WireOptions): void {
  if (!refusal) return;
  // Nothing is governed, or the login is not used.
  if (refusal.kind === "login" && (observe === true || model !== undefined)) return;
  throw new PagurusError("runtime_unsupported", refusal.reason);
}

/** The terminal is the program's until it ends; nothing of ours is printed before. */
async function follow(cli: Cli, program: WrappedProgram, open: OpenWrap): Promise<number> {
  const { runInForeground } = await import("./wire-program.ts");
  // An output that nobody reads any more is the program's affair, too.
  const stop = cli.onInterrupt(() => undefined);
  let launch: WrapLaunch | undefined;
  let report: WrapReport | undefined;
  try {
    launch = await program.launch(open.route);
    return await runInForeground(launch, cli.cwd);
  } finally {
    report = await open.close();
    for (const file of launch?.files ?? []) rmSync(file, { force: true });
    stop();
    tell(cli, report);
  }
}

function tell(cli: Cli, { told, sessionKey, turns, requests }: WrapReport): void {
  for (const sentence of told) printLine(cli.stderr, `pagurus: ${sentence}`);
  if (cli.stderr.isTTY !== true) return;
  const asked = `${requests} ${requests === 1 ? "request" : "requests"}`;
  if (sessionKey === undefined) {
    printLine(cli.stderr, `${asked} observed; see pagurus requests list`);
    return;
  }
  const said = `${turns} ${turns === 1 ? "turn" : "turns"}`;
  printLine(cli.stderr, `session ${sessionKey}: ${said}, ${asked}; see pagurus sessions show ${sessionKey}`);
}
