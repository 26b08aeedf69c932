import { InvalidArgumentError, Option, type Command } from "commander";
import { addContextOptions } from "./additional-context.ts";
import type { Act, Cli } from "./cli.ts";
import type { RunOptions, TurnOptions } from "./turn-request.ts";

const RUN_EXAMPLES = `
The text of the answer goes to standard output, tool activity and notices to standard error. A word @path in the
prompt attaches that file. What is piped in beside a prompt goes along as <stdin>…</stdin>; a pipe that gives nothing
within 100 ms is not read. --json prints every event as one line of JSON; the last line is always turn.completed
or turn.failed.

Examples:
  $ pagurus run "Summarize @README.md"
  $ git diff | pagurus run "Review this"
  $ cat error.log | pagurus run - --session debugging
  $ pagurus run "Describe it" --image shot.png --model openai/gpt-5
  $ pagurus run "Fix the failing test" --permission auto --json
  $ pagurus run "Read all of docs" --max-cost 0.50
  $ pagurus run "What fails?" --context branch=main --untrusted tab="Active tab: CI failures"

Exit codes: 0 done, 1 the turn failed, 2 bad usage or configuration, 130 interrupted.`;

const CHAT_EXAMPLES = `
Ctrl-C aborts a running turn; with none running it leaves. What you type while a turn runs joins it before its next
model call. --context, --context-file and --untrusted go along with each input; what did not change is not
sent twice. A line that ends with a backslash goes on in the next one. /help lists the commands of a chat.

Examples:
  $ pagurus chat
  $ pagurus chat --session work --model anthropic/claude-sonnet-4-5
  $ printf 'hello\\n/status\\n' | pagurus chat`;

/** A sum of US dollars above 0. */
export function dollars(text: string): number {
  const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : 0;
  if (value <= 0 || !Number.isFinite(value))
    throw new InvalidArgumentError("Give US dollars above 0, such as 0.50.");
  return value;
}

/** Options of every command that runs turns; `session` false where something else names the conversation. */
export function turnOptions(command: Command, { session = true } = {}): Command {
  if (session) command.option("-s, --session <key>", "conversation to continue or start (default: main)");
  return addContextOptions(plainOptions(command));
}

function plainOptions(command: Command): Command {
  return command
    .option("-a, --agent <id>", "agent of the configuration (default: main)")
    .option("-m, --model <ref>", "model as provider/model, for this run only")
    .option("--runtime <id>", "agent runtime, for this run only; refused where it cannot run")
    .option("-C, --cwd <dir>", "workspace folder (default: the current one)")
    .addOption(
      new Option("-p, --permission <mode>", "what tools may do without asking").choices([
        "ask",
        "deny",
        "auto",
        "read-only",
      ]),
    )
    .option(
      "--max-cost <dollars>",
      "most that a turn may cost, US dollars; a request that would exceed it is not sent",
      dollars,
    );
}

/** `run` and `chat`. */
export function addTurnCommands(program: Command, cli: Cli, act: Act): void {
  turnOptions(program.command("run"))
    .description("run one turn: a prompt in, the answer out")
    .argument("[prompt]", "the prompt; - or none reads it from standard input")
    .option(
      "-i, --image <file>",
      "attach an image; give it once for each",
      (file: string, before: string[] | undefined) => [...(before ?? []), file],
    )
    .option("--heartbeat", "a turn that the engine is told is a heartbeat")
    .option("--json", "print events, one JSON object a line")
    .addHelpText("after", RUN_EXAMPLES)
    .action((prompt: string | undefined, options: RunOptions) =>
      act(async () => (await import("./run.ts")).run(cli, prompt, options)),
    );
  turnOptions(program.command("chat"))
    .description("talk in the terminal")
    .addHelpText("after", CHAT_EXAMPLES)
    .action((options: TurnOptions) => act(async () => (await import("./chat.ts")).chat(cli, options)));
}
