/** Answers of the recall tools, which are declared in `recall-tools.ts`: search, describe, expand to the full text, pin. */
import type { ToolContext } from "@pagurus/contract/host/plugin";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { MOST_PAGE_TOKENS, PAGE_TOKENS, SEARCH_SCOPES, textOutcome } from "./recall-answer.ts";
import { describeEntry, describeNode, expandEntry, expandNode } from "./recall-read.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { PlaceFilter } from "../store/search/placing.ts";
import type { StoredEntry, SummaryNode } from "../store/store-types.ts";
import { asksForOrder, timeSpan } from "./time-words.ts";
import { defined } from "@pagurus/core/data/defined";

const MOST_PAGES = 50;
/** Minimum size of a useful answer. Tokens. */
const LEAST_PAGE_TOKENS = 200;
/** Characters of a query that are read. */
const MOST_QUERY_CHARS = 2_000;
/** Characters of a person's name. */
const MOST_NAME_CHARS = 200;

type Params = Record<string, unknown>;

function text(params: Params, key: string): string {
  const value = params[key];
  return typeof value === "string" ? value.trim() : "";
}

function count(params: Params, key: string, fallback: number, most: number): number {
  const value = params[key];
  return typeof value === "number" && value >= 1 ? Math.min(most, Math.floor(value)) : fallback;
}

function tokensFor(params: Params): number {
  return Math.max(LEAST_PAGE_TOKENS, count(params, "max_tokens", PAGE_TOKENS, MOST_PAGE_TOKENS));
}

export async function search(
  store: LosslessStore,
  params: Params,
  context: ToolContext,
  mayKeep: (sessionKey: string) => boolean,
): Promise<ToolOutcome> {
  const query = text(params, "query").slice(0, MOST_QUERY_CHARS);
  if (query === "") return textOutcome("Give the words to look for in `query`.", true);
  const page = count(params, "page", 1, MOST_PAGES + 1);
  if (page > MOST_PAGES) return textOutcome(NO_PAGE);
  const asked = text(params, "scope") || "session";
  if (asked !== "session" && context.folderSessions && context.sharedSearch) {
    const { takeOthers } = await import("./other-sessions.ts");
    const { sessionId: asking, sharedSearch: shared, signal, folderSessions } = context;
    const keys = asked === "folder" ? folderSessions() : undefined;
    await takeOthers(store, query, { asking, shared, signal, keys, mayKeep });
  }
  const scope = searchScope(store, asked, context);
  if ("problem" in scope) return textOutcome(scope.problem, scope.isError);
  const more = (next: number): string =>
    `\n[More: the same with page ${next}. context_expand with an id gives all of its words.]`;
  const narrow = narrowed(params);
  if (typeof narrow === "string") return textOutcome(narrow, true);
  const budgetTokens = tokensFor(params);
  const { recallPassages } = await import("./pages.ts");
  const found = await recallPassages(store, {
    query,
    ...narrow,
    byTime: params["order"] === "time" || (params["order"] === undefined && asksForOrder(query)),
    ...defined({ sessions: scope.sessions }),
    asking: context.sessionId,
    // The note about the next page is part of the answer.
    budgetTokens: budgetTokens - MORE_TOKENS,
    page: page - 1,
  });
  if (found.passages.length === 0)
    return textOutcome(page === 1 ? nothing(query, scope.wider, narrow.writer) : NO_PAGE);
  const shown = found.passages.map((passage) => passage.text).join("\n");
  return textOutcome(shown + (found.more && page < MOST_PAGES ? more(page + 1) : ""));
}

/** The sessions of a search; undefined: all of the agent. `wider`: scopes that look further. */
function searchScope(
  store: LosslessStore,
  scope: string,
  { sessionId, folderSessions }: ToolContext,
): { sessions?: string[]; wider: string[] } | { problem: string; isError: boolean } {
  if (scope !== "session" && !folderSessions)
    return { problem: "Others read this conversation, so only this session can be searched.", isError: true };
  const wider = folderSessions ? SEARCH_SCOPES.slice(SEARCH_SCOPES.indexOf(scope) + 1) : [];
  if (scope === "agent") return { wider };
  const own = store.session(sessionId) ? [sessionId] : [];
  if (scope === "folder") {
    const others = store.sessionIdsOf(folderSessions?.() ?? []);
    return { sessions: [...new Set([...own, ...others])], wider };
  }
  if (own.length > 0) return { sessions: own, wider };
  const hint = wider.length === 0 ? "" : `; scope ${quoted(wider)} searches other sessions`;
  return { problem: `Nothing of this session is stored yet${hint}.`, isError: false };
}

function quoted(scopes: readonly string[]): string {
  return scopes.map((scope) => `"${scope}"`).join(" or ");
}

const MORE_TOKENS = 30;
const NO_PAGE = "There is no such page: the one before was the last.";

const AUTHORS = { user: "user", assistant: "assistant", tool: "toolResult" } as const;

/** The times and the author of a search, or what is wrong with them. */
function narrowed(params: Params): PlaceFilter | string {
  const filter: PlaceFilter = {};
  for (const key of ["from", "to"] as const) {
    const given = text(params, key);
    if (given === "") continue;
    const span = timeSpan(given);
    if (!span)
      return `"${given}" in \`${key}\` is no date; write 2026, 2026-05, 2026-05-17 or 2026-05-17 09:30 (UTC).`;
    filter[key] = key === "from" ? span.start : span.end;
  }
  if (filter.from !== undefined && filter.to !== undefined && filter.from >= filter.to)
    return `\`from\` is after \`to\`; exchange them.`;
  const who = text(params, "who");
  const role = who.toLowerCase();
  if (role === "user" || role === "assistant" || role === "tool") filter.who = AUTHORS[role];
  else if (who !== "") Object.assign(filter, { who: "user", writer: who.slice(0, MOST_NAME_CHARS) });
  return filter;
}

function nothing(query: string, wider: readonly string[], writer: string | undefined): string {
  const by = writer === undefined ? "" : ` in messages of ${writer}; leave \`who\` out where it is no group`;
  const elsewhere = wider.length === 0 ? "" : `, or scope ${quoted(wider)} for other sessions`;
  return `Nothing was found for "${query}"${by}. Try other words for it, a name or a path${elsewhere}.`;
}

function found(
  store: LosslessStore,
  params: Params,
  context: ToolContext,
): { node: SummaryNode } | { entry: StoredEntry } | undefined {
  const id = text(params, "id");
  const node = store.node(id);
  const entry = node ? undefined : store.get(id);
  const entryId = node ? node.firstEntryId : entry?.entryId;
  if (entryId === undefined || !mayShow(store, entryId, context)) return undefined;
  return node ? { node } : entry && { entry };
}

/** Where others read the answers, only what is in this session. */
function mayShow(store: LosslessStore, entryId: string, { sessionId, folderSessions }: ToolContext): boolean {
  if (folderSessions) return true;
  return store.session(sessionId) !== undefined && store.locate(sessionId, entryId) !== undefined;
}

function unknown(params: Params): ToolOutcome {
  const id = text(params, "id");
  if (id === "")
    return textOutcome("Give the id of an entry or of a part in `id`; context_search gives ids.", true);
  return textOutcome(`There is no entry or part "${id}"; context_search gives ids.`, true);
}

export function expand(store: LosslessStore, params: Params, context: ToolContext): ToolOutcome {
  const at = found(store, params, context);
  if (!at) return unknown(params);
  const maxTokens = tokensFor(params);
  return "node" in at
    ? expandNode(store, at.node, { after: text(params, "after"), maxTokens })
    : expandEntry(at.entry, count(params, "offset", 0, Number.MAX_SAFE_INTEGER), maxTokens);
}

/** Tokens of the pinned entries of a session. */
function pinnedTokens(store: LosslessStore, sessionId: string): number {
  return store
    .pins(sessionId)
    .reduce((sum, { entryId }) => sum + (store.get(entryId, sessionId)?.tokens ?? 0), 0);
}

export function pinTool(
  store: LosslessStore,
  params: Params,
  context: ToolContext,
  limit: number,
): ToolOutcome {
  const { sessionId } = context;
  const id = text(params, "id");
  // What a host without this database has to know is owed to the session's log.
  const changed = (change: () => boolean): boolean =>
    store.transaction(() => {
      if (!change()) return false;
      store.owe(sessionId, "pin", id);
      return true;
    });
  if (params["remove"] === true)
    return textOutcome(
      store.session(sessionId) && changed(() => store.unpin(sessionId, id))
        ? `Entry ${id} is not pinned any more.`
        : `Entry ${id} was not pinned.`,
    );
  if (store.node(id))
    return textOutcome(`${id} is a summary; pin an entry: context_expand gives their ids.`, true);
  const place = store.session(sessionId) && store.locate(sessionId, id);
  if (!place) {
    if (!found(store, params, context)) return unknown(params);
    return textOutcome(
      `The entry ${id} is of another session; only entries of this one can be pinned.`,
      true,
    );
  }
  if (place.kind !== "message") return textOutcome(`The entry ${id} is no message; pin a message.`, true);
  const note = text(params, "note");
  const wanted = { entryId: id, pinnedAt: Date.now(), ...(note === "" ? {} : { note }) };
  const isNew = changed(() => store.pin(sessionId, wanted));
  const tokens = pinnedTokens(store, sessionId);
  const but =
    tokens <= limit
      ? ""
      : ` But all pins together have ${tokens} tokens and a summary has room for ${limit}: the oldest that fit are shown.`;
  return textOutcome(
    isNew
      ? `Entry ${id} is pinned: it stays word for word through every compaction.${but}`
      : `Entry ${id} was pinned already.${but}`,
  );
}

export function describe(store: LosslessStore, params: Params, context: ToolContext): ToolOutcome {
  const at = found(store, params, context);
  if (!at) return unknown(params);
  return textOutcome(
    "node" in at ? describeNode(store, at.node) : describeEntry(store, at.entry, context.sessionId),
  );
}
