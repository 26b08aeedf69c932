/** Saves a session or a request as one HTML file. */
import type { RedactedKind } from "@pagurus/api/types";
import { server } from "../server-calls.ts";

export interface ReportPlace {
  agent: string;
  sessionKey: string;
  /** Absent for the whole session. */
  request?: string | undefined;
}

/** Secrets are masked; `redact`: kinds of words that are left out too. Throws `ClientError`. */
export async function saveReport(
  { agent, sessionKey, request }: ReportPlace,
  redact: readonly RedactedKind[] = [],
): Promise<void> {
  const name = (request === undefined ? sessionKey : `${sessionKey}-${request}`).replaceAll(/[^\w.-]+/g, "-");
  download(await server.inspect.report(sessionKey, { agent, request, redact }), `${name}.html`);
}

/** A link of the page cannot carry the login, so the file is read here first. */
function download(bytes: Uint8Array, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: "text/html" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
