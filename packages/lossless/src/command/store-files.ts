/** Location of a store: its folder, its settings, and the transcripts that it was built from. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { openLosslessStore, type LosslessStore } from "../store/lossless-store.ts";

export interface CarePlace {
  agentDir: string;
  /** The host's configuration. */
  config: unknown;
  transcripts: Pick<SessionStore, "find" | "list" | "openReader" | "shared">;
}

export function databaseFile(agentDir: string): string {
  return join(agentDir, "lossless.db");
}

/** Folder in which a new database is built, beside the old one. */
export function rebuildFolder(agentDir: string): string {
  return join(agentDir, "lossless.rebuild");
}

/** Path of the database. Throws `store_read_failed` when there is none. */
export function requireDatabase({ agentDir }: CarePlace): string {
  const file = databaseFile(agentDir);
  if (existsSync(file)) return file;
  throw new PagurusError(
    "store_read_failed",
    `There is no ${file} yet; the first turn with the engine lossless makes it, or \`pagurus lossless rebuild\` now.`,
    { details: { file } },
  );
}

/** Opens the store for one task. Throws `store_read_failed`, `store_write_failed`. */
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
