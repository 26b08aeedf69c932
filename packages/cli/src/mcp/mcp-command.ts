import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { LoginOptions } from "./mcp-login.ts";
import type { McpServeOptions } from "./mcp-serve.ts";
import type { McpOptions } from "./mcp-work.ts";
import { documentPath } from "@pagurus/core/platform/document";

const EXAMPLES = `
Servers of the Model Context Protocol are configured under mcp.servers; the model has their tools in every runtime.
See ${documentPath("guides/mcp.md")}

Examples:
  $ pagurus mcp list
  $ pagurus mcp test github
  $ pagurus mcp login tracker
  $ claude mcp add pagurus -- pagurus mcp serve   # the kept conversations of a folder, for any MCP client`;

/** `mcp …`. */
export function addMcpCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./mcp-work.ts");
  const mcp = program
    .command("mcp")
    .description("list, test and log in to the configured MCP servers; serve the kept conversations as one")
    .addHelpText("after", EXAMPLES);
  mcp
    .command("list")
    .description("every configured server, with its known tools; starts nothing")
    .option(...JSON_OPTION)
    .action((options: McpOptions) => act(async () => (await load()).mcpList(cli, options)));
  mcp
    .command("test")
    .description("start a server, list its tools, and stop it")
    .argument("[name]", "the server (default: every one that is enabled)")
    .option(...JSON_OPTION)
    .action((name: string | undefined, options: McpOptions) =>
      act(async () => (await load()).mcpTest(cli, name, options)),
    );
  mcp
    .command("serve")
    .description(
      "serve the kept conversations of this folder to an MCP client, over standard input and output",
    )
    .option("--folder <path>", "the folder whose conversations are served (default: the current one)")
    .option("--all", "serve the conversations of every folder")
    .option("--agent <id>", "the agent whose conversations are served")
    .action((options: McpServeOptions) =>
      act(async () => (await import("./mcp-serve.ts")).mcpServe(cli, options)),
    );
  const login = () => import("./mcp-login.ts");
  mcp
    .command("login <name>")
    .description("log in to a server at an address, in your browser")
    .option("--no-browser", "print the address of the login page instead of opening it")
    .option("--device", "log in by a code that you enter on another device, where this is offered")
    .action((name: string, options: LoginOptions) =>
      act(async () => (await login()).mcpLogin(cli, name, options)),
    );
  mcp
    .command("logout <name>")
    .description("forget the login to a server")
    .action((name: string) => act(async () => (await login()).mcpLogout(cli, name)));
}
