import type { Command } from "commander";
import type { Act, Cli } from "./cli.ts";
import type { McpOptions } from "./mcp.ts";

const EXAMPLES = `
Servers of the Model Context Protocol are configured under mcp.servers; the model has their tools in every runtime.
docs/guides/mcp.md tells how.

Examples:
  $ pagurus mcp list
  $ pagurus mcp test github`;

const JSON_OPTION = ["--json", "print JSON"] as const;

/** `mcp …`. */
export function addMcpCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./mcp.ts");
  const mcp = program
    .command("mcp")
    .description("see the MCP servers of the configuration and try them out")
    .addHelpText("after", EXAMPLES);
  mcp
    .command("list")
    .description("every configured server, with the tools that it is known to have; starts nothing")
    .option(...JSON_OPTION)
    .action((options: McpOptions) => act(async () => (await load()).mcpList(cli, options)));
  mcp
    .command("test")
    .description("start a server, ask for its tools, and end it")
    .argument("[name]", "the server (default: every one that is enabled)")
    .option(...JSON_OPTION)
    .action((name: string | undefined, options: McpOptions) =>
      act(async () => (await load()).mcpTest(cli, name, options)),
    );
}
