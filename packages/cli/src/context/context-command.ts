import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { ContextDiffOptions, ContextPreviewOptions, ContextShowOptions } from "./context-work.ts";
import { positive } from "../sessions/sessions-command.ts";
import type { CompactOptions, StatusOptions } from "../status-work.ts";

const EXAMPLES = `
Examples:
  $ pagurus context show
  $ pagurus context show --request 12
  $ pagurus context diff --session work
  $ pagurus context preview
  $ pagurus context preview --prompt "What next?" --budget 8000`;

const SESSION = ["-s, --session <key>", "conversation (default: the folder's last)"] as const;
const AGENT = ["-a, --agent <id>", "agent (default: main)"] as const;
const CWD = ["-C, --cwd <dir>", "workspace folder (default: the current one)"] as const;
const JSON_OPTION = ["--json", "print JSON"] as const;

/** `context …`. */
export function addContextCommands(program: Command, cli: Cli, act: Act): void {
  const context = program
    .command("context")
    .description("show what was sent to the model, and what would be")
    .addHelpText("after", EXAMPLES);
  const load = () => import("./context-work.ts");
  context
    .command("show")
    .description("receipts of a turn: each request with its parts, tokens and cost")
    .option(...SESSION)
    .option(...AGENT)
    .option("-t, --turn <id>", "turn (default: the newest)")
    .option("--request <n>", "the captured request of this number, exactly as it was sent", positive)
    .option(...JSON_OPTION)
    .action((options: ContextShowOptions) => act(async () => (await load()).contextShow(cli, options)));
  context
    .command("diff")
    .description("what changed between two requests (default: the last two)")
    .option(...SESSION)
    .option(...AGENT)
    .option("--from <turn>", "earlier turn (its last request) or turn:request")
    .option("--to <turn>", "later turn (its last request) or turn:request")
    .option(...JSON_OPTION)
    .action((options: ContextDiffOptions) => act(async () => (await load()).contextDiff(cli, options)));
  context
    .command("preview")
    .description("the context that would be assembled now; nothing is sent or stored")
    .option(...SESSION)
    .option(...AGENT)
    .option("--prompt <text>", "the prompt to assemble for (default: none, the context before it)")
    .option("--budget <n>", "token budget instead of the model's", positive)
    .option("--exact", "also count tokens exactly (needs the optional gpt-tokenizer)")
    .option(...CWD)
    .option(...JSON_OPTION)
    .action((options: ContextPreviewOptions) => act(async () => (await load()).contextPreview(cli, options)));
}

/** `status` and `compact`. */
export function addHostCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("../status-work.ts");
  program
    .command("status")
    .description("what would run: model, runtime, engine, context; and recent problems")
    .option(...SESSION)
    .option(...AGENT)
    .option(...CWD)
    .option(...JSON_OPTION)
    .action((options: StatusOptions) => act(async () => (await load()).status(cli, options)));
  program
    .command("compact")
    .description("summarize the older part of a conversation now; the transcript keeps its text")
    .argument("[focus]", "what the summary should focus on")
    .option(...SESSION)
    .option(...AGENT)
    .option(...CWD)
    .option(...JSON_OPTION)
    .action((focus: string | undefined, options: CompactOptions) =>
      act(async () => (await load()).compact(cli, focus, options)),
    );
}
