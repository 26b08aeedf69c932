/** The inspector: sessions, their lines of time, requests, and what lies between them, with the way back above. */
import { useEffect } from "preact/hooks";
import { CompactionsPage } from "./compactions-page.tsx";
import { DiffPage } from "./diff-page.tsx";
import { addressOf, go, type PageRoute, type SessionRoute } from "./page-route.ts";
import { oneLine } from "./plain-text.ts";
import { PreviewPage } from "./preview-page.tsx";
import { RequestPage } from "./request-page.tsx";
import { mayChat } from "./session-events.ts";
import { SessionPage } from "./session-page.tsx";
import { signOut } from "./sign-in.ts";
import { SessionsPage } from "./sessions-page.tsx";

type InspectorRoute = SessionRoute | Extract<PageRoute, { page: "sessions" }>;

/** False where the page has no search. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("#search");
  field?.focus();
  field?.select();
  return field !== null;
}

/** A slash goes to the search. */
function onKeyDown(event: KeyboardEvent): void {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.key !== "/") return;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return;
  if (target instanceof HTMLInputElement && target.type !== "checkbox") return;
  // At once where it is there: what is typed next belongs in it.
  if (!focusSearch()) {
    go({ page: "sessions", query: "" });
    requestAnimationFrame(focusSearch);
  }
  event.preventDefault();
}

function Page({ route }: { route: InspectorRoute }) {
  if (route.page === "sessions") return <SessionsPage key={route.query} query={route.query} />;
  const { agent, key } = route;
  if (route.page === "request") return <RequestPage agent={agent} sessionKey={key} request={route.request} />;
  if (route.page === "diff") return <DiffPage agent={agent} sessionKey={key} request={route.request} />;
  if (route.page === "preview") return <PreviewPage agent={agent} sessionKey={key} />;
  if (route.page === "compactions") return <CompactionsPage agent={agent} sessionKey={key} />;
  return <SessionPage agent={agent} sessionKey={key} entry={route.entry} generation={route.generation} />;
}

function Path({ route }: { route: InspectorRoute }) {
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
      {mayChat() ? <TalkLink route={route} /> : null}
    </nav>
  );
}

function TalkLink({ route }: { route: InspectorRoute }) {
  const place = route.page === "sessions" ? undefined : { agent: route.agent, key: route.key };
  return (
    <a class="to-talk" href={addressOf(place ? { page: "talk", ...place } : { page: "home" })}>
      {place ? "Conversation" : "Conversations"}
    </a>
  );
}

export function InspectorPages({ route }: { route: InspectorRoute }) {
  useEffect(() => {
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
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
