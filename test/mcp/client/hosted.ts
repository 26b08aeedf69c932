/** Starts the servers of a configuration, with a home directory of their own. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import type { AskPerson } from "../../../packages/host/src/mcp/client/elicitation.ts";
import { McpServers, type McpOffer } from "../../../packages/host/src/mcp/client/mcp-servers.ts";
import { processIsAlive } from "../../../packages/core/src/platform/process-group.ts";
import { COMPILE_CACHE } from "../../runner/compile-cache.ts";
import { until } from "../../runner/until.ts";

export const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

/** Configuration of the server that misbehaves in the named mode. */
export function child(mode: string, more: McpServerConfig = {}, extra = "0"): McpServerConfig {
  return {
    command: process.execPath,
    args: [join(import.meta.dirname, "server.child.ts"), mode, extra],
    ...more,
    env: { ...COMPILE_CACHE, ...more.env },
  };
}

/** Configuration of the server that lies in the named mode. */
export function liar(mode: string, extra = "", more: McpServerConfig = {}): McpServerConfig {
  return {
    command: process.execPath,
    args: [join(import.meta.dirname, "liar.child.ts"), mode, extra],
    ...more,
    env: { ...COMPILE_CACHE, ...more.env },
  };
}

export interface Hosted {
  home: string;
  servers: McpServers;
  offer(): Promise<McpOffer>;
  call(
    name: string,
    args?: Record<string, unknown>,
    signal?: AbortSignal,
    ask?: AskPerson,
  ): Promise<ToolOutcome>;
  /** Another host with the same home. */
  again(servers?: Record<string, McpServerConfig>): Hosted;
  /** Running processes of the servers. */
  left(): number[];
  /** Resolves when no process is left. */
  noneLeft(): Promise<void>;
}

export function textOf(outcome: ToolOutcome): string {
  return outcome.content.map((part) => (part.type === "text" ? part.text : `(${part.mimeType})`)).join("\n");
}

export function hosted(
  t: TestContext,
  configured: Record<string, McpServerConfig>,
  {
    waitMs,
    logins,
    home = mkdtempSync(join(tmpdir(), "pagurus-mcp-")),
    hosts = [],
  }: { waitMs?: number; logins?: boolean; home?: string; hosts?: McpServers[] } = {},
): Hosted {
  const pids = join(home, "pids");
  const env = { ...process.env, PIDS: pids, TOKEN: "tok-abcdef" };
  const withPids = Object.fromEntries(
    Object.entries(configured).map(([name, config]) => [
      name,
      config.command === undefined ? config : { ...config, env: { PIDS: pids, ...config.env } },
    ]),
  );
  const servers = new McpServers({
    config: { mcp: { servers: withPids } },
    home,
    env,
    logger: silent,
    waitMs,
    logins,
  });
  const left = (): number[] => {
    const ids = existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : [];
    return ids.filter(processIsAlive);
  };
  hosts.push(servers);
  // The first host of a home closes all hosts that use it.
  if (hosts.length === 1) {
    t.after(async () => {
      await Promise.all(hosts.map((each) => each.close()));
      const ids = left();
      rmSync(home, { recursive: true, force: true });
      assert.deepEqual(ids, [], "processes are left");
    });
  }
  const offer = (): Promise<McpOffer> => servers.forTurn(new AbortController().signal);
  return {
    home,
    servers,
    offer,
    call: async (name, args = {}, signal = new AbortController().signal, ask?: AskPerson) => {
      const tool = servers.known().tools.find((each) => each.name === name);
      assert.ok(tool, `${name} is not offered`);
      return await tool.execute(args, { sessionKey: "main", signal, ask });
    },
    again: (others = configured) =>
      hosted(t, others, {
        home,
        hosts,
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(logins === undefined ? {} : { logins }),
      }),
    left,
    noneLeft: () => until(() => left().length === 0),
  };
}
