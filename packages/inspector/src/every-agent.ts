/** Lists over all agents of the configuration, in one. */
import { allPages, errorText } from "./loaded.ts";
import { server } from "./server-calls.ts";
import type { PagurusClient } from "@pagurus/client/index";
import type { Session } from "@pagurus/api/types";

export type Hit = Awaited<ReturnType<PagurusClient["search"]>>[number] & { agent: string };

export interface OfAgents<T> {
  items: T[];
  /** Sentences about agents whose list failed. */
  problems: string[];
}

const PAGE = 1_000;
const MOST_HITS = 200;

async function sessionsOf(agent: string, signal: AbortSignal): Promise<Session[]> {
  const keys: (string | undefined)[] = [undefined];
  return allPages(
    async (from) => {
      const after = keys[from];
      const { sessions, next } = await server.listSessions({ agent, limit: PAGE, after, signal });
      keys.push(next);
      return { items: sessions, ...(next === undefined ? {} : { next: from + 1 }) };
    },
    () => undefined,
  );
}

async function hitsOf(agent: string, words: string, signal: AbortSignal): Promise<Hit[]> {
  const hits = await server.search(words, { agent, limit: MOST_HITS, signal });
  return hits.map((hit) => ({ ...hit, agent }));
}

/** One list for each agent; one agent's failure leaves those of the others. Throws where all fail. */
async function ofEach<T>(
  read: (agent: string) => Promise<T[]>,
  signal: AbortSignal,
): Promise<{ lists: T[][]; problems: string[] }> {
  const agents = await server.agents({ signal });
  const results = await Promise.allSettled(agents.map(read));
  const lists: T[][] = [];
  const problems: string[] = [];
  for (const [at, result] of results.entries())
    if (result.status === "fulfilled") lists.push(result.value);
    else problems.push(`${agents[at] ?? ""}: ${errorText(result.reason)}`);
  if (lists.length === 0) throw new Error(problems.join(" "));
  return { lists, problems };
}

/** Last used first. */
export async function allSessions(signal: AbortSignal): Promise<OfAgents<Session>> {
  const { lists, problems } = await ofEach((agent) => sessionsOf(agent, signal), signal);
  const items = lists
    .flat()
    .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
  return { items, problems };
}

/** The best of each agent, then the second of each, and so on: scores of two agents do not compare. */
export async function allHits(words: string, signal: AbortSignal): Promise<OfAgents<Hit>> {
  const { lists, problems } = await ofEach((agent) => hitsOf(agent, words, signal), signal);
  const most = Math.max(...lists.map(({ length }) => length));
  const items = Array.from({ length: most }, (_, rank) => lists.flatMap((list) => list[rank] ?? [])).flat();
  return { items, problems };
}
