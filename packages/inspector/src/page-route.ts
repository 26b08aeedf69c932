/** The page's place, kept in the fragment of its address, so that the browser's own keys and history work. */
// Takes the code out of the address first.
import "./sign-in.ts";
import { signal } from "@preact/signals";

export type PageRoute =
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
  if (kind !== "s" || key === "") return { page: "sessions", query: kind === "search" ? agent : "" };
  if (what === "c") return { page: "compactions", agent, key };
  if (what === "p") return { page: "preview", agent, key };
  if (what === "d" && id !== "") return { page: "diff", agent, key, request: id };
  if (what === "r" && id !== "") return { page: "request", agent, key, request: id };
  if (what !== "e" || id === "") return { page: "session", agent, key };
  return { page: "session", agent, key, entry: id, ...(generation === "" ? {} : { generation }) };
}

export const pageRoute = signal<PageRoute>(routeNow());
addEventListener("hashchange", () => (pageRoute.value = routeNow()));

function restOf(route: Exclude<PageRoute, { page: "sessions" }>): string[] {
  if (route.page === "compactions") return ["c"];
  if (route.page === "preview") return ["p"];
  if (route.page === "diff") return ["d", route.request];
  if (route.page === "request") return ["r", route.request];
  const { entry, generation } = route;
  if (entry === undefined) return [];
  return generation === undefined ? ["e", entry] : ["e", entry, generation];
}

export function addressOf(route: PageRoute): string {
  const parts =
    route.page === "sessions"
      ? route.query === ""
        ? []
        : ["search", route.query]
      : ["s", route.agent, route.key, ...restOf(route)];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(route: PageRoute): void {
  location.hash = addressOf(route);
}

/** One level up: from changes to their request, from a request to its session, from a session to the list. */
export function goUp(): void {
  const route = pageRoute.value;
  if (route.page === "sessions" || (route.page === "session" && route.entry === undefined))
    go({ page: "sessions", query: "" });
  else if (route.page === "diff") go({ ...route, page: "request" });
  else go({ page: "session", agent: route.agent, key: route.key });
}
