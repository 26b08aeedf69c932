/**
 * Events of the server, by the one stream that the tabs of a browser share: it has six connections to a server for all of them. Where the
 * browser has no worker for that, by a stream of this page.
 */
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError, type FollowOptions } from "@pagurus/client/index";
import { server } from "./server-calls.ts";
import type { WantedEvents } from "./shared-stream.ts";
import { forgetLogin, login } from "./sign-in.ts";
import { NoWorker, openFeed } from "./worker-door.ts";

/**
 * Each event after an id once; those of one piece of work until its end. Throws as the client does, and the signal's reason.
 */
export async function* serverEvents(
  wanted: WantedEvents,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<ServerEvent> {
  const secret = login.value ?? "";
  const opened = openFeed(secret, wanted);
  if (!opened) return yield* ownStream(wanted, { after, signal });
  const { feed, close } = opened;
  const onAbort = (): void => feed.fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let last = after;
  try {
    signal.throwIfAborted();
    for await (const event of joined(feed.begins.promise, feed.events(), { wanted, after, signal })) {
      signal.throwIfAborted();
      last = event.id;
      yield event;
    }
    return;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ClientError && error.status === 401 && login.value === secret) forgetLogin();
    if (!(error instanceof NoWorker)) throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    close();
  }
  yield* ownStream(wanted, { after: last, signal });
}

/** The events before the shared stream's beginning, which the server has, and then those of that stream. */
async function* joined(
  begins: Promise<number>,
  coming: AsyncIterable<ServerEvent>,
  { wanted, after, signal }: { wanted: WantedEvents; after: number; signal: AbortSignal },
): AsyncGenerator<ServerEvent> {
  const { work } = wanted;
  const until = await begins;
  let last = after;
  let had = false;
  if (last < until)
    for await (const event of ownStream(wanted, { after, until, signal })) {
      last = event.id;
      had = true;
      yield event;
      if (isEnd(wanted, event)) return;
    }
  // Work that has ended has no event to come; the server ends its stream.
  if (work !== undefined && !had && (await server.work(work, { signal })).state === "ended")
    return yield* server.followWork(work, { after, signal });
  for await (const event of coming) {
    if (event.id <= last) continue;
    last = event.id;
    yield event;
    if (isEnd(wanted, event)) return;
  }
}

function isEnd({ work }: WantedEvents, { event }: ServerEvent): boolean {
  return work !== undefined && event.type === "work.ended";
}

function ownStream(
  { agent, session, work }: WantedEvents,
  options: FollowOptions,
): AsyncGenerator<ServerEvent> {
  if (work !== undefined) return server.followWork(work, options);
  return session === undefined
    ? server.events(options)
    : server.sessionEvents(session, { agent, ...options });
}
