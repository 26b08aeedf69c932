/** The page's place, kept in the fragment of its address, so that the browser's own keys and history work. */
// Takes the code out of the address first.
import "./sign-in.ts";
import { signal } from "@preact/signals";

export type PageRoute =
  /** A new conversation; for a login that only reads, the list of sessions. */
  | { page: "home" }
  /** A conversation. `entry`: with this entry in view; `turn`: with the inspector of this turn beside it. */
  | { page: "talk"; agent: string; key: string; entry?: string; turn?: string }
  | { page: "board" }
  | { page: "sessions"; query: string }
  | {
      page: "session";
      agent: string;
      key: string;
      entry?: string;
      /** Id of the session that has the entry, where it may be an earlier generation. */
      generation?: string;
    }
  | { page: "compactions"; agent: string; key: string }
  | { page: "preview"; agent: string; key: string }
  | { page: "diff"; agent: string; key: string; request: string }
  | { page: "request"; agent: string; key: string; request: string };

function words(): string[] {
  return location.hash
    .replace(/^#\/?/, "")
    .split("/")
    .map((word) => {
      try {
        return decodeURIComponent(word);
      } catch {
        // Typed by hand; used as it is.
        return word;
      }
    });
}

function routeNow(): PageRoute {
  const [kind = "", agent = "", key = "", what = "", id = "", generation = ""] = words();
  if (kind === "board") return { page: "board" };
  if (kind === "search" || kind === "sessions") return { page: "sessions", query: agent };
  if (kind === "talk" && key !== "")
    return {
      page: "talk",
      agent,
      key,
      ...(what === "e" && id !== "" ? { entry: id } : {}),
      ...(what === "t" && id !== "" ? { turn: id } : {}),
    };
  if (kind !== "s" || key === "") return { page: "home" };
  if (what === "c") return { page: "compactions", agent, key };
  if (what === "p") return { page: "preview", agent, key };
  if (what === "d" && id !== "") return { page: "diff", agent, key, request: id };
  if (what === "r" && id !== "") return { page: "request", agent, key, request: id };
  if (what !== "e" || id === "") return { page: "session", agent, key };
  return { page: "session", agent, key, entry: id, ...(generation === "" ? {} : { generation }) };
}

export const pageRoute = signal<PageRoute>(routeNow());
addEventListener("hashchange", () => (pageRoute.value = routeNow()));

/** A place of the inspector, in one session. */
export type SessionRoute = Exclude<PageRoute, { page: "home" | "talk" | "board" | "sessions" }>;

function restOf(route: SessionRoute): string[] {
  if (route.page === "compactions") return ["c"];
  if (route.page === "preview") return ["p"];
  if (route.page === "diff") return ["d", route.request];
  if (route.page === "request") return ["r", route.request];
  const { entry, generation } = route;
  if (entry === undefined) return [];
  return generation === undefined ? ["e", entry] : ["e", entry, generation];
}

function restOfTalk({ entry, turn }: Extract<PageRoute, { page: "talk" }>): string[] {
  if (turn !== undefined) return ["t", turn];
  return entry === undefined ? [] : ["e", entry];
}

function partsOf(route: PageRoute): string[] {
  switch (route.page) {
    case "home":
      return [];
    case "board":
      return ["board"];
    case "sessions":
      return route.query === "" ? ["sessions"] : ["search", route.query];
    case "talk":
      return ["talk", route.agent, route.key, ...restOfTalk(route)];
    default:
      return ["s", route.agent, route.key, ...restOf(route)];
  }
}

export function addressOf(route: PageRoute): string {
  return `#/${partsOf(route).map(encodeURIComponent).join("/")}`;
}

export function go(route: PageRoute): void {
  location.hash = addressOf(route);
}

/** One level up: from changes to their request, from a request to its session, from a session to the list. */
export function goUp(): void {
  const route = pageRoute.value;
  if (route.page === "home" || route.page === "talk") return;
  if (route.page === "board") go({ page: "home" });
  else if (route.page === "sessions" || (route.page === "session" && route.entry === undefined))
    go({ page: "sessions", query: "" });
  else if (route.page === "diff") go({ ...route, page: "request" });
  else go({ page: "session", agent: route.agent, key: route.key });
}
