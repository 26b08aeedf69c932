import type { Command } from "commander";
import type { Act, Cli } from "./cli.ts";
import type { ConformanceOptions } from "./conformance.ts";
import type { RuntimesExplainOptions, RuntimesListOptions } from "./runtimes.ts";

const EXAMPLES = `
A runtime is the loop that executes a turn; it is chosen for each model. docs/runtimes.md tells how.

Examples:
  $ pagurus runtimes list
  $ pagurus runtimes explain openai/gpt-5.5
  $ pagurus runtimes explain openai/gpt-5.5 --runtime embedded
  $ pagurus runtimes test codex`;

const AGENT = ["-a, --agent <id>", "agent (default: main)"] as const;
const JSON_OPTION = ["--json", "print JSON"] as const;

/** `runtimes …`. */
export function addRuntimeCommands(program: Command, cli: Cli, act: Act): void {
  const runtimes = program
    .command("runtimes")
    .description("see which runtimes there are, and which one a model runs in")
    .addHelpText("after", EXAMPLES);
  const load = () => import("./runtimes.ts");
  runtimes
    .command("list")
    .description("what is registered, and whether it could run the model")
    .option("-m, --model <ref>", "model (default: the one of a run)")
    .option("--programs", "also ask the programs behind them for version and login")
    .option(...AGENT)
    .option(...JSON_OPTION)
    .action((options: RuntimesListOptions) => act(async () => (await load()).runtimesList(cli, options)));
  runtimes
    .command("explain")
    .description("which rule chose the runtime of a model, what every other rule said, and why")
    .argument("[model]", "model ref (default: the one of a run)")
    .option("--runtime <id>", "as if a run had asked for it")
    .option(...AGENT)
    .option(...JSON_OPTION)
    .action((model: string | undefined, options: RuntimesExplainOptions) =>
      act(async () => (await load()).runtimesExplain(cli, model, options)),
    );
  runtimes
    .command("test")
    .description("run the conformance suite over a runtime, in a scratch home, against a scripted model")
    .argument("<id>", "id of the runtime")
    .option("--plugin <dir>", "folder of a plugin that brings the runtime, beside those that are installed")
    .option("--only <ids>", "ids of checks, separated by commas (default: all)")
    .option("--gaps <file>", "JSON object of the checks that are known not to be met, each with its reason")
    .option(...JSON_OPTION)
    .action((id: string, options: ConformanceOptions & { plugin?: string }) =>
      act(async () => (await import("./conformance.ts")).runtimesTest(cli, id, options)),
    );
}
