/** `pagurus mcp`: lists and tests the configured servers. */
import type { McpServerFact, McpServers } from "@pagurus/app/commands-own";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine, table } from "@pagurus/host/command/layout";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { toPagurusError } from "@pagurus/contract/errors";
import { type Cli, printJson, printLine, styleFor } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED } from "../cli-failure.ts";
import { documentPath } from "@pagurus/core/platform/document";

export interface McpOptions {
  json?: boolean;
}

type Tested = { fact: McpServerFact; milliseconds: number } | { name: string; problem: string };

const TARGET_CHARACTERS = 60;
const DESCRIPTION_CHARACTERS = 80;
const PROBLEM_CHARACTERS = 500;

/** Does the work with the servers of the user's configuration, and ends them. */
export async function withServers(cli: Cli, work: (servers: McpServers) => Promise<number>): Promise<number> {
  const home = resolveHome(cli.env);
  const { loadMcpServers } = await import("@pagurus/app/commands-own");
  const mcpServers = await loadMcpServers();
  const servers = mcpServers({ config: loadConfig({ home }).config, home, env: cli.env, logins: true });
  try {
    return await work(servers);
  } finally {
    await servers.close();
  }
}

/** `mcp list`. */
export function mcpList(cli: Cli, options: McpOptions): Promise<number> {
  return withServers(cli, async (servers) => {
    const facts = servers.list();
    if (options.json === true) printJson(cli, facts);
    else if (facts.length === 0)
      printLine(cli.stdout, `No MCP server is configured; to add one, see ${documentPath("guides/mcp.md")}`);
    else {
      const style = styleFor(cli.stdout, cli.env);
      const [head = "", ...lines] = table(
        ["Server", "Enabled", "Login", "Tools", "Target"],
        facts.map(({ name, enabled, login, tools, target }) => [
          oneLine(name, TARGET_CHARACTERS),
          enabled ? "yes" : "no",
          login ?? "-",
          tools ? String(tools.length) : "not known yet",
          oneLine(target, TARGET_CHARACTERS),
        ]),
      );
      printLine(cli.stdout, style("bold", head));
      for (const line of lines) printLine(cli.stdout, line);
    }
    return EXIT_DONE;
  });
}

async function tested(servers: McpServers, name: string, signal: AbortSignal): Promise<Tested> {
  const started = performance.now();
  try {
    const fact = await servers.test(name, signal);
    return { fact, milliseconds: Math.round(performance.now() - started) };
  } catch (error) {
    return { name, problem: toPagurusError(error).message };
  }
}

function printTested(cli: Cli, result: Tested): void {
  const style = styleFor(cli.stdout, cli.env);
  if ("problem" in result) {
    printLine(cli.stdout, style("red", oneLine(result.problem, PROBLEM_CHARACTERS)));
    return;
  }
  const { name, tools = [], problems } = result.fact;
  const title = `${oneLine(name, TARGET_CHARACTERS)}: ${plural(tools.length, "tool")}, ready after ${result.milliseconds} ms`;
  printLine(cli.stdout, style("bold", title));
  for (const tool of tools)
    printLine(
      cli.stdout,
      `  ${tool.name}  ${style("dim", oneLine(tool.description, DESCRIPTION_CHARACTERS))}`,
    );
  for (const problem of problems)
    printLine(cli.stdout, style("yellow", oneLine(problem, PROBLEM_CHARACTERS)));
}

/** `mcp test`. Exit 1 when a server fails. Throws `usage_invalid` for one that is not configured. */
export function mcpTest(cli: Cli, name: string | undefined, options: McpOptions): Promise<number> {
  return withServers(cli, async (servers) => {
    if (name !== undefined) servers.require(name);
    const enabled = servers.list().filter((fact) => fact.enabled);
    const names = name === undefined ? enabled.map((fact) => fact.name) : [name];
    const stop = new AbortController();
    const release = cli.onInterrupt(() => {
      if (stop.signal.aborted) cli.exit(EXIT_INTERRUPTED);
      stop.abort();
    });
    try {
      const results = await Promise.all(names.map((each) => tested(servers, each, stop.signal)));
      if (options.json === true) printJson(cli, results);
      else if (results.length === 0)
        printLine(cli.stdout, "No MCP server is configured and enabled; add one under mcp.servers.");
      else for (const result of results) printTested(cli, result);
      if (stop.signal.aborted) return EXIT_INTERRUPTED;
      return results.some((result) => "problem" in result) ? EXIT_FAILED : EXIT_DONE;
    } finally {
      release();
    }
  });
}
