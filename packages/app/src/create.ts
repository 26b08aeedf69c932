/**
 * Entry of the library. Loads the host only after checking the Node.js version: an older one has no `node:sqlite`, and would
 * fail with that error while it links the modules.
 */
import { PagurusError } from "@pagurus/contract/errors";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import { checkKeys, OPTION_KEYS } from "@pagurus/host/turn/admit/request-keys";

const NODE_MAJOR = 24;

/** Creates and starts a host. Throws `node_too_old`, `usage_invalid`, `config_invalid`, `plugin_duplicate_id`. */
export async function createPagurus(options: PagurusOptions = {}): Promise<PagurusHost> {
  const { version } = process;
  if (Number.parseInt(version.slice(1), 10) < NODE_MAJOR) throw unfit(`this is ${version}`);
  if (process.getBuiltinModule("node:sqlite") === undefined) {
    throw unfit(`this ${version} runs without node:sqlite (--no-experimental-sqlite)`);
  }
  checkKeys("createPagurus()", options, OPTION_KEYS);
  const app = await import("./app.ts");
  return app.createPagurus(options);
}

function unfit(found: string): PagurusError {
  return new PagurusError(
    "node_too_old",
    `Pagurus needs Node.js ${NODE_MAJOR} or newer with node:sqlite, and ${found}; install a newer one and run this program with it (https://nodejs.org).`,
  );
}
