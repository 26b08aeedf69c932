import { AGENT_OPTION, CWD_OPTION, JSON_OPTION, SESSION_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { ContextDiffOptions, ContextPreviewOptions, ContextShowOptions } from "./context-work.ts";
import type { ContextReplayOptions } from "./replay-work.ts";
import { positive } from "../sessions/sessions-command.ts";
import type { CompactOptions, StatusOptions } from "../status-work.ts";

const EXAMPLES = `
Examples:
  $ pagurus context show
  $ pagurus context show --request 12
  $ pagurus context diff --session work
  $ pagurus context preview
  $ pagurus context preview --prompt "What next?" --budget 8000
  $ pagurus context replay ~/.claude/projects --engine lossless --engine legacy
  $ pagurus context replay main --window 200000 --save figures.json
  $ pagurus context replay sessions/ --engine ./my-engine --baseline figures.json`;

const REPLAYED = `
A replay reads sessions of pagurus, Claude Code, Codex and pi, passes them to each engine as a host does, and calls no
model; nothing of yours is written. An engine is "lossless", "legacy", one of a configured plugin, or the path of a
plugin. The figures:
  context, token equivalents  what is sent; read from a provider's cache at 0.1, written at 1.25
  broken prefixes             prompts that change what is cached although the epoch is the same
  next action                 strings in the arguments of the tool call that came next, verbatim in the context;
                              far: last seen more than 30 blocks ago
  after N compactions         decisions, commands, paths, error lines and numbers in the context, or in the answer
                              to one call of the engine's search tool
With --baseline the exit code is 1 when a figure is worse than in the file that --save wrote.`;

function collected(value: string, before: string[] = []): string[] {
  return [...before, value];
}

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
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("-t, --turn <id>", "turn (default: the newest)")
    .option("--request <n>", "the captured request of this number, exactly as it was sent", positive)
    .option(...JSON_OPTION)
    .action((options: ContextShowOptions) => act(async () => (await load()).contextShow(cli, options)));
  context
    .command("diff")
    .description("what changed between two requests (default: the last two)")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("--from <turn>", "earlier turn (its last request) or turn:request")
    .option("--to <turn>", "later turn (its last request) or turn:request")
    .option(...JSON_OPTION)
    .action((options: ContextDiffOptions) => act(async () => (await load()).contextDiff(cli, options)));
  context
    .command("preview")
    .description("the context that would be assembled now; nothing is sent or stored")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("--prompt <text>", "the prompt to assemble for (default: none, the context before it)")
    .option("--budget <n>", "token budget instead of the model's", positive)
    .option("--exact", "also count tokens exactly (needs the optional gpt-tokenizer)")
    .option(...CWD_OPTION)
    .option(...JSON_OPTION)
    .action((options: ContextPreviewOptions) => act(async () => (await load()).contextPreview(cli, options)));
  context
    .command("replay")
    .description("figures about the contexts of sessions with one engine or several, without a model")
    .argument("<session>", "session file, folder of them, or session key")
    .option("-e, --engine <engine>", "engine, repeatable (default: the configured one)", collected)
    .option("--window <n>", "tokens of the model's window", positive, 64_000)
    .option("--baseline <file>", "compare with saved figures; exit code 1 when one is worse")
    .option("--save <file>", "write the figures to a file")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .addHelpText("after", REPLAYED)
    .action((target: string, options: ContextReplayOptions) =>
      act(async () => (await import("./replay-work.ts")).contextReplay(cli, target, options)),
    );
}

/** `status` and `compact`. */
export function addHostCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("../status-work.ts");
  program
    .command("status")
    .description("what would run: model, runtime, engine, context; and recent problems")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...CWD_OPTION)
    .option(...JSON_OPTION)
    .action((options: StatusOptions) => act(async () => (await load()).status(cli, options)));
  program
    .command("compact")
    .description("summarize the older part of a conversation now; the transcript keeps its text")
    .argument("[focus]", "what the summary should focus on")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...CWD_OPTION)
    .option(...JSON_OPTION)
    .action((focus: string | undefined, options: CompactOptions) =>
      act(async () => (await load()).compact(cli, focus, options)),
    );
}
