/** Starts the resident host for the next commands, where the configuration asks for one. */
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { attempt } from "@pagurus/core/data/attempt";

/** Called at the end of a command, so that its start takes nothing from it. Never throws: without a host commands run as this one did. */
export async function followedByHost(env: Record<string, string | undefined>): Promise<void> {
  const home = resolveHome(env);
  const { server } = attempt(() => loadConfig({ home }).config) ?? {};
  if (server?.resident !== true) return;
  const { startResident } = await import("./start-resident.ts");
  startResident(home, env);
}
