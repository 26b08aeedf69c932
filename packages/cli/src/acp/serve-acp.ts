import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { isPagurusError } from "@pagurus/contract/errors";
import type { AcpAgent } from "@pagurus/acp-server/acp-agent";
import type { Pagurus } from "@pagurus/contract/host/host";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { createFileLogger } from "@pagurus/core/platform/log";
import { written, type Cli } from "../cli.ts";
import { EXIT_DONE, reportFailure, usageError } from "../cli-failure.ts";
import { workspace } from "../cli-workspace.ts";
import type { TurnOptions } from "../run/turn-request.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";

export type AcpOptions = Pick<
  TurnOptions,
  "session" | "agent" | "model" | "runtime" | "permission" | "maxCost" | "trust"
>;

/** Standard input as a stream for the protocol's library, with backpressure: reads only what is consumed. */
function bytesIn(stdin: Cli["stdin"]): ReadableStream<Uint8Array> {
  const chunks = stdin[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(typeof value === "string" ? Buffer.from(value) : value);
    },
  });
}

function bytesOut(cli: Cli): WritableStream<Uint8Array> {
  return new WritableStream({ write: (chunk) => written(cli.stdout, chunk) });
}

/** Redirects the console to standard error, so that a plugin's output does not reach the protocol. Returns the undo function. */
function divertConsole(): () => void {
  const { log, info, debug } = console;
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  return () => void Object.assign(console, { log, info, debug });
}

/** Timeout for the client to read our last output, ms. */
const READ_MS = 1_000;

/** Exits with the code if the editor has stopped reading: its full pipe must not keep the process alive. */
async function handedOver(cli: Cli, code: number): Promise<number> {
  try {
    await withDeadline(() => written(cli.stdout, ""), { ms: READ_MS, label: "The last words" });
  } catch {
    // No reader; everything worth keeping is in the transcripts.
    cli.exit(code);
  }
  return code;
}

/** Configuration, or the defaults where the file is unusable: opening the host reports that. */
function configOrDefaults(home: string): PagurusConfig {
  try {
    return loadConfig({ home }).config;
  } catch (error) {
    if (isPagurusError(error)) return {};
    throw error;
  }
}

async function makeAgent(cli: Cli, options: AcpOptions): Promise<AcpAgent> {
  const [{ createAcpAgent }, mcpServers] = await Promise.all([
    import("@pagurus/acp-server/acp-agent"),
    import("@pagurus/app/commands-own").then(({ loadMcpServers }) => loadMcpServers()),
  ]);
  const home = resolveHome(cli.env);
  const config = configOrDefaults(home);
  const { logging = {} } = config;
  return createAcpAgent({
    version: packageVersion(),
    home,
    env: cli.env,
    logger: createFileLogger(home, logging.level),
    mcpTools: (servers) =>
      mcpServers({ home, env: cli.env, config: { mcp: { servers }, logging }, trustFolders: true }),
    agentId: options.agent ?? "main",
    sessionKey: options.session,
    preferred: { mode: options.permission, model: options.model, runtime: options.runtime },
    maxCost: options.maxCost,
    notifyCompactions: config.agents?.defaults?.compaction?.notifyUser !== false,
  });
}

/** `pagurus acp`: runs until standard input ends, or an interrupt. Returns the exit code, also of a host that cannot be opened. */
export async function acp(cli: Cli, options: AcpOptions): Promise<number> {
  if (cli.stdin.isTTY === true) {
    throw usageError(
      "pagurus acp talks to an editor over standard input, and this is a terminal; set it as an agent in your editor, or use pagurus chat.",
    );
  }
  // A wrong agent is refused before the editor sends anything.
  workspace(cli, undefined, options.agent);
  const restore = divertConsole();
  const agent = await makeAgent(cli, options);
  const stop = cli.onInterrupt(() => agent.end());
  try {
    const opening: Promise<Pagurus> = cli.open({
      env: cli.env,
      askPermission: agent.askPermission,
      ...(options.trust === true ? { trustFolders: true } : {}),
    });
    await agent.serve(opening, { input: bytesIn(cli.stdin), output: bytesOut(cli) });
    return await handedOver(cli, await closed(cli, opening));
  } finally {
    stop();
    restore();
  }
}

async function closed(cli: Cli, opening: Promise<Pagurus>): Promise<number> {
  try {
    await (await opening).close();
    return EXIT_DONE;
  } catch (error) {
    return reportFailure(cli, error);
  }
}
