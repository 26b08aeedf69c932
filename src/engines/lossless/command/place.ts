/** Where the care of a store finds things: its folder, its settings, the transcripts that it was made from. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "../../../contract/errors.ts";
import type { SessionStore } from "../../../contract/store.ts";
import type { SessionRecord } from "../../../contract/writer.ts";
import { openLosslessStore, type LosslessStore } from "../store/store.ts";

export interface CarePlace {
  agentDir: string;
  /** The host's configuration. */
  config: unknown;
  transcripts: Pick<SessionStore, "find" | "list" | "openReader">;
}

export function databaseFile(agentDir: string): string {
  return join(agentDir, "lossless.db");
}

/** A new database is made here, beside the old one. */
export function rebuildFolder(agentDir: string): string {
  return join(agentDir, "lossless.rebuild");
}

/** Throws `store_read_failed` where there is no database. */
export function requireDatabase({ agentDir }: CarePlace): string {
  const file = databaseFile(agentDir);
  if (existsSync(file)) return file;
  throw new PagurusError(
    "store_read_failed",
    `There is no ${file} yet; the first turn with the engine lossless makes it, or \`pagurus lossless rebuild\` now.`,
    { details: { file } },
  );
}

/** Opens the store for one piece of work. Throws `store_read_failed`, `store_write_failed`. */
export async function withStore<T>(
  place: CarePlace,
  work: (store: LosslessStore) => Promise<T> | T,
): Promise<T> {
  requireDatabase(place);
  const store = openLosslessStore(place.agentDir);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The current generation of a key. Throws `session_not_found`. */
export function requireSession({ transcripts }: CarePlace, sessionKey: string): SessionRecord {
  const record = transcripts.find(sessionKey);
  if (record) return record;
  throw new PagurusError(
    "session_not_found",
    `There is no session "${sessionKey}"; \`pagurus sessions list\` names them.`,
  );
}
