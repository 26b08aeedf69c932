/** Search and read commands, with the same functions as the model's tools. */
import { PagurusError } from "@pagurus/contract/errors";
import type { ToolContext } from "@pagurus/contract/host/plugin";
import { losslessSettings, sessionPolicy } from "../lossless-settings.ts";
import { takeOthers } from "../recall/other-sessions.ts";
import { recallTools } from "../recall/recall-tools.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { SearchHit, StoredEntry, SummaryNode } from "../store/store-types.ts";
import { requireSession, withStore, type CarePlace } from "./store-files.ts";
import { defined } from "@pagurus/core/data/defined";
import { currentFolder } from "@pagurus/core/platform/surroundings";

export interface LookAt {
  sessionKey: string;
  id: string;
}

export interface Expansion extends LookAt {
  /** For a summary: continue after this entry. */
  after?: string;
  /** For an entry: continue at this character. */
  offset?: number;
  maxTokens?: number;
}

/** Searches one session, or all of the agent; best first. Throws `session_not_found`. */
export function searchStore(
  place: CarePlace,
  request: { query: string; sessionKey?: string; limit: number },
): Promise<SearchHit[]> {
  const { query, sessionKey, limit } = request;
  const session = sessionKey === undefined ? undefined : requireSession(place, sessionKey);
  return withStore(place, async (store) => {
    const { shared } = place.transcripts;
    if (shared && !session) {
      const signal = new AbortController().signal;
      const settings = losslessSettings(place.config);
      const mayKeep = (key: string): boolean => sessionPolicy(settings, key) === "kept";
      await takeOthers(store, query, { asking: "", shared: shared.search, signal, mayKeep });
    }
    if (session && !store.has(session.sessionId)) return [];
    return store.search({ query, limit, ...(session ? { sessions: [session.sessionId] } : {}) });
  });
}

/** Describes an entry or a summary. Throws `entry_not_found`. */
export function describeId(place: CarePlace, at: LookAt): Promise<string> {
  return runTool(place, at, "context_describe", { id: at.id });
}

/** The original text, in pages. Throws `entry_not_found`. */
export function expandId(place: CarePlace, expansion: Expansion): Promise<string> {
  const { id, after, offset, maxTokens } = expansion;
  return runTool(place, expansion, "context_expand", {
    id,
    ...defined({ after, offset, max_tokens: maxTokens }),
  });
}

/** The entry or summary as it is stored. Throws `entry_not_found`. */
export function readId(place: CarePlace, { id }: LookAt): Promise<StoredEntry | SummaryNode> {
  return withStore(place, (store) => storedAs(store, id));
}

/** The stored entry, or a page of those below a summary. Throws `entry_not_found`. */
export function readWords(
  place: CarePlace,
  { id, after, maxTokens }: Expansion,
): Promise<{ items: StoredEntry[]; next?: string }> {
  return withStore(place, (store) => {
    const found = storedAs(store, id);
    if (!("nodeId" in found)) return { items: [found] };
    return store.range(found.sessionId, found.firstEntryId, found.lastEntryId, {
      kinds: ["message", "custom_message"],
      ...defined({ after, maxTokens }),
    });
  });
}

function storedAs(store: LosslessStore, id: string): StoredEntry | SummaryNode {
  const found = store.node(id) ?? store.get(id);
  if (found) return found;
  throw new PagurusError(
    "entry_not_found",
    `The store has no entry and no summary ${JSON.stringify(id)}; \`pagurus lossless search\` gives ids.`,
    { details: { id } },
  );
}

/** Text result of the tool with this name. */
function runTool(
  place: CarePlace,
  at: LookAt,
  name: string,
  params: Record<string, unknown>,
): Promise<string> {
  return withStore(place, async (store) => {
    storedAs(store, at.id);
    const tool = recallTools(() => store).find((known) => known.name === name);
    const context: ToolContext = {
      sessionKey: at.sessionKey,
      sessionId: place.transcripts.find(at.sessionKey)?.sessionId ?? "",
      cwd: currentFolder(),
      folderSessions: () => [],
      signal: new AbortController().signal,
    };
    const answer = await tool?.execute(params, context);
    return (answer?.content ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
  });
}
