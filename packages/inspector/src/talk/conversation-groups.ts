/** Sessions as a person looks for them: by day or folder, those of programs that use the API folded, requests for titles left out. */
import type { Session } from "@pagurus/api/types";
import { oneLine } from "../plain-text.ts";

export type Grouping = "day" | "folder";

export interface SessionGroup {
  name: string;
  sessions: Session[];
  /** Closed until the user opens it. */
  isFolded: boolean;
}

/** Key of a session that a client of `/v1` has: `api/<owner>/<id>`. */
const API_KEY = /^api\/([^/]*)\//;
/** Key of a subagent's session. */
const CHILD_KEY = /\/sub-\d+$/;
/** How chat programs ask a model for a title, tags or follow-up questions of their own conversations. */
const TITLE_REQUEST =
  /^(?:#+ ?task:?|generate a (?:concise|short|brief)|summari[sz]e this conversation (?:in|as) a title)/i;

const DAY_MS = 86_400_000;

export function titleOf({ name, title, key }: Pick<Session, "name" | "title" | "key">): string {
  const text = oneLine(name ?? title ?? "");
  return text === "" ? oneLine(key) : text;
}

function dayOf(iso: string, now: number): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const at = Date.parse(iso);
  if (at >= midnight) return "Today";
  if (at >= midnight - DAY_MS) return "Yesterday";
  if (at >= midnight - 6 * DAY_MS) return "Last 7 days";
  if (at >= midnight - 29 * DAY_MS) return "Last 30 days";
  return String(new Date(at).getFullYear());
}

/** The last two names of a path, which are mostly enough. */
function folderName(path: string): string {
  const names = path.split(/[\\/]/).filter((name) => name !== "");
  return names.length === 0 ? path : names.slice(-2).join("/");
}

function isTitleRequest(session: Session): boolean {
  return session.turns <= 1 && TITLE_REQUEST.test(session.title ?? "");
}

/** Sessions are last used first, and so are the groups; those of programs come at the end. */
export function groupedSessions(
  sessions: readonly Session[],
  grouping: Grouping,
  now: number,
): SessionGroup[] {
  const own = new Map<string, Session[]>();
  const programs = new Map<string, Session[]>();
  const put = (groups: Map<string, Session[]>, name: string, session: Session): void => {
    const known = groups.get(name);
    if (known) known.push(session);
    else groups.set(name, [session]);
  };
  for (const session of sessions) {
    if (isTitleRequest(session)) continue;
    const [, owner] = API_KEY.exec(session.key) ?? [];
    if (owner !== undefined) put(programs, `API · ${oneLine(owner)}`, session);
    else if (CHILD_KEY.test(session.key)) put(programs, "Subagents", session);
    else
      put(
        own,
        grouping === "day" ? dayOf(session.updatedAt, now) : folderName(session.folder ?? session.cwd),
        session,
      );
  }
  const groups = (of: Map<string, Session[]>, isFolded: boolean): SessionGroup[] =>
    [...of].map(([name, found]) => ({ name, sessions: found, isFolded }));
  return [...groups(own, false), ...groups(programs, true)];
}
