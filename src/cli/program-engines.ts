import type { Command } from "commander";
import type { Act, Cli } from "./cli.ts";
import type { ConformanceOptions } from "./conformance.ts";

const EXAMPLES = `
The suite drives each member of the engine in a small host and says what the contract asks for that is not met.
docs/conformance.md has the reports of the engines that come along.

Examples:
  $ pagurus engines test ./my-engine
  $ pagurus engines test ./my-engine --only assemble.order,settle.commit`;

/** `engines …`. */
export function addEngineCommands(program: Command, cli: Cli, act: Act): void {
  const engines = program
    .command("engines")
    .description("try context engines of plugins")
    .addHelpText("after", EXAMPLES);
  engines
    .command("test")
    .description("run the conformance suite over the engines of a plugin; nothing of yours is touched")
    .argument("<dir>", "folder or file of the plugin")
    .option("--engine <id>", "only this engine of it")
    .option("--only <ids>", "ids of checks, separated by commas (default: all)")
    .option("--gaps <file>", "JSON object of the checks that are known not to be met, each with its reason")
    .option("--json", "print JSON")
    .action((dir: string, options: ConformanceOptions & { engine?: string }) =>
      act(async () => (await import("./conformance.ts")).enginesTest(cli, dir, options)),
    );
}
