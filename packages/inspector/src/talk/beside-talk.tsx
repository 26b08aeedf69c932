/** A conversation with the inspector of one of its turns: beside it in a wide window, in its place in a narrow one. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { go } from "../page-route.ts";
import { TurnPanel } from "../turn/turn-panel.tsx";
import type { TalkPlace } from "./talk-state.ts";

interface BesideTalkProps {
  place: TalkPlace;
  /** Absent where no turn is looked into. */
  turn: string | undefined;
  /** Changes when the turn has new requests. */
  version: unknown;
  children: ComponentChildren;
}

/** The focus returns to what opened the panel, or to the input where that is out of view. */
function focusOpener(turn: string): void {
  const opener = document.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turn)}"]`);
  (opener ?? document.querySelector<HTMLElement>("#message"))?.focus({ preventScroll: true });
}

export function BesideTalk({ place, turn, version, children }: BesideTalkProps) {
  const shown = useRef(turn);
  useEffect(() => {
    if (shown.current !== undefined && turn === undefined) focusOpener(shown.current);
    shown.current = turn;
  }, [turn]);
  return (
    <div class="talk-beside" data-open={turn !== undefined}>
      {children}
      {turn === undefined ? null : (
        <TurnPanel
          agent={place.agent}
          sessionKey={place.key}
          turn={turn}
          version={version}
          takesFocus
          onClose={() => go({ page: "talk", ...place })}
        />
      )}
    </div>
  );
}
