/** The page of the inspector. */
import "./first-answer.ts";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { CompactionsPage } from "./compactions-page.tsx";
import { DiffPage } from "./diff-page.tsx";
import { addressOf, go, goUp, pageRoute, type PageRoute } from "./page-route.ts";
import { painted } from "./painted.ts";
import { Notice } from "./notice.tsx";
import { oneLine } from "./plain-text.ts";
import { PreviewPage } from "./preview-page.tsx";
import { RequestPage } from "./request-page.tsx";
import { SessionPage } from "./session-page.tsx";
import { login, signOut } from "./sign-in.ts";
import { SessionsPage } from "./sessions-page.tsx";
import "./style.css";

function isTyping({ target }: KeyboardEvent): boolean {
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && target.type !== "checkbox";
}

/** False where the page has no search. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("#search");
  field?.focus();
  field?.select();
  return field !== null;
}

/** Keys that work everywhere: escape goes up, a slash goes to the search. */
function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && !isTyping(event)) {
    const close = document.querySelector<HTMLButtonElement>("[data-close]");
    if (close) close.click();
    else goUp();
  } else if (event.key === "/" && !isTyping(event)) {
    // At once where it is there: what is typed next belongs in it.
    if (!focusSearch()) {
      go({ page: "sessions", query: "" });
      requestAnimationFrame(focusSearch);
    }
  } else return;
  event.preventDefault();
}

function Page({ route }: { route: PageRoute }) {
  if (route.page === "request")
    return <RequestPage agent={route.agent} sessionKey={route.key} request={route.request} />;
  if (route.page === "diff")
    return <DiffPage agent={route.agent} sessionKey={route.key} request={route.request} />;
  if (route.page === "preview") return <PreviewPage agent={route.agent} sessionKey={route.key} />;
  if (route.page === "compactions") return <CompactionsPage agent={route.agent} sessionKey={route.key} />;
  if (route.page === "session")
    return (
      <SessionPage
        agent={route.agent}
        sessionKey={route.key}
        entry={route.entry}
        generation={route.generation}
      />
    );
  return <SessionsPage key={route.query} query={route.query} />;
}

function Path({ route }: { route: PageRoute }) {
  return (
    <nav aria-label="Place">
      <a href={addressOf({ page: "sessions", query: "" })}>Sessions</a>
      {route.page === "sessions" ? null : (
        <a href={addressOf({ page: "session", agent: route.agent, key: route.key })}>{oneLine(route.key)}</a>
      )}
      {route.page === "compactions" ? <span aria-current="page">Compactions</span> : null}
      {route.page === "preview" ? <span aria-current="page">What would be sent</span> : null}
      {route.page === "request" ? <span aria-current="page">{oneLine(route.request)}</span> : null}
      {route.page === "diff" ? (
        <>
          <a href={addressOf({ ...route, page: "request" })}>{oneLine(route.request)}</a>
          <span aria-current="page">Changes</span>
        </>
      ) : null}
    </nav>
  );
}

function App() {
  const route = useComputed(() => pageRoute.value).value;
  useEffect(() => {
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  if (login.value === undefined)
    return <Notice text="This page is signed out. Run pagurus open, or pagurus inspect to read alone." />;
  return (
    <>
      <Path route={route} />
      <Page route={route} />
      <footer>
        <kbd>↑</kbd> <kbd>↓</kbd> move · <kbd>Enter</kbd> open · <kbd>Esc</kbd> back · <kbd>Tab</kbd> next
        pane · <kbd>/</kbd> search
        <button type="button" class="sign-out" onClick={() => void signOut()}>
          Sign out
        </button>
      </footer>
    </>
  );
}

const root = document.getElementById("app");
// A line that the page has from the beginning is seen while the rest is made ready.
await painted();
// It is no part of the page.
root?.replaceChildren();
if (root) render(<App />, root);
