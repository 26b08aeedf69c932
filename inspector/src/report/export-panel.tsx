/** Saves the session or the request as one HTML file; the user picks what it leaves out besides secrets. */
import { useState } from "preact/hooks";
import type { RedactedKind } from "../../../src/client/inspect-types.ts";

const KINDS: readonly (readonly [kind: RedactedKind, label: string])[] = [
  ["system", "system prompt and project files"],
  ["tools", "descriptions of tools"],
  ["user", "what the user wrote"],
  ["assistant", "what the model wrote"],
  ["results", "results of tools"],
  ["summaries", "summaries"],
];

export interface ExportProps {
  agent: string;
  sessionKey: string;
  /** Absent for the whole session. */
  request?: string;
}

export function ExportPanel({ agent, sessionKey, request }: ExportProps) {
  const [redacted, setRedacted] = useState<readonly RedactedKind[]>([]);
  const query = new URLSearchParams({ agent, redact: redacted.join(",") });
  if (request !== undefined) query.set("request", request);
  const name = (request === undefined ? sessionKey : `${sessionKey}-${request}`).replaceAll(/[^\w.-]+/g, "-");
  return (
    <details class="export">
      <summary>Save as HTML</summary>
      <fieldset class="bar">
        <legend>Secrets are masked. Leave out too:</legend>
        {KINDS.map(([kind, label]) => (
          <label key={kind}>
            <input
              type="checkbox"
              checked={redacted.includes(kind)}
              onChange={({ currentTarget: { checked } }) =>
                setRedacted(checked ? [...redacted, kind] : redacted.filter((each) => each !== kind))
              }
            />
            {label}
          </label>
        ))}
        <a
          class="button"
          href={`/api/v1/sessions/${encodeURIComponent(sessionKey)}/report?${query.toString()}`}
          download={`${name}.html`}
        >
          Save
        </a>
      </fieldset>
    </details>
  );
}
