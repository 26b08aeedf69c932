import { resolveHome } from "@pagurus/core/config/config-paths";
import { loadConfig } from "@pagurus/core/config/load-config";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import { errorText } from "@pagurus/core/data/error-text";
import { keepCompiledCode } from "@pagurus/core/platform/compiled-code";
import { keepServerHeapSmall } from "@pagurus/core/platform/heap-growth";
import { createFileLogger } from "@pagurus/core/platform/log";
import { RESTART_SIGNAL } from "@pagurus/server/server-address";
import type { Cli } from "../cli.ts";
import type { Execute } from "./forwarded-command.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { insideOptions } from "@pagurus/inside/service/inside-options";
import { InsideService } from "@pagurus/inside/service/inside-service";
import { brokenFiles, installedPrograms } from "@pagurus/inside/install/install-record";
import { residentFiles, residentProblem, runningResident } from "@pagurus/server/resident-place";
import { KeepChild } from "../keep/keep-child.ts";
import { ResidentHost, type ResidentHostOptions } from "./resident-host.ts";

/** Loads what a forwarded turn needs, so that the first one does not wait for it. */
async function loadCommands(): Promise<void> {
  const [{ turnModule }] = await Promise.all([import("@pagurus/app/app"), import("../run/run-work.ts")]);
  await turnModule();
  keepCompiledCode();
}

/** The process that `startResident` starts: ends when it is idle, with an interrupt, or with `pagurus serve stop`. */
export async function serveResident(cli: Cli, execute: Execute): Promise<number> {
  keepServerHeapSmall();
  const home = resolveHome(cli.env);
  const problem = residentProblem(home);
  if (problem !== undefined) throw new PagurusError("server_failed", problem);
  const { config } = loadConfig({ home });
  const logger = createFileLogger(home, config.logging?.level);
  const host = await started({
    home,
    env: cli.env,
    logger,
    load: loadCommands,
    execute,
    isServingAdapters: () => isServingAdapters(home),
    isKeeping: () => isKeeping(home),
  });
  const inside = isServingAdapters(home) ? await serveAdapters(cli, home, logger, host) : undefined;
  const keeping = isKeeping(home) ? new KeepChild(cli.env, logger) : undefined;
  const forget = cli.onInterrupt(() => host.interrupt());
  process.on(RESTART_SIGNAL, () => host.retire("it starts again"));
  logger.info("resident host started", {});
  logger.info("resident host ended", { why: await host.ended });
  keeping?.stop();
  await inside?.close();
  forget();
  return EXIT_DONE;
}

function isServingAdapters(home: string): boolean {
  return installedPrograms(home).size > 0;
}

/** As the configuration says now. */
function isKeeping(home: string): boolean {
  return attempt(() => loadConfig({ home }).config.keeper?.enabled) === true;
}

async function serveAdapters(
  cli: Cli,
  home: string,
  logger: ReturnType<typeof createFileLogger>,
  host: ResidentHost,
): Promise<InsideService | undefined> {
  for (const [id] of installedPrograms(home)) {
    const broken = brokenFiles(home, id).length;
    if (broken > 0) logger.warn("files of an adapter were changed", { program: id, files: broken });
  }
  try {
    return await InsideService.start({
      home,
      socket: residentFiles(home).inside,
      logger,
      begin: () => host.begin(),
      open: () => cli.open(insideOptions(home, cli.env)),
    });
  } catch (error) {
    logger.warn("adapters are not served", { code: (error as NodeJS.ErrnoException).code });
    return undefined;
  }
}

async function started(options: ResidentHostOptions): Promise<ResidentHost> {
  const { home, logger } = options;
  try {
    return await ResidentHost.start(options);
  } catch (cause) {
    const other = isPagurusError(cause) ? runningResident(home) : undefined;
    const message = other
      ? `A resident host of ${home} runs already (process ${other.pid}); pagurus serve restart starts it again.`
      : `The resident host of ${home} cannot start (${errorText(cause)}); commands run in their own processes.`;
    logger.warn("resident host not started", { code: (cause as NodeJS.ErrnoException).code });
    throw new PagurusError(other ? "server_running" : "server_failed", message, { cause });
  }
}
