import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import { CWD_OPTION } from "../shared-options.ts";
import { InvalidArgumentError, Option, type Command } from "commander";
import { addContextOptions } from "./additional-context.ts";
import type { Act, Cli } from "../cli.ts";
import type { RunOptions, TurnOptions } from "./turn-request.ts";

const RUN_EXAMPLES = `
The text of the answer goes to standard output, tool activity and notices to standard error. A word @path in the
prompt attaches that file. Text piped in beside a prompt is sent as <stdin>…</stdin>; a pipe that sends nothing
within 100 ms is not read. --json prints every event as one line of JSON; the last line is always turn.completed
or turn.failed.

Examples:
  $ pagurus run "Summarize @README.md"
  $ git diff | pagurus run "Review this"
  $ cat error.log | pagurus run - --session debugging
  $ pagurus run "Describe it" --image shot.png --model openai/gpt-5
  $ pagurus run "Another thing" --new
  $ pagurus run "Fix the failing test" --permission auto --json
  $ pagurus run "Read all of docs" --max-cost 0.50
  $ pagurus run "What fails?" --context branch=main --untrusted tab="Active tab: CI failures"

Exit codes: 0 done, 1 the turn failed, 2 bad usage or configuration, 130 interrupted.`;

const CHAT_EXAMPLES = `
Ctrl-C aborts a running turn; at an empty line a second one leaves, and Ctrl-D leaves at once. What you type while a turn runs joins it before its next
model call. --context, --context-file and --untrusted are sent with each input; unchanged values are not
sent twice. A line that ends with a backslash continues in the next one. /help lists the commands of a chat.

Examples:
  $ pagurus chat
  $ pagurus chat --new
  $ pagurus chat --session work --model anthropic/claude-sonnet-4-5
  $ printf 'hello\\n/status\\n' | pagurus chat`;

const TRUST = "let files of the folder decide, in this run (pagurus trust)";

/** Parses an amount of US dollars above 0. */
export function parseDollars(text: string): number {
  const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : 0;
  if (value <= 0 || !Number.isFinite(value))
    throw new InvalidArgumentError("Use US dollars above 0, such as 0.50.");
  return value;
}

/** Options of every command that runs turns; `session` false where the conversation is named otherwise. */
export function turnOptions(command: Command, { session = true } = {}): Command {
  if (session) choiceOptions(command);
  return addContextOptions(plainOptions(command));
}

/** Options that choose the conversation; default: the folder's. */
function choiceOptions(command: Command): Command {
  return command
    .option(
      "-s, --session <key>",
      "conversation of this key, created if there is none (default: the folder's last)",
    )
    .option("--new", "start another conversation of this folder")
    .option("--continue [key]", "continue the folder's last conversation, or the one of this key");
}

function plainOptions(command: Command): Command {
  return command
    .option("-a, --agent <id>", "agent of the configuration (default: main)")
    .option("-m, --model <ref>", "model as provider/model, for this run only")
    .option("--runtime <id>", "agent runtime, for this run only; refused where it cannot run")
    .option(...CWD_OPTION)
    .addOption(
      new Option("-p, --permission <mode>", "what tools may do without asking").choices(PERMISSION_MODES),
    )
    .addOption(
      new Option("--thinking <level>", "how much the model thinks, where it can").choices([
        "off",
        "low",
        "medium",
        "high",
      ]),
    )
    .option(
      "--max-cost <dollars>",
      "maximum cost of a turn, US dollars; a request that would exceed it is not sent",
      parseDollars,
    );
}

/** `run --continue "Fix it"`: a value with spaces is the prompt, since a key has none. */
function promptAndOptions<T extends TurnOptions>(
  prompt: string | undefined,
  options: T,
): [prompt: string | undefined, options: T] {
  const { continue: named } = options;
  if (prompt !== undefined || typeof named !== "string" || !/\s/.test(named)) return [prompt, options];
  return [named, { ...options, continue: true }];
}

/** `run` and `chat`. */
export function addTurnCommands(program: Command, cli: Cli, act: Act): void {
  turnOptions(program.command("run"))
    .description("run one turn: a prompt in, the answer out")
    .argument("[prompt]", "the prompt; - or none reads it from standard input")
    .option(
      "-i, --image <file>",
      "attach an image; repeatable",
      (file: string, before: string[] | undefined) => [...(before ?? []), file],
    )
    .option("--trust", TRUST)
    .option("--heartbeat", "mark the turn as a heartbeat for the engine")
    .option("--json", "print events, one JSON object per line")
    .addHelpText("after", RUN_EXAMPLES)
    .action((prompt: string | undefined, options: RunOptions) =>
      act(async () => (await import("./run-work.ts")).run(cli, ...promptAndOptions(prompt, options))),
    );
  turnOptions(program.command("chat"))
    .description("chat in the terminal")
    .argument("[prompt]", "the first input; more follow")
    .option(
      "--plain",
      "lines in place of the full terminal, for a screen reader; PAGURUS_PLAIN=1 does the same",
    )
    .option("--trust", TRUST)
    .addHelpText("after", CHAT_EXAMPLES)
    .action((prompt: string | undefined, options: TurnOptions) =>
      act(async () => {
        const [first, chosen] = promptAndOptions(prompt, options);
        return (await import("../chat/chat-loop.ts")).chat(cli, chosen, { prompt: first });
      }),
    );
}
