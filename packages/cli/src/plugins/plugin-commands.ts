import { Console } from "node:console";
import { Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { PluginLogger } from "@pagurus/contract/host/plugin";
import { findKnown } from "@pagurus/host/plugin/install/manage";
import { type Cli, type OutputStream, printLine, withPagurus } from "../cli.ts";
import { EXIT_DONE, EXIT_USAGE, usageError } from "../cli-failure.ts";

/** `plugin <id> …`: builds the plugin's own command tree and runs it. Exit code: what the plugin sets, 2 for bad usage. */
export function pluginCommands(cli: Cli, id: string | undefined, rest: readonly string[]): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    if (id === undefined || id === "--help" || id === "-h") return listed(cli, pagurus);
    const registrars = pagurus.plugins.cli(id);
    if (registrars.length === 0) throw noCommands(cli, pagurus, id);
    const program = new Command(`pagurus plugin ${id}`);
    const { config } = loadConfig({ home: resolveHome(cli.env) });
    const context = { program, config, workspaceDir: cli.cwd, logger: loggerTo(cli.stderr) };
    for (const register of registrars) await register(context);
    redirect(program, cli);
    if (rest.length === 0) {
      cli.stdout.write(program.helpInformation());
      return EXIT_DONE;
    }
    return await withOwnConsole(cli, () => parsed(program, id, rest));
  });
}

function listed(cli: Cli, pagurus: Pagurus): number {
  const ids = pagurus.plugins.withCli();
  if (ids.length === 0) printLine(cli.stdout, "No loaded plugin has commands of its own.");
  for (const id of ids) printLine(cli.stdout, `pagurus plugin ${id}`);
  return EXIT_DONE;
}

function noCommands(cli: Cli, pagurus: Pagurus, id: string): Error {
  const { failure } = pagurus.plugins.facts().find((fact) => fact.id === id) ?? {};
  if (failure !== undefined)
    return new PagurusError("plugin_failed", `The plugin ${id} failed: ${failure}`, {
      details: { plugin: id },
    });
  // Throws for an unknown plugin.
  findKnown(resolveHome(cli.env), id);
  const others = pagurus.plugins.withCli().join(", ") || "none";
  return usageError(
    `The plugin ${id} is not loaded or has no commands of its own (plugins with commands: ${others}); see pagurus plugins info ${id}.`,
  );
}

async function parsed(program: Command, id: string, rest: readonly string[]): Promise<number> {
  const before = process.exitCode;
  try {
    await program.parseAsync([...rest], { from: "user" });
    const set = process.exitCode;
    return typeof set === "number" ? set : EXIT_DONE;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw failed(id, error);
    if (error.exitCode === 0) return EXIT_DONE;
    if (error.code === "commander.help") return EXIT_USAGE;
    throw usageError(
      `${error.message.replace(/^error: /, "").replace(/\.$/, "")}; see pagurus plugin ${id} --help.`,
    );
  } finally {
    process.exitCode = before;
  }
}

function failed(id: string, error: unknown): PagurusError {
  const { message } = toPagurusError(error);
  return new PagurusError("internal", `The plugin ${id} failed: ${message}`, {
    cause: error,
    details: { plugin: id },
  });
}

/** Makes commander throw instead of exiting, and write to our streams. */
function redirect(command: Command, cli: Cli): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.stdout.write(text),
    writeErr: (text) => void cli.stderr.write(text),
    // Errors are thrown, and printed once, by the caller.
    outputError: () => undefined,
  });
  for (const child of command.commands) redirect(child, cli);
}

/** While its command runs, the plugin's output is the command's output. */
async function withOwnConsole<T>(cli: Cli, work: () => Promise<T>): Promise<T> {
  const before = { ...console };
  Object.assign(console, new Console(streamTo(cli.stdout), streamTo(cli.stderr)));
  try {
    return await work();
  } finally {
    Object.assign(console, before);
  }
}

function streamTo(stream: OutputStream): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, _encoding, done) => {
      stream.write(chunk);
      done();
    },
  });
}

function loggerTo(stream: OutputStream): PluginLogger {
  const say = (message: string): void => printLine(stream, message);
  return { debug: () => undefined, info: say, warn: say, error: say };
}
