/*! Parts of commander: MIT License, Copyright (c) 2011 TJ Holowaychuk; the text is in node_modules/commander/LICENSE. */
import { Command, CommanderError } from "commander";
import { toPagurusError } from "@pagurus/contract/errors";
import type { Act, Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_USAGE, reportFailure, usageError } from "./cli-failure.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { serverOptions, withServer } from "./server/server-choice.ts";
import { addTurnCommands } from "./run/turn-command.ts";

const EPILOG = `
Examples:
  $ pagurus                                          # a chat, as pagurus chat
  $ pagurus run "What does this project do?"
  $ git diff | pagurus run - --permission read-only
  $ pagurus chat --session work
  $ pagurus status

Files live in ~/.pagurus (PAGURUS_HOME). Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 130 interrupted.`;

/** Commands whose declarations are loaded without the others: the start of a server, and a command that other programs run often. */
const LOADED_ALONE: Readonly<Record<string, () => Promise<(program: Command, cli: Cli, act: Act) => void>>> =
  {
    serve: async () => (await import("./server/serve-command.ts")).addServerCommands,
    status: async () => (await import("./context/context-command.ts")).addHostCommands,
  };

/**
 * Builds the command tree; `act` receives the action of the chosen command. For a turn, the most frequent command, the other
 * declarations are not loaded.
 */
export async function buildProgram(cli: Cli, act: Act, first?: string): Promise<Command> {
  const program = new Command("pagurus");
  program
    .description("A host for agent turns: a conversation that outlives its agent.")
    .version(packageVersion(), "-V, --version", "print the version")
    // `execute` takes them off the arguments; here they are for the help.
    .option("--server <url>", "run the command on this server (default: the one that runs for this home)")
    .option("--no-server", "run it in this process, also where a server runs")
    .option("--token-file <file>", "file with the server's token (default: PAGURUS_TOKEN)")
    .helpOption("-h, --help", "show help for a command")
    .enablePositionalOptions()
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", EPILOG);
  addTurnCommands(program, cli, act);
  if (!program.commands.some((command) => command.name() === first)) {
    const add = first !== undefined && Object.hasOwn(LOADED_ALONE, first) ? LOADED_ALONE[first] : undefined;
    (add ? await add() : (await import("./other-commands.ts")).addOtherCommands)(program, cli, act);
  }
  prepare(program, cli);
  return program;
}

/** Commander settings of each command: throw instead of exiting, help to our streams, our widths. */
function prepare(command: Command, cli: Cli): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.stdout.write(text),
    writeErr: (text) => void cli.stderr.write(text),
    // Errors are thrown, and printed once, by `execute`.
    outputError: () => undefined,
    getOutHelpWidth: () => Math.min(cli.stdout.columns ?? 100, 110),
    getErrHelpWidth: () => Math.min(cli.stderr.columns ?? 100, 110),
  });
  command.configureHelp({ helpWidth: Math.min(cli.stdout.columns ?? 100, 110) });
  for (const child of command.commands) prepare(child, cli);
}

/** Rewrites commander's message as our sentence: without its `error:` and with a full stop. */
function usageSentence(message: string): string {
  const flat = message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .trim();
  const sentence = flat.charAt(0).toUpperCase() + flat.slice(1);
  return /[.?)]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Whether the arguments ask for JSON events: `run --json` prints an event even when the command line is refused. */
function printsEvents(argv: readonly string[]): boolean {
  return argv[0] === "run" && argv.includes("--json");
}

/** The arguments, or `chat` for none at a terminal. */
function meant(argv: readonly string[], cli: Cli): readonly string[] {
  const seated = cli.stdin.isTTY === true && cli.stdout.isTTY === true;
  return argv.length === 0 && seated ? ["chat"] : argv;
}

/** Parses the arguments, runs the command, reports its error. Never throws; returns the exit code. */
export async function execute(given: readonly string[], local: Cli): Promise<number> {
  let argv = given;
  let cli = local;
  try {
    const taken = serverOptions(given);
    argv = meant(taken.argv, local);
    cli = withServer(local, argv, taken.options);
  } catch (error) {
    return fail(argv, local, error);
  }
  let code = EXIT_DONE;
  const act: Act = async (work) => {
    code = await work();
  };
  const program = await buildProgram(cli, act, argv[0]);
  if (argv.length === 0) {
    cli.stderr.write(program.helpInformation());
    return EXIT_USAGE;
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(argv, cli, error);
    if (error.exitCode === 0) return EXIT_DONE;
    // A group without a subcommand (`pagurus sessions`) has printed its help by now.
    if (error.code === "commander.help") return EXIT_USAGE;
    return fail(argv, cli, usageError(usageSentence(error.message)));
  }
}

function fail(argv: readonly string[], cli: Cli, error: unknown): number {
  if (printsEvents(argv)) {
    const { code, message } = toPagurusError(error);
    cli.stdout.write(`${JSON.stringify({ type: "turn.failed", error: { code, message }, degraded: [] })}\n`);
  }
  return reportFailure(cli, error);
}
