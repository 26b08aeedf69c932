/** Which commands a server runs, and which server: the one of `--server`, else the one that runs for this home. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { PagurusError } from "@pagurus/contract/errors";
import type { Cli } from "../cli.ts";
import { usageError } from "../cli-failure.ts";
import type { Connection } from "./remote-pagurus.ts";

export interface ServerOptions {
  /** Address; false: none, also not one that runs. */
  server?: string | false;
  tokenFile?: string;
}

/** Timeout for the first answer of a named server, ms. */
const ANSWER_MS = 5_000;

const COMMANDS: ReadonlySet<string> = new Set(["run", "chat", "sessions", "context", "status", "compact"]);

/** Takes the options before the command off the arguments. Throws `usage_invalid` for one without its value. */
export function serverOptions(given: readonly string[]): { argv: string[]; options: ServerOptions } {
  const argv = [...given];
  const options: ServerOptions = {};
  for (;;) {
    const [, name = "", value] = /^(--server|--token-file|--no-server)(?:=(.*))?$/.exec(argv[0] ?? "") ?? [];
    if (name === "") return { argv, options };
    argv.shift();
    if (name === "--no-server") {
      options.server = false;
      continue;
    }
    const text = value ?? argv.shift();
    if (text === undefined || text === "")
      throw usageError(`The option ${name} needs a value; pagurus --help shows one.`);
    if (name === "--server") options.server = addressOf(text);
    else options.tokenFile = text;
  }
}

function addressOf(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) return url.origin;
  throw usageError(
    `--server ${JSON.stringify(text)} is not an address; write one such as http://127.0.0.1:7117.`,
  );
}

/** The command line with its host on a server, where the command can use one. Throws `usage_invalid` where it must and cannot. */
export function withServer(cli: Cli, argv: readonly string[], options: ServerOptions): Cli {
  const [command = "", second] = argv;
  if (options.server === false) return cli;
  // An import reads files of this machine.
  const canUse = COMMANDS.has(command) && !(command === "sessions" && second === "import");
  if (!canUse && options.server !== undefined && !/^(-|help$|$)/.test(command))
    throw usageError(
      `pagurus ${command}${command === "sessions" ? " import" : ""} works on this machine alone; leave --server out.`,
    );
  if (!canUse) return cli;
  return {
    ...cli,
    isRemote: typeof options.server === "string",
    open: async (made) => {
      const connection = await connectionOf(cli, options);
      if (!connection) return cli.open(made);
      const { RemotePagurus } = await import("./remote-pagurus.ts");
      return new RemotePagurus(connection, made);
    },
  };
}

/** Undefined where no server runs for this home. Throws `usage_invalid` without a token for a named server. */
async function connectionOf(cli: Cli, options: ServerOptions): Promise<Connection | undefined> {
  const home = resolveHome(cli.env);
  const { runningServer } = await import("@pagurus/server/server-address");
  const own = runningServer(home);
  const { server: url } = options;
  if (url === undefined || url === false) return own && { url: own.url, secret: { home }, isHere: true };
  const isHere = own?.url === url;
  const secret = tokenOf(cli, options) ?? (isHere ? { home } : undefined);
  if (secret !== undefined) return { url, secret, isHere };
  await assertAnswers(url);
  throw usageError(
    `The server at ${url} needs a token: set PAGURUS_TOKEN or --token-file; pagurus token create makes one on its machine.`,
  );
}

/** Throws `server_failed` where nothing listens: a token would not help. */
async function assertAnswers(url: string): Promise<void> {
  try {
    await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
  } catch {
    throw new PagurusError(
      "server_failed",
      `The server at ${url} does not answer; check its address, and that it runs.`,
    );
  }
}

/** Throws `usage_invalid` for a file that cannot be read. */
function tokenOf({ env, cwd }: Cli, { tokenFile }: ServerOptions): string | undefined {
  if (tokenFile === undefined) return env["PAGURUS_TOKEN"] || undefined;
  try {
    return readFileSync(resolve(cwd, tokenFile), "utf8").trim();
  } catch {
    throw usageError(`The token file ${tokenFile} cannot be read; name a file that this user may read.`);
  }
}
