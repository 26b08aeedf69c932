/** The completions above the input; the arrow keys choose. */
import { oneLine } from "../plain-text.ts";
import type { Completion } from "./completion.ts";

export function Offers({
  found,
  active,
  onChoose,
}: {
  found: Completion | undefined;
  active: number;
  onChoose(at: number): void;
}) {
  if (!found) return null;
  return (
    <ul class="offers" id="offers" role="listbox" aria-label="Completions">
      {found.offers.map(({ label, hint }, at) => (
        <li
          key={label}
          id={`offer-${at}`}
          role="option"
          aria-selected={at === active}
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(at);
          }}
        >
          <span dir="ltr">{oneLine(label)}</span>
          <span class="facts-line">{oneLine(hint)}</span>
        </li>
      ))}
    </ul>
  );
}
