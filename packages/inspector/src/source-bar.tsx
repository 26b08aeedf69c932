/** The sources of a request as one bar by tokens, with the largest named below. */
import type { SourceSum } from "@pagurus/api/types";
import { count, percent } from "@pagurus/core/data/plain-numbers";
import { SOURCES } from "./legend/terms.ts";
import { SourceMark } from "./legend/explained.tsx";

/** Sources that are named. */
const NAMED = 6;

export function SourceBar({ sums }: { sums: readonly SourceSum[] }) {
  const shown = sums.filter(({ tokens }) => tokens > 0).toSorted((a, b) => b.tokens - a.tokens);
  const all = shown.reduce((sum, { tokens }) => sum + tokens, 0);
  if (all === 0) return null;
  const text = shown
    .map(({ source, tokens }) => `${SOURCES[source].name} ${percent(tokens / all)}`)
    .join(", ");
  return (
    <div class="sources">
      <div class="source-bar" role="img" aria-label={`Where the tokens come from: ${text}`}>
        {shown.map(({ source, tokens }) => (
          <span
            key={source}
            data-source={source}
            title={`${SOURCES[source].name}: ${count(tokens)} tokens`}
            style={{ flexGrow: tokens }}
          />
        ))}
      </div>
      <ul class="source-names">
        {shown.slice(0, NAMED).map(({ source, tokens, parts }) => (
          <li key={source}>
            <SourceMark source={source} /> {percent(tokens / all)}
            <span class="quiet">
              {count(tokens)} tokens{parts > 1 ? ` in ${count(parts)}` : ""}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
