/** Opens the palette by Ctrl+K and the help by a question mark; both are loaded when they are opened first. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { opened, type Opened } from "./opened.ts";

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches("textarea, select, input:not([type=checkbox])");
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  const isMeta = event.ctrlKey || event.metaKey;
  if (isMeta && !event.shiftKey && event.key.toLowerCase() === "k")
    opened.value = opened.value === "palette" ? undefined : "palette";
  else if (!isMeta && event.key === "?" && !isTyping(event)) opened.value = "keys";
  else return;
  event.preventDefault();
}

interface OverlayProps {
  what: Opened;
  onClose(): void;
}

export function PaletteDoor() {
  const [Overlay, setOverlay] = useState<ComponentType<OverlayProps>>();
  const what = opened.value;
  useEffect(() => {
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  useEffect(() => {
    if (what !== undefined && !Overlay)
      void import("./palette.tsx").then((module) => setOverlay(() => module.Overlay));
  }, [what]);
  return what !== undefined && Overlay ? (
    <Overlay key={what} what={what} onClose={() => (opened.value = undefined)} />
  ) : null;
}
