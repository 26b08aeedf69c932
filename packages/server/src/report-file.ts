/** A session, or one request of it, as the bytes of an HTML file, without a server: for `pagurus inspect --export`. */
import type { SessionStore } from "@pagurus/contract/session/store";
import { knownSecrets } from "./inspect/report/known-secrets.ts";
import { InspectedSessions } from "./inspect/inspected-sessions.ts";
import { redactedKinds } from "./inspect/report/report-redaction.ts";

export interface ReportFile {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  store: SessionStore;
  agentId: string;
  sessionKey: string;
  /** Id of a request, or the number of its capture; absent for the whole session. */
  request?: string | undefined;
  /** What to redact, with commas between. */
  redact: string;
}

/** Throws `usage_invalid`, `session_not_found`, `entry_not_found`, `store_read_failed`. */
export async function reportFile(file: ReportFile): Promise<AsyncIterable<Uint8Array>> {
  const { home, env, request, redact, ...place } = file;
  const sessions = new InspectedSessions(() => knownSecrets(home, env));
  const redaction = sessions.redaction(redactedKinds(redact));
  const session = sessions.open({ home, ...place });
  if (request === undefined) return encoded(await session.report(redaction));
  const rows = await session.requests();
  const named = rows.find(({ id }) => id === request);
  const numbered = rows.find(({ captured }) => String(captured?.number) === request);
  return encoded(await session.report(redaction, (named ?? numbered)?.id ?? request));
}

/** The bytes of a report's pieces. */
export async function* encoded(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
