/** Changed lines of files, with their numbers. */
import { changeCounts, type FileChange } from "@pagurus/host/command/file-changes";
import { oneLine, visible } from "../plain-text.ts";

/** Lines that are shown at first. */
const FIRST = 40;

const SIGNS = { added: "+", removed: "−", same: " ", gap: "⋯", file: "" } as const;

export function LineDiff({ changes }: { changes: readonly FileChange[] }) {
  return (
    <div class="diffs">
      {changes.map((change) => (
        <Change key={change.path} change={change} />
      ))}
    </div>
  );
}

function Change({ change }: { change: FileChange }) {
  const { path, lines } = change;
  const rest = lines.length - FIRST;
  return (
    <figure class="diff" aria-label={`Changes of ${oneLine(path)}`}>
      <figcaption>
        <span dir="ltr">{oneLine(path)}</span> <span class="diff-counts">{changeCounts([change])}</span>
      </figcaption>
      <Lines of={lines.slice(0, FIRST)} />
      {rest > 0 ? (
        <details>
          <summary>{rest} more lines</summary>
          <Lines of={lines.slice(FIRST)} />
        </details>
      ) : null}
    </figure>
  );
}

function Lines({ of }: { of: FileChange["lines"] }) {
  return (
    <pre tabIndex={0} aria-label="Changed lines" dir="ltr">
      {of.map(({ kind, number, text }, at) => (
        <span class="diff-line" data-change={kind} key={at}>
          <span class="diff-number">{number ?? ""}</span>
          <span class="diff-sign">{SIGNS[kind]}</span>
          {`${visible(text)}\n`}
        </span>
      ))}
    </pre>
  );
}

/** The lines of a text in the form of a unified diff; undefined for any other text. */
export function previewLines(text: string): FileChange["lines"] | undefined {
  const lines = text.split("\n");
  if (!lines.some((line) => /^[-+]/.test(line)) || !lines.some((line) => /^@@|^\s*\d+ [-+]/.test(line)))
    return undefined;
  return lines.map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
    return { kind, text: line.replace(/^[-+ ]/, "") };
  });
}
