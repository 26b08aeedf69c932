/*! Parts of commander: MIT License, Copyright (c) 2011 TJ Holowaychuk; the text is in node_modules/commander/LICENSE. */
import { Command, CommanderError } from "commander";
import { toPagurusError } from "@pagurus/contract/errors";
import type { Act, Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_USAGE, reportFailure, usageError } from "./cli-failure.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { peerArguments } from "./peer-arguments.ts";
import { serverOptions, withServer } from "./server/server-choice.ts";
import { systemFailure } from "./system-failure.ts";
import { addTurnCommands } from "./run/turn-command.ts";

const EPILOG = `
Examples:
  $ pagurus                                          # a chat, as pagurus chat
  $ pagurus "Fix the failing test"                   # a chat that begins with it
  $ pagurus -p "What does this project do?"          # one answer, as pagurus run
  $ git diff | pagurus run "Review this" --permission read-only
  $ pagurus --continue                               # the folder's last conversation; --resume lists them
  $ pagurus wire -- claude                           # your own agent, its conversation kept here

Files live in ~/.pagurus (PAGURUS_HOME). Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 130 interrupted.`;

/** Commands whose declarations are loaded without the others: the start of a server, and a command that other programs run often. */
const LOADED_ALONE: Readonly<Record<string, () => Promise<(program: Command, cli: Cli, act: Act) => void>>> =
  {
    setup: async () => (await import("./setup/setup-command.ts")).addSetupCommand,
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

/** Commands by their errors, which do not name them. */
const refused = new WeakMap<CommanderError, Command>();

/** Commander settings of each command: throw instead of exiting, help to our streams, our widths. */
function prepare(command: Command, cli: Cli): void {
  command.showSuggestionAfterError(false).exitOverride((error) => {
    refused.set(error, command);
    throw error;
  });
  command.configureOutput({
    writeOut: (text) => void cli.stdout.write(text),
    writeErr: (text) => void cli.stderr.write(text),
    // Errors are thrown, and printed once, by `execute`.
    outputError: () => undefined,
    getOutHelpWidth: () => Math.min(cli.stdout.columns ?? 100, 110),
    getErrHelpWidth: () => Math.min(cli.stderr.columns ?? 100, 110),
  });
  command.configureHelp({ ...command.configureHelp(), helpWidth: Math.min(cli.stdout.columns ?? 100, 110) });
  for (const child of command.commands) prepare(child, cli);
}

/** Whether the arguments ask for JSON events: `run --json` prints an event even when the command line is refused. */
function printsEvents(argv: readonly string[]): boolean {
  return argv[0] === "run" && argv.includes("--json");
}

/** The arguments as this program's; a bare call in a new home is offered `setup` first. */
async function meant(given: readonly string[], cli: Cli): Promise<readonly string[]> {
  const seated = cli.stdin.isTTY === true && cli.stdout.isTTY === true;
  const argv = peerArguments(given, seated);
  if (given.length > 0 || !seated) return argv;
  const { isNewHome } = await import("./setup/new-home.ts");
  return isNewHome(cli.env) ? ["setup", "--first"] : argv;
}

/** Parses the arguments, runs the command, reports its error. Never throws; returns the exit code. */
export async function execute(given: readonly string[], local: Cli): Promise<number> {
  let argv = given;
  let cli = local;
  try {
    const taken = serverOptions(given);
    argv = await meant(taken.argv, local);
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
  const wanted = argv[0] === "help" ? argv[1] : undefined;
  if (
    wanted !== undefined &&
    !program.commands.some((one) => [one.name(), ...one.aliases()].includes(wanted))
  ) {
    const { unknownCommand } = await import("./usage-failure.ts");
    return fail(argv, cli, usageError(unknownCommand(wanted, program)));
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(argv, cli, error);
    if (error.exitCode === 0) return EXIT_DONE;
    // A group without a subcommand (`pagurus sessions`) has printed its help by now.
    if (error.code === "commander.help") return EXIT_USAGE;
    const { usageSentence } = await import("./usage-failure.ts");
    return fail(argv, cli, usageError(usageSentence(error, refused.get(error) ?? program)));
  }
}

function fail(argv: readonly string[], cli: Cli, error: unknown): number {
  if (printsEvents(argv)) {
    const { code, message } = systemFailure(error) ?? toPagurusError(error);
    cli.stdout.write(`${JSON.stringify({ type: "turn.failed", error: { code, message }, degraded: [] })}\n`);
  }
  return reportFailure(cli, error);
}
