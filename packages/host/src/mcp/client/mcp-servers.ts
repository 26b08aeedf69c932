/** The user's MCP servers: their tools as tools of the host. All sessions of the host share one connection to each. */
import { errorText } from "@pagurus/core/data/error-text";
import { FolderTrust } from "@pagurus/core/config/folder-trust";
import type { PagurusConfig, PermissionRule } from "@pagurus/core/config/config-types";
import type { PluginTool } from "@pagurus/contract/host/plugin";
import { PagurusError } from "@pagurus/contract/errors";
import type { ToolOutcome, ToolSpec } from "@pagurus/contract/harness/tool";
import type { CatalogTool } from "./mcp-catalog.ts";
import { LONGEST_TIMER_MS, withDeadline } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { toolName } from "./names.ts";
import { McpServer, type CallContext } from "./mcp-server.ts";
import type { Env, HttpSettings, ServerSettings } from "./mcp-settings.ts";
import { cleanLine } from "./mcp-words.ts";
import type { LoginResult } from "./oauth/log-in.ts";
import type { LoginRequest } from "./oauth/login-request.ts";
import { LoginFailed } from "./oauth/login-errors.ts";
import { LoginStore } from "./oauth/login-store.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** How long a turn waits for servers whose tools are not cached, ms. */
const TURN_WAIT_MS = 10_000;
/** Characters quoted from the reason of a failed login. */
const MOST_WORDS = 500;

export interface McpOptions {
  config: PagurusConfig;
  home: string;
  env: Env;
  logger: Logger;
  /** How long a turn waits for servers whose tools were never listed, ms. Default 10,000. */
  waitMs?: number | undefined;
  /** `--trust`. */
  trustFolders?: boolean | undefined;
  /** The configuration is the user's own, so that its servers use the logins of `pagurus mcp login`. Default false. */
  logins?: boolean | undefined;
}

/**
 * Folder of programs without a `cwd`: the current one if the user trusts it, else the home of Pagurus. In the current one `npx` and
 * relative paths would find programs of whoever wrote the folder.
 */
function startFolder({ config, home, trustFolders }: McpOptions): string {
  const here = currentFolder();
  const trust = new FolderTrust({ home, folders: config.trust?.folders, all: trustFolders });
  return trust.isTrusted(here) ? here : home;
}

/** A tool of a server; `source` names the server, for the permission check. */
export type McpTool = Omit<PluginTool, "execute"> & {
  source: string;
  execute(params: Record<string, unknown>, context: CallContext): Promise<ToolOutcome>;
};

export interface McpOffer {
  tools: readonly McpTool[];
  /** Rules for tools that the configuration allows without a permission prompt. */
  allow: readonly PermissionRule[];
  /** One sentence for each missing part. */
  problems: readonly string[];
}

/** A server as `pagurus mcp` shows it. */
export interface McpServerFact {
  name: string;
  /** What is started or called: a program with its arguments as configured, or an address without its query. */
  target: string;
  enabled: boolean;
  state: McpServer["state"];
  /** Under the names that models see; absent while the server has never listed any. */
  tools?: ToolSpec[];
  /** Absent for a server that needs none, as far as is known. */
  login?: "logged in" | "needed";
  problems: string[];
}

export class McpServers {
  readonly #servers: McpServer[];
  readonly #disabled: McpServer[];
  readonly #waitMs: number;
  readonly #home: string;

  /** Starts no program and loads no library. */
  constructor(given: McpOptions) {
    const { config, waitMs = TURN_WAIT_MS, home, env, logger, logins } = given;
    const options = { home, env, logger, logins, startIn: startFolder(given) };
    const all = Object.entries(config.mcp?.servers ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, server]) => new McpServer({ ...options, name, config: server }));
    this.#servers = all.filter((server) => server.isEnabled);
    this.#disabled = all.filter((server) => !server.isEnabled);
    this.#waitMs = waitMs;
    this.#home = home;
  }

  /**
   * The tools of a turn. Waits only for servers whose tools were never listed, in parallel and within the timeout; a late one
   * continues to start in the background. Never throws: what is missing is a problem. The same servers with the same tools
   * make the same offer.
   */
  async forTurn(signal: AbortSignal): Promise<McpOffer> {
    const late = new Set(this.#servers);
    const waiting = this.#servers.map(async (server) => {
      await server.prepare(signal);
      late.delete(server);
    });
    const ms = Math.min(this.#waitMs, LONGEST_TIMER_MS);
    // Late servers are reported below; the turn checks its own signal.
    await withDeadline(() => Promise.all(waiting), { ms, label: "MCP servers", signal }).catch(
      () => undefined,
    );
    const offer = this.known();
    // An aborted wait does not make a server late.
    if (signal.aborted) return offer;
    const lateOnes = [...late].map(
      ({ name }) =>
        `The MCP server "${name}" is not ready after ${ms / 1_000} s; this turn continues without its tools while it starts.`,
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
            `A tool of ${tool.source} is left out, since ${taken.source} also has a tool with the name ${tool.name}.`,
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

  /** Starts a server, or reuses the open connection, and lists its tools. Throws `mcp_failed`, `usage_invalid`. */
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

  /**
   * Logs in to a server at an address: a person agrees in a browser, or enters a code. Throws `mcp_failed`, `usage_invalid`.
   */
  async logIn(name: string, how: Pick<LoginRequest, "device" | "show" | "signal">): Promise<LoginResult> {
    const [server, settings] = this.#withLogin(name);
    const { logIn } = await import("./oauth/log-in.ts");
    try {
      return await logIn({ ...how, home: this.#home, name, settings });
    } catch (error) {
      throw loginFailed(server, error, how.signal);
    }
  }

  /** Forgets the login to a server; false if there was none. Throws `usage_invalid`. */
  logOut(name: string): boolean {
    const [, { url }] = this.#withLogin(name);
    return new LoginStore(this.#home, name, url).forget();
  }

  /** Throws `usage_invalid` for a server that has no login. */
  #withLogin(name: string): [server: McpServer, settings: HttpSettings] {
    const server = this.require(name);
    const settings = settingsOf(server);
    if (settings.kind === "stdio")
      throw new PagurusError(
        "usage_invalid",
        `The MCP server "${name}" is a program, and has no login here: give it what it needs in "env".`,
      );
    if (settings.oauth.enabled) return [server, settings];
    throw new PagurusError("usage_invalid", `The MCP server "${name}" has no login: its "oauth" is false.`);
  }

  /** Throws `usage_invalid` for one that is not configured. */
  require(name: string): McpServer {
    const server = [...this.#servers, ...this.#disabled].find((each) => each.name === name);
    if (server) return server;
    const names = this.list().map((each) => each.name);
    const known = names.length === 0 ? "none is configured" : `those configured are ${names.join(", ")}`;
    throw new PagurusError(
      "usage_invalid",
      `There is no MCP server "${name}": ${known}; mcp.servers in the configuration holds them.`,
    );
  }

  /** Ends all of them. Never throws. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers, ...this.#disabled].map((server) => server.close()));
  }
}

/** Throws `mcp_failed` for settings that cannot be used. */
function settingsOf(server: McpServer): ServerSettings["transport"] {
  try {
    return server.settings().transport;
  } catch (error) {
    throw new PagurusError("mcp_failed", `The MCP server "${server.name}" ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** One sentence, without secrets, about a login that did not succeed. */
function loginFailed({ name }: McpServer, error: unknown, signal: AbortSignal): PagurusError {
  const text = errorText(error);
  const end = signal.aborted
    ? "was not logged in to: the login was stopped"
    : (error as Error).name === "TimeoutError"
      ? "was not logged in to: no answer came in time; run the login again"
      : error instanceof LoginFailed
        ? text
        : `was not logged in to: ${text}`;
  const sentence = `The MCP server "${name}" ${cleanLine(end, []).replace(/\.$/, "").slice(0, MOST_WORDS)}.`;
  return new PagurusError("mcp_failed", sentence, { cause: error, details: { server: name } });
}

function sourceOf({ name }: McpServer): string {
  return `the MCP server "${name}"`;
}

function hostTool(server: McpServer, tool: CatalogTool): McpTool {
  return {
    name: toolName(server.name, tool.name),
    description: tool.description,
    parameters: tool.parameters,
    source: sourceOf(server),
    ...(tool.onlyReads ? { sideBySide: true } : {}),
    execute: (params, context) => server.call(tool.name, params, context),
  };
}

function targetOf({ command, args = [], url }: McpServer["config"]): string {
  if (url === undefined) return [command, ...args].join(" ");
  const parsed = URL.parse(url);
  return parsed ? `${parsed.origin}${parsed.pathname}` : url;
}

function factOf(server: McpServer): McpServerFact {
  const { tools, login } = server;
  return {
    name: server.name,
    target: targetOf(server.config),
    enabled: server.isEnabled,
    state: server.state,
    ...(tools && {
      tools: tools.map((tool) => ({ ...tool, name: toolName(server.name, tool.name) })),
    }),
    ...(login && { login }),
    problems: server.problems,
  };
}
