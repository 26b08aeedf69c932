/** The user's MCP servers: their tools as tools of the host. One connection to each, shared by all sessions of the host. */
import type { PagurusConfig, PermissionRule } from "../../config/types.ts";
import type { PluginTool } from "../../contract/plugin.ts";
import { PagurusError } from "../../contract/errors.ts";
import type { ToolSpec } from "../../contract/tool.ts";
import { LONGEST_TIMER_MS, withDeadline } from "../../platform/deadline.ts";
import type { Logger } from "../../platform/log.ts";
import { toolName } from "./names.ts";
import { McpServer } from "./server.ts";
import type { Env } from "./settings.ts";

/** How long a turn waits for servers whose tools are not known from an earlier start, ms. */
const TURN_WAIT_MS = 10_000;

export interface McpOptions {
  config: PagurusConfig;
  home: string;
  env: Env;
  logger: Logger;
  /** How long a turn waits for servers whose tools were never listed, ms. Default 10,000. */
  waitMs?: number | undefined;
}

/** A tool of a server; `source` says of whose, for the question whether it may run. */
export type McpTool = PluginTool & { source: string };

export interface McpOffer {
  tools: readonly McpTool[];
  /** Rules for tools that the configuration lets run without a question. */
  allow: readonly PermissionRule[];
  /** A sentence for each thing that is missing. */
  problems: readonly string[];
}

/** A server as `pagurus mcp` shows it. */
export interface McpServerFact {
  name: string;
  /** What is started or called: a program with its arguments as configured, or an address without its query. */
  target: string;
  enabled: boolean;
  state: McpServer["state"];
  /** As models know them; absent while the server has never listed any. */
  tools?: ToolSpec[];
  problems: string[];
}

export class McpServers {
  readonly #servers: McpServer[];
  readonly #disabled: McpServer[];
  readonly #waitMs: number;

  /** Starts nothing and loads no library. */
  constructor({ config, waitMs = TURN_WAIT_MS, ...options }: McpOptions) {
    const all = Object.entries(config.mcp?.servers ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, server]) => new McpServer({ ...options, name, config: server }));
    this.#servers = all.filter((server) => server.config.enabled !== false);
    this.#disabled = all.filter((server) => server.config.enabled === false);
    this.#waitMs = waitMs;
  }

  /**
   * What a turn is offered. Waits only for servers whose tools were never listed, all at once and not for long; one that
   * is late is started on behind the turn. Never throws: what is missing is a problem. The same servers with the same
   * tools make the same offer.
   */
  async forTurn(signal: AbortSignal): Promise<McpOffer> {
    const late = new Set(this.#servers);
    const waiting = this.#servers.map(async (server) => {
      await server.prepare(signal);
      late.delete(server);
    });
    const ms = Math.min(this.#waitMs, LONGEST_TIMER_MS);
    // Who is late is told below, and the turn itself looks at its signal.
    await withDeadline(() => Promise.all(waiting), { ms, label: "MCP servers", signal }).catch(
      () => undefined,
    );
    const offer = this.known();
    // Who was not waited for to the end is not late.
    if (signal.aborted) return offer;
    const lateOnes = [...late].map(
      ({ name }) =>
        `The MCP server "${name}" is not ready after ${ms / 1_000} s; this turn goes on without its tools, and it is started on.`,
    );
    return { ...offer, problems: [...offer.problems, ...lateOnes] };
  }

  /** What would be offered now, without starting anything. */
  known(): McpOffer {
    const tools = new Map<string, McpTool>();
    const problems = this.#servers.flatMap((server) => server.problems);
    for (const server of this.#servers) {
      for (const spec of server.tools ?? []) {
        const tool = hostTool(server, spec);
        const taken = tools.get(tool.name);
        if (taken)
          problems.push(
            `A tool of ${tool.source} is left out, since ${taken.source} has one called ${tool.name} too.`,
          );
        else tools.set(tool.name, tool);
      }
    }
    const allowed = new Set(
      this.#servers.filter(({ config }) => config.permission === "allow").map(sourceOf),
    );
    const offered = [...tools.values()];
    return {
      tools: offered,
      allow: offered.filter(({ source }) => allowed.has(source)).map(({ name }) => ({ tool: name })),
      problems,
    };
  }

  list(): McpServerFact[] {
    return [...this.#servers, ...this.#disabled].map(factOf).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Starts a server, or takes the connection there is, and asks for its tools. Throws `mcp_failed`, `usage_invalid`. */
  async test(name: string, signal: AbortSignal): Promise<McpServerFact> {
    const server = this.require(name);
    try {
      await server.test(signal);
      return factOf(server);
    } catch (error) {
      throw new PagurusError("mcp_failed", (error as Error).message, {
        cause: error,
        details: { server: name },
      });
    }
  }

  /** Throws `usage_invalid` for one that is not configured. */
  require(name: string): McpServer {
    const server = [...this.#servers, ...this.#disabled].find((each) => each.name === name);
    if (server) return server;
    const names = this.list().map((each) => each.name);
    const known = names.length === 0 ? "none is configured" : `those configured are ${names.join(", ")}`;
    throw new PagurusError("usage_invalid", `There is no MCP server "${name}": ${known}.`);
  }

  /** Ends all of them. Never throws. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers, ...this.#disabled].map((server) => server.close()));
  }
}

function sourceOf({ name }: McpServer): string {
  return `the MCP server "${name}"`;
}

function hostTool(server: McpServer, tool: ToolSpec): McpTool {
  return {
    name: toolName(server.name, tool.name),
    description: tool.description,
    parameters: tool.parameters,
    source: sourceOf(server),
    execute: (params, { signal }) => server.call(tool.name, params, signal),
  };
}

function targetOf({ command, args = [], url }: McpServer["config"]): string {
  if (url === undefined) return [command, ...args].join(" ");
  const parsed = URL.parse(url);
  return parsed ? `${parsed.origin}${parsed.pathname}` : url;
}

function factOf(server: McpServer): McpServerFact {
  const { tools } = server;
  return {
    name: server.name,
    target: targetOf(server.config),
    enabled: server.config.enabled !== false,
    state: server.state,
    ...(tools && {
      tools: tools.map((tool) => ({ ...tool, name: toolName(server.name, tool.name) })),
    }),
    problems: server.problems,
  };
}
