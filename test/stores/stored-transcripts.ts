/** Transcripts of a home as its store hands them to another reader: the home itself stays as it is, also that of a killed process. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { postgresStores } from "../../packages/postgres/src/postgres-store.ts";
import { POSTGRES, tablesOf } from "../servers/on-postgres/tables.ts";

/** Bytes by session id, of every generation. */
export function storedTranscripts(home: string, agentId = "main"): Map<string, Buffer> {
  const place = mkdtempSync(join(tmpdir(), "pagurus-reader-"));
  const store = readerOf(join(home, "agents", agentId), { agentDir: place, agentId });
  try {
    return new Map(store.list().map(({ sessionId, file }) => [sessionId, readFileSync(file)]));
  } finally {
    store.close();
    rmSync(place, { recursive: true, force: true });
  }
}

function readerOf(from: string, options: { agentDir: string; agentId: string }): SessionStore {
  // In PostgreSQL another host reads: its mirrors are in the folder of the reader.
  if (POSTGRES !== undefined) return postgresStores(tablesOf(from))(options);
  const sessions = join(from, "sessions");
  if (existsSync(sessions)) cpSync(sessions, join(options.agentDir, "sessions"), { recursive: true });
  return openSessionStore(options);
}
