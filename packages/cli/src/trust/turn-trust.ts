/** Whether the folder may decide something in the turns of a command. */
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import type { McpServerConfig } from "@pagurus/core/config/config-types";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { Cli } from "../cli.ts";

/** Servers that start in the current folder, where an `npx` or a relative path may find a program of the folder. */
function startsHere({ enabled, url, cwd, workingDirectory }: McpServerConfig): boolean {
  return enabled !== false && url === undefined && (cwd ?? workingDirectory) === undefined;
}

/**
 * Options for the host. Asks on a terminal only if something would be decided: MCP servers of the configuration would start in the
 * folder. Else nothing of a folder decides anything in a turn, and no question is asked.
 */
export async function trustForTurns(
  cli: Cli,
  { trust }: { trust?: boolean },
): Promise<Pick<PagurusOptions, "trustFolders">> {
  if (trust === true) return { trustFolders: true };
  let servers: Record<string, McpServerConfig>;
  try {
    servers = loadConfig({ home: resolveHome(cli.env) }).config.mcp?.servers ?? {};
  } catch {
    // The host that is opened next reports a broken configuration.
    return {};
  }
  const names = Object.entries(servers).flatMap(([name, server]) => (startsHere(server) ? [name] : []));
  if (names.length === 0) return {};
  const { folderTrust, trusts } = await import("./folder-question.ts");
  const reasons = [`MCP servers of your configuration would start in it: ${names.join(", ")}`];
  await trusts(cli, folderTrust(cli, undefined), { cwd: cli.cwd, reasons });
  return {};
}
