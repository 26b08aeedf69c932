/** The frame of the page: the list of conversations at the left, the chosen view at the right. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { addressOf, go, type PageRoute } from "../page-route.ts";
import { signOut } from "../sign-in.ts";
import { opened } from "../palette/opened.ts";
import { Conversations } from "./conversations.tsx";
import { away } from "./live-events.ts";

/** Below it the list lies over the view, px. */
const NARROW = "(max-width: 860px)";

function isNarrow(): boolean {
  return matchMedia(NARROW).matches;
}

const KEPT = "pagurus-side";

export function Shell({ route, children }: { route: PageRoute; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(() => !isNarrow() && localStorage.getItem(KEPT) !== "closed");
  const toggle = (open: boolean): void => {
    setOpen(open);
    if (!isNarrow()) localStorage.setItem(KEPT, open ? "open" : "closed");
  };
  // On a small screen the list makes way for what was chosen in it.
  const onChosen = (): void => {
    if (isNarrow()) setOpen(false);
  };
  useEffect(() => {
    const narrow = matchMedia(NARROW);
    const onChange = (): void => setOpen(!narrow.matches && localStorage.getItem(KEPT) !== "closed");
    narrow.addEventListener("change", onChange);
    return () => narrow.removeEventListener("change", onChange);
  }, []);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isMeta = event.ctrlKey || event.metaKey;
      if (event.key === "Escape" && isOpen && isNarrow()) setOpen(false);
      else if (isMeta && event.shiftKey && event.key.toLowerCase() === "o") go({ page: "home" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [isOpen]);
  return (
    <div class="shell" data-side={isOpen ? "open" : "closed"}>
      <button
        type="button"
        class="side-toggle"
        aria-expanded={isOpen}
        aria-controls="side"
        aria-label={isOpen ? "Close the list of conversations" : "Open the list of conversations"}
        onClick={() => toggle(!isOpen)}
      >
        <span class="bars" aria-hidden="true" />
      </button>
      {isOpen ? (
        <aside class="side" id="side" aria-label="Conversations">
          <a class="new-talk" href={addressOf({ page: "home" })} onClick={onChosen}>
            New conversation
          </a>
          <PaletteButton onChosen={onChosen} />
          <Conversations onChosen={onChosen} />
          <SideLinks route={route} onChosen={onChosen} />
        </aside>
      ) : null}
      {isOpen ? <div class="side-shade" onClick={() => setOpen(false)} /> : null}
      <div class="view">
        {away.value === "" ? null : (
          <p class="away" role="status">
            {away.value}
          </p>
        )}
        {children}
      </div>
    </div>
  );
}

function PaletteButton({ onChosen }: { onChosen(): void }) {
  return (
    <button
      type="button"
      class="side-palette"
      title="Go to anything, do anything"
      aria-keyshortcuts="Control+K"
      onClick={() => {
        onChosen();
        opened.value = "palette";
      }}
    >
      <span>Go to …</span>
      <kbd aria-hidden="true">Ctrl+K</kbd>
    </button>
  );
}

function SideLinks({ route, onChosen }: { route: PageRoute; onChosen(): void }) {
  return (
    <nav class="side-links" aria-label="Views">
      <a
        href={addressOf({ page: "board" })}
        aria-current={route.page === "board" ? "page" : undefined}
        onClick={onChosen}
      >
        Board
      </a>
      <a href={addressOf({ page: "sessions", query: "" })}>Inspector</a>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </nav>
  );
}
