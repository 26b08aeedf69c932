/** Clients that post turns to whichever host is there, and followers that lose their streams again and again. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { ServeProcess, StreamedEvent } from "../../server/serve-setting.ts";
import { promptOf } from "./flood-model.ts";
import type { FloodHosts } from "./flood-hosts.ts";

const POST_MS = 20_000;
/** Posts of a session that may wait. */
const AHEAD = 3;
/** Between two posts of a session, ms. */
const EVERY_MS = 400;

export interface FloodClient {
  session: string;
  /** Ids of the work, in the order of the posts. */
  works: string[];
  events: StreamedEvent[];
  /** Undefined while more is posted. */
  total: number | undefined;
}

/** Repeats a request at any host until one answers; every third is cut off by the client itself. */
export async function insist(
  hosts: FloodHosts,
  next: () => number,
  request: (host: ServeProcess, signal: AbortSignal) => Promise<Response>,
): Promise<Record<string, unknown>> {
  for (;;) {
    const host = await hosts.some(next);
    const cut = AbortSignal.timeout(next() < 0.3 ? Math.ceil(next() * 40) : POST_MS);
    try {
      const answer = await request(host, cut);
      const value = (await answer.json()) as Record<string, unknown>;
      if (answer.ok) return value;
      assert.ok(answer.status >= 500, JSON.stringify(value));
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      await pause(20);
    }
  }
}

const endsOf = ({ events }: FloodClient): number => events.filter(({ type }) => type === "work.ended").length;

/** Posts until `isOver`, and at least `least` times. */
export async function post(
  hosts: FloodHosts,
  client: FloodClient,
  how: { next: () => number; least: number; isOver: () => boolean },
): Promise<void> {
  const { session, works } = client;
  for (let at = 0; at < how.least || !how.isOver(); at += 1) {
    while (at - endsOf(client) >= AHEAD) await pause(20);
    const work = await insist(hosts, how.next, (host, signal) =>
      fetch(`${host.url}/api/v1/sessions/${session}/turns`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${host.key}`,
          "content-type": "application/json",
          "idempotency-key": `${session}-${at}`,
        },
        body: JSON.stringify({ prompt: promptOf(session, at) }),
        signal,
      }),
    );
    works.push(String(work["id"]));
    await pause(EVERY_MS * how.next());
  }
  client.total = works.length;
}

/** Follows the session over lost streams, at any host, until all its work has ended. */
export async function follow(hosts: FloodHosts, client: FloodClient, next: () => number): Promise<void> {
  const { session, events } = client;
  const isOver = (): boolean => client.total !== undefined && endsOf(client) >= client.total;
  while (!isOver()) {
    const host = await hosts.some(next);
    const cut = AbortSignal.timeout(300 + Math.ceil(next() * 4_000));
    const resume = { "last-event-id": String(events.at(-1)?.id ?? 0) };
    try {
      for await (const event of host.follow(`/api/v1/sessions/${session}/events`, resume, cut)) {
        events.push(event);
        if (isOver()) break;
      }
    } catch {
      await pause(50);
    }
  }
}
