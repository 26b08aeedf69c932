/** The opening of an agent's sessions, for tests that open them without a host. */
import type * as files from "../../../packages/host/src/stores/files/session-store.ts";
import { postgresStores } from "../../../packages/postgres/src/postgres-store.ts";
import { tablesOf } from "./tables.ts";

export * from "../../../packages/host/src/stores/files/session-store.ts";

export const openSessionStore: typeof files.openSessionStore = (options) =>
  postgresStores(tablesOf(options.agentDir))(options);
