import { resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig, ServerConfig } from "@pagurus/core/config/config-types";
import { loadConfig } from "@pagurus/core/config/load-config";
import { PagurusError } from "@pagurus/contract/errors";
import { fieldOf, listOf } from "@pagurus/core/data/record-fields";
import { keepCompiledCode } from "@pagurus/core/platform/compiled-code";
import { keepServerHeapSmall } from "@pagurus/core/platform/heap-growth";
import { createFileLogger } from "@pagurus/core/platform/log";
import { isLoopback } from "@pagurus/core/platform/loopback";
import { plural } from "@pagurus/core/data/plain-numbers";
import type { ServeOptions } from "@pagurus/server/server";
import {
  localKey,
  requireServer,
  RESTART_SIGNAL,
  runningServer,
  serverFiles,
  type ServerAddress,
} from "@pagurus/server/server-address";
import { printJson, printLine, type Cli } from "../cli.ts";
import { openHost } from "../open-host.ts";
import { EXIT_DONE, EXIT_FAILED } from "../cli-failure.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { onceInterrupted } from "./once-interrupted.ts";
import { canRestart, onceRestarted, startAgain } from "./restart.ts";
import { metWithin } from "./met-within.ts";
import { printResident, residentFact, restartResident, stopResident } from "./resident-process.ts";
import { shellWord } from "@pagurus/core/platform/shell-word";

export interface ServeCommandOptions {
  port?: number;
  host?: string;
}

const DEFAULT_PORT = 7117;
const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_TURNS = 16;
/** How long `serve stop` waits for the process, ms. */
const STOP_MS = 45_000;
/** By then the first turns have loaded the rest of the code, ms. */
const LOADED_MS = 20_000;
/** Writes the code that was loaded since the last step: all of it at once takes the event loop for a tenth of a second, on a busy machine for one. */
const STEP_MS = 1_000;

/** `pagurus serve`. Ends with an interrupt, or with `pagurus serve stop`. */
export async function serve(cli: Cli, options: ServeCommandOptions): Promise<number> {
  keepServerHeapSmall();
  const [{ startServer }, { DEFAULT_BODY_BYTES }] = await Promise.all([
    import("@pagurus/server/server"),
    import("@pagurus/server/api/request-bodies"),
  ]);
  const home = resolveHome(cli.env);
  const loaded = loadConfig({ home });
  const { config, warnings } = loaded;
  for (const warning of warnings) printLine(cli.stderr, `note: ${warning}`);
  const settings: ServerConfig = config.server ?? {};
  const host = options.host ?? settings.host ?? DEFAULT_HOST;
  const server = await startServer({
    home,
    version: packageVersion(),
    env: cli.env,
    logger: createFileLogger(home, config.logging?.level),
    port: options.port ?? settings.port ?? DEFAULT_PORT,
    // Another home's server may have it.
    otherPort: options.port === undefined && settings.port === undefined,
    restarts: canRestart(),
    host,
    maxTurns: settings.maxTurns ?? DEFAULT_TURNS,
    maxBodyBytes: settings.maxBodyBytes ?? DEFAULT_BODY_BYTES,
    maxBytesInFlight: settings.maxBytesInFlight,
    maxRequests: settings.maxRequests,
    maxLiveSessions: settings.maxLiveSessions,
    questionSeconds: settings.questionSeconds,
    allowedHosts: settings.allowedHosts ?? [],
    allowedOrigins: settings.allowedOrigins ?? [],
    loaded,
    cwd: cli.cwd,
    open: openHost,
    acpSettings: () => acpSettings(cli, home, config),
  });
  const { interrupted, forget } = onceInterrupted(cli);
  const restart = onceRestarted();
  const { url } = server.facts;
  printLine(cli.stdout, `Pagurus serves ${home} at ${url}`);
  if (!isLoopback(host))
    printLine(
      cli.stdout,
      `Other machines that reach ${host} can use it with a token; pagurus token list shows them.`,
    );
  const key = `$(cat ${shellWord(serverFiles(home).key)})`;
  printLine(cli.stdout, `Try it:  curl -H "Authorization: Bearer ${key}" ${url}/api/v1/status`);
  printLine(cli.stdout, "Open it: pagurus open");
  printLine(cli.stdout, "Stop it: Ctrl-C, or pagurus serve stop");
  keepCompiledCode();
  const steps = setInterval(keepCompiledCode, STEP_MS).unref();
  setTimeout(() => clearInterval(steps), LOADED_MS).unref();
  const isRestart = await Promise.race([interrupted.then(() => false), restart]);
  if (isRestart) printLine(cli.stderr, "Starting again: running turns get a moment to end.");
  else
    printLine(cli.stderr, "Stopping: running turns get a moment to end; press Ctrl-C again to stop at once.");
  await server.close();
  forget();
  if (isRestart) startAgain();
  return EXIT_DONE;
}

async function acpSettings(
  cli: Cli,
  home: string,
  { agents, logging = {} }: PagurusConfig,
): ReturnType<ServeOptions["acpSettings"]> {
  const { loadMcpServers } = await import("@pagurus/app/commands-own");
  const mcpServers = await loadMcpServers();
  return {
    agentId: "main",
    preferred: { mode: undefined, model: undefined, runtime: undefined },
    maxCost: undefined,
    notifyCompactions: agents?.defaults?.compaction?.notifyUser !== false,
    mcpTools: (servers) => mcpServers({ home, env: cli.env, config: { mcp: { servers }, logging } }),
  };
}

/** `pagurus serve status`. */
export async function serveStatus(cli: Cli, { json }: { json?: boolean }): Promise<number> {
  const home = resolveHome(cli.env);
  const found = runningServer(home);
  if (!found) {
    if (json === true) printJson(cli, { isRunning: false, home, ...residentFact(home) });
    else {
      printLine(cli.stdout, `No server of ${home} is running; start it with pagurus serve.`);
      printResident(cli, home);
    }
    return EXIT_FAILED;
  }
  const status = await askServer(home, found, "/api/v1/status");
  if (json === true) {
    printJson(cli, { isRunning: true, ...(status as object), ...residentFact(home) });
    return EXIT_DONE;
  }
  const running = listOf(fieldOf(status, "running"));
  printLine(cli.stdout, `Server   ${found.url} (process ${found.pid}, since ${found.startedAt})`);
  printLine(cli.stdout, `Running  ${plural(running.length, "turn")}`);
  for (const each of running) printLine(cli.stdout, `         ${String(fieldOf(each, "session"))}`);
  printLine(cli.stdout, `Waiting  ${String(fieldOf(status, "waiting"))}`);
  printLine(cli.stdout, `Asked    ${String(fieldOf(status, "approvals"))} permission questions`);
  printResident(cli, home);
  return EXIT_DONE;
}

/** Throws `server_failed` where the server does not answer. */
async function askServer(home: string, { url }: ServerAddress, path: string): Promise<unknown> {
  try {
    const headers = { authorization: `Bearer ${localKey(home)}` };
    const answer = await fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
    return await answer.json();
  } catch (cause) {
    throw new PagurusError(
      "server_failed",
      `The server at ${url} does not answer; look into its log, or end its process and start it again.`,
      { cause },
    );
  }
}

/** `pagurus serve stop`. */
export async function serveStop(cli: Cli): Promise<number> {
  const home = resolveHome(cli.env);
  const hadResident = await stopResident(home, "SIGTERM");
  if (hadResident) printLine(cli.stdout, "The resident host has stopped.");
  if (hadResident && !runningServer(home)) return EXIT_DONE;
  const { url, pid } = requireServer(home);
  process.kill(pid, "SIGTERM");
  if (await metWithin(STOP_MS, () => !runningServer(home))) {
    printLine(cli.stdout, `The server at ${url} has stopped.`);
    return EXIT_DONE;
  }
  throw new PagurusError(
    "server_failed",
    `The server at ${url} has not stopped within ${STOP_MS / 1_000} s; end its process ${pid}.`,
  );
}

/** `pagurus serve restart`: for what a server has read at its start, and for plugins whose code has changed. */
export async function serveRestart(cli: Cli): Promise<number> {
  const home = resolveHome(cli.env);
  const hadResident = await restartResident(home, cli.env);
  if (hadResident) printLine(cli.stdout, "The resident host starts again.");
  if (hadResident && !runningServer(home)) return EXIT_DONE;
  const { url, pid, startedAt, restarts } = requireServer(home);
  if (restarts !== true)
    throw new PagurusError(
      "server_failed",
      `The server at ${url} cannot start itself again; stop it with pagurus serve stop, and start it with pagurus serve.`,
    );
  process.kill(pid, RESTART_SIGNAL);
  let now: ServerAddress | undefined;
  const isAgain = await metWithin(STOP_MS, () => {
    now = runningServer(home);
    return now !== undefined && now.startedAt !== startedAt;
  });
  if (isAgain) {
    printLine(cli.stdout, `The server has started again, at ${now?.url ?? ""}.`);
    return EXIT_DONE;
  }
  throw new PagurusError(
    "server_failed",
    `The server at ${url} has not started again within ${STOP_MS / 1_000} s; look into its log, or end its process ${pid}.`,
  );
}
