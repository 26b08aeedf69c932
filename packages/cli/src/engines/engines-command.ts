import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { ConformanceOptions } from "./conformance-work.ts";
import { documentPath } from "@pagurus/core/platform/document";

const EXAMPLES = `
The suite drives each member of the engine in a small host and reports violations of the contract.
Reports of the bundled engines:
${documentPath("conformance.md")}

Examples:
  $ pagurus engines test ./my-engine
  $ pagurus engines test ./my-engine --only assemble.order,settle.commit`;

/** `engines …`. */
export function addEngineCommands(program: Command, cli: Cli, act: Act): void {
  const engines = program
    .command("engines")
    .description("test context engines of plugins")
    .addHelpText("after", EXAMPLES);
  engines
    .command("test")
    .description("run the conformance suite over the engines of a plugin; nothing of yours is touched")
    .argument("<dir>", "folder or file of the plugin")
    .option("--engine <id>", "only this engine of the plugin")
    .option("--only <ids>", "ids of checks, separated by commas (default: all)")
    .option("--gaps <file>", "JSON object of known gaps: check ids, each with its reason")
    .option(...JSON_OPTION)
    .action((dir: string, options: ConformanceOptions & { engine?: string }) =>
      act(async () => (await import("./conformance-work.ts")).enginesTest(cli, dir, options)),
    );
}
