import { AGENT_OPTION, JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { ConformanceOptions } from "../engines/conformance-work.ts";
import type { RuntimesExplainOptions, RuntimesListOptions } from "./runtimes-work.ts";
import { documentPath } from "@pagurus/core/platform/document";

const EXAMPLES = `
A runtime is the loop that executes a turn; it is chosen for each model. See
${documentPath("runtimes.md")}

Examples:
  $ pagurus runtimes list
  $ pagurus runtimes explain openai/gpt-5.5
  $ pagurus runtimes explain openai/gpt-5.5 --runtime embedded
  $ pagurus runtimes test codex
  $ pagurus runtimes test pi`;

/** `runtimes …`. */
export function addRuntimeCommands(program: Command, cli: Cli, act: Act): void {
  const runtimes = program
    .command("runtimes")
    .description("list runtimes, and explain which one a model runs in")
    .addHelpText("after", EXAMPLES);
  const load = () => import("./runtimes-work.ts");
  runtimes
    .command("list")
    .description("the registered runtimes, and whether each could run the model")
    .option("-m, --model <ref>", "model (default: that of a run)")
    .option("--programs", "also query their programs for version and login")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: RuntimesListOptions) => act(async () => (await load()).runtimesList(cli, options)));
  runtimes
    .command("explain")
    .description("which rule chose the runtime of a model, and the result of every other rule")
    .argument("[model]", "model ref (default: that of a run)")
    .option("--runtime <id>", "as if a run had requested it")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((model: string | undefined, options: RuntimesExplainOptions) =>
      act(async () => (await load()).runtimesExplain(cli, model, options)),
    );
  runtimes
    .command("test")
    .description(
      "run the conformance suite over a runtime or program, in a scratch home, against a scripted model",
    )
    .argument(
      "<id>",
      "id of the runtime, or the name or path of a program that Pagurus runs, wraps or serves",
    )
    .option("--plugin <dir>", "folder of a plugin that provides the runtime, besides the installed ones")
    .option("--only <ids>", "ids of checks, separated by commas (default: all)")
    .option("--gaps <file>", "JSON object of known gaps: check ids, each with its reason")
    .option(...JSON_OPTION)
    .action((id: string, options: ConformanceOptions & { plugin?: string }) =>
      act(async () => (await import("../engines/conformance-work.ts")).runtimesTest(cli, id, options)),
    );
}
