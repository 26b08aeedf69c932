import { Command, CommanderError } from "commander";
import { toPagurusError } from "../contract/errors.ts";
import type { Act, Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_USAGE, reportFailure, usageError } from "./failure.ts";
import { addAcpCommand } from "./program-acp.ts";
import { addCodexCommands } from "./program-codex.ts";
import { addContextCommands, addHostCommands } from "./program-context.ts";
import { addEngineCommands } from "./program-engines.ts";
import { addLosslessCommands } from "./program-lossless.ts";
import { addMcpCommands } from "./program-mcp.ts";
import { addConfigCommands, addToolCommands } from "./program-config.ts";
import { addMigrateCommands } from "./program-migrate.ts";
import { addPluginCommands } from "./program-plugins.ts";
import { addRequestCommands } from "./program-requests.ts";
import { addRuntimeCommands } from "./program-runtimes.ts";
import { addSkillCommands } from "./program-skills.ts";
import { addSessionCommands } from "./program-sessions.ts";
import { packageVersion } from "./version.ts";
import { addTurnCommands } from "./program-turn.ts";
import { addWireCommand } from "./program-wire.ts";

const EPILOG = `
Examples:
  $ pagurus run "What does this project do?"
  $ git diff | pagurus run - --permission read-only
  $ pagurus chat --session work
  $ pagurus status

Files live in ~/.pagurus (PAGURUS_HOME). Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 130 interrupted.`;

/** The whole command tree; `act` receives what the chosen command does. */
export function buildProgram(cli: Cli, act: Act): Command {
  const program = new Command("pagurus");
  program
    .description("A host for agent turns: a conversation that outlives its agent.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help for a command")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", EPILOG);
  addTurnCommands(program, cli, act);
  addWireCommand(program, cli, act);
  addAcpCommand(program, cli, act);
  addSessionCommands(program, cli, act);
  addContextCommands(program, cli, act);
  addRequestCommands(program, cli, act);
  addHostCommands(program, cli, act);
  addLosslessCommands(program, cli, act);
  addEngineCommands(program, cli, act);
  addRuntimeCommands(program, cli, act);
  addCodexCommands(program, cli, act);
  addPluginCommands(program, cli, act);
  addSkillCommands(program, cli, act);
  addMcpCommands(program, cli, act);
  addConfigCommands(program, cli, act);
  addMigrateCommands(program, cli, act);
  addToolCommands(program, cli, act);
  prepare(program, cli);
  return program;
}

/** Settings that commander keeps for each command: throw instead of exiting, help to our streams, our widths. */
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

/** Commander's message as our sentence: without its `error:` and with a full stop. */
function usageSentence(message: string): string {
  const flat = message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .trim();
  const sentence = flat.charAt(0).toUpperCase() + flat.slice(1);
  return /[.?)]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** `run --json` answers with an event also when the command line itself is refused. */
function printsEvents(argv: readonly string[]): boolean {
  return argv[0] === "run" && argv.includes("--json");
}

/** Parses the arguments, runs the command, reports what it throws. Never throws; answers the exit code. */
export async function execute(argv: readonly string[], cli: Cli): Promise<number> {
  let code = EXIT_DONE;
  const program = buildProgram(cli, async (work) => {
    code = await work();
  });
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
