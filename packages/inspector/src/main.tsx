/** The page of the server: conversations, the board, and the inspector of each session. */
import "./first-answer.ts";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { BoardPage } from "./board/board-page.tsx";
import { InspectorPages } from "./inspector-pages.tsx";
import { goUp, pageRoute, type PageRoute } from "./page-route.ts";
import { painted } from "./painted.ts";
import { Notice } from "./notice.tsx";
import { allowed } from "./session-events.ts";
import { login } from "./sign-in.ts";
import { SignedOut } from "./signed-out.tsx";
import { PaletteDoor } from "./palette/open-palette.tsx";
import "./settings/appearance.ts";
import { Shell } from "./talk/shell.tsx";
import { startLive } from "./talk/live-events.ts";
import { TalkPage } from "./talk/talk-page.tsx";
import "./style.css";
import "./talk/talk.css";
import "./talk/beside-talk.css";
import "./talk/branches.css";

/** Escape goes up, where nothing on the page takes it. */
function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key !== "Escape" || isTyping(event)) return;
  // The part that was opened last is closed first.
  const close = [...document.querySelectorAll<HTMLButtonElement>("[data-close]")].at(-1);
  if (close) close.click();
  else goUp();
  event.preventDefault();
}

function isTyping({ target }: KeyboardEvent): boolean {
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && target.type !== "checkbox";
}

function Page({ route }: { route: PageRoute }) {
  const scope = allowed.value;
  if (route.page === "home" && scope === undefined) return <Notice text="Asking the server …" />;
  // A login that only reads has nothing to begin.
  if (route.page === "home" && scope === "read")
    return <InspectorPages route={{ page: "sessions", query: "" }} />;
  if (route.page === "home")
    return (
      <Shell route={route}>
        <TalkPage />
      </Shell>
    );
  if (route.page === "talk")
    return (
      <Shell route={route}>
        <TalkPage key={`${route.agent} ${route.key}`} place={route} entry={route.entry} turn={route.turn} />
      </Shell>
    );
  if (route.page === "board")
    return (
      <Shell route={route}>
        <BoardPage />
      </Shell>
    );
  return <InspectorPages route={route} />;
}

function App() {
  const route = useComputed(() => pageRoute.value).value;
  const secret = login.value;
  useEffect(() => {
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  useEffect(() => (secret === undefined ? undefined : startLive()), [secret]);
  if (secret === undefined) return <SignedOut />;
  return (
    <>
      <Page route={route} />
      <PaletteDoor />
    </>
  );
}

const root = document.getElementById("app");
// A line that the page has from the beginning is seen while the rest is made ready.
await painted();
// It is no part of the page.
root?.replaceChildren();
if (root) render(<App />, root);
