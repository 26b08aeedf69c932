/** `‹ 2/3 ›` at a message that has other versions: each leads to the conversation as it was with that version. */
import { oneLine } from "../plain-text.ts";
import type { Versions } from "./branches.ts";

interface BranchSwitcherProps {
  versions: Versions;
  /** Absent while a turn runs, and for a login that may not. */
  onShow: ((leafId: string, inputEntryId: string) => void) | undefined;
}

export function BranchSwitcher({ versions: { turns, shown }, onShow }: BranchSwitcherProps) {
  const step = (to: number, sign: string, label: string) => {
    const turn = turns[to];
    const title = turn && oneLine(turn.title);
    return (
      <button
        type="button"
        class="quiet"
        aria-label={turn ? `${label}: ${title}` : label}
        title={title}
        disabled={!turn || !onShow}
        onClick={() => turn && onShow?.(turn.leafId, turn.inputEntryId)}
      >
        <span aria-hidden="true">{sign}</span>
      </button>
    );
  };
  return (
    <span class="branches" role="group" aria-label="Versions of this message">
      {step(shown - 1, "‹", "Version before")}
      <span class="branch-count" aria-label={`Version ${shown + 1} of ${turns.length}`} role="img">
        {shown + 1}/{turns.length}
      </span>
      {step(shown + 1, "›", "Next version")}
    </span>
  );
}

/** Continuations of a conversation that was rewound, shown at its end. */
export function LeftVersions({ versions: { turns }, onShow }: BranchSwitcherProps) {
  if (!onShow) return null;
  return (
    <div class="left-versions column" role="group" aria-label="What followed here">
      <span>What followed here is kept:</span>
      {turns.map(({ inputEntryId, leafId, title }) => (
        <button type="button" class="quiet" key={inputEntryId} onClick={() => onShow(leafId, inputEntryId)}>
          {oneLine(title)}
        </button>
      ))}
    </div>
  );
}
