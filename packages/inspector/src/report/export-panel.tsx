/** Saves the session or the request as one HTML file; the user picks what it leaves out besides secrets. */
import { useState } from "preact/hooks";
import type { RedactedKind } from "@pagurus/api/types";
import { useAction } from "../action-state.ts";
import { server } from "../server-calls.ts";

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
  const action = useAction();
  const name = (request === undefined ? sessionKey : `${sessionKey}-${request}`).replaceAll(/[^\w.-]+/g, "-");
  const save = (): Promise<boolean> =>
    action.run("Saving …", async () => {
      download(await server.inspect.report(sessionKey, { agent, request, redact: redacted }), `${name}.html`);
      return "";
    });
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
        <button type="button" disabled={action.isBusy} onClick={() => void save()}>
          Save
        </button>
        <span role="status">{action.text}</span>
      </fieldset>
    </details>
  );
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
