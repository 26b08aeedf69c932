/** Saves the session or the request as one HTML file; the user picks what it leaves out besides secrets. */
import { useState } from "preact/hooks";
import type { RedactedKind } from "@pagurus/api/types";
import { useAction } from "../action-state.ts";
import { saveReport } from "./save-report.ts";

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
  const save = (): Promise<boolean> =>
    action.run("Saving …", async () => {
      await saveReport({ agent, sessionKey, request }, redacted);
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
