import { bindText, nativeStatusText, threadsText } from "@pagurus/host/command/native-text";
import { sessionOfThread } from "@pagurus/host/command/thread-command";
import { printJson, printLine, sessionOf, withPagurus, type Cli, type SessionOptions } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED } from "../cli-failure.ts";
import { type TurnOptions } from "../run/turn-request.ts";
import { workspace } from "../cli-workspace.ts";
import { defined } from "@pagurus/core/data/defined";

const RUNTIME = "codex";
/** Thread name for the one last used in the folder. */
const LAST = "last";

export interface ThreadsOptions {
  agent?: string;
  all?: boolean;
  cwd?: string;
  json?: boolean;
  limit?: number;
}
export interface CodexOptions extends SessionOptions {
  json?: boolean;
}

/** `codex threads`. */
export function threads(cli: Cli, options: ThreadsOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const where = options.all === true ? {} : { cwd: workspace(cli, options.cwd, options.agent) };
    const found = await pagurus.native.threads({
      runtime: RUNTIME,
      agentId: options.agent ?? "main",
      ...where,
      ...defined({ limit: options.limit }),
    });
    if (options.json === true) printJson(cli, found);
    else printLine(cli.stdout, threadsText(found, where));
    return EXIT_DONE;
  });
}

/** `codex bind`. */
export function bind(cli: Cli, thread: string, options: CodexOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const { session: sessionKey, agent = "main" } = options;
    const named = sessionKey === undefined ? {} : { sessionKey };
    const report = await pagurus.native.bind({
      runtime: RUNTIME,
      nativeId: thread,
      agentId: agent,
      ...named,
    });
    if (options.json === true) printJson(cli, report);
    else printLine(cli.stdout, bindText(report, RUNTIME));
    return EXIT_DONE;
  });
}

/** `codex resume`: a chat, or one turn if a prompt is passed. */
export async function resume(
  cli: Cli,
  thread: string | undefined,
  prompt: string | undefined,
  options: TurnOptions,
): Promise<number> {
  const cwd = workspace(cli, options.cwd, options.agent);
  const { sessionKey } = await withPagurus(cli, async (pagurus) => {
    const named = thread === undefined || thread === LAST ? {} : { thread };
    const agentId = options.agent ?? "main";
    const found = await sessionOfThread(pagurus, { runtime: RUNTIME, agentId, cwd, ...named });
    for (const sentence of found.told) printLine(cli.stderr, sentence);
    return found;
  });
  const request = { ...options, session: sessionKey, runtime: options.runtime ?? RUNTIME };
  if (prompt !== undefined) return (await import("../run/run-work.ts")).run(cli, prompt, request);
  return (await import("../chat/chat-loop.ts")).chat(cli, request);
}

/** `codex steer`. */
export function steer(cli: Cli, text: string, options: CodexOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    await pagurus.running.steer({ ...sessionOf(options), cwd: cli.cwd, text });
    if (options.json === true) printJson(cli, { steered: true });
    else printLine(cli.stdout, "The message was sent to the running turn.");
    return EXIT_DONE;
  });
}

/** `codex stop`. */
export function stop(cli: Cli, options: CodexOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    await pagurus.running.stop({ ...sessionOf(options), cwd: cli.cwd });
    if (options.json === true) printJson(cli, { stopped: true });
    else printLine(cli.stdout, "The running turn is being stopped.");
    return EXIT_DONE;
  });
}

/** `codex status`. Fails if the program is unusable. */
export function status(cli: Cli, options: CodexOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const report = await pagurus.native.status({ ...sessionOf(options), cwd: cli.cwd, runtime: RUNTIME });
    if (options.json === true) printJson(cli, report);
    else printLine(cli.stdout, nativeStatusText(report));
    return report.problem === undefined ? EXIT_DONE : EXIT_FAILED;
  });
}
