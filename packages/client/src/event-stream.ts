/** Server-sent events of one stream, and following it over lost connections: each event once, none missed. */
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError } from "./client-error.ts";
import { Tries, type HttpRequests } from "./http-requests.ts";

/** A connection without a byte for this long is lost, ms; the server sends a comment every 15 s. */
const SILENT_MS = 45_000;

/** Ends a stream that has all that was asked for. */
const UNTIL = "events.until";

interface Frame {
  id: string;
  data: string;
}

/** Complete frames of the text; the last one may still be open. */
function framesOf(text: string): { frames: Frame[]; rest: string } {
  const blocks = text.split(/\r?\n\r?\n/);
  const rest = blocks.pop() ?? "";
  const frames = blocks.map((block) => {
    const frame: Frame = { id: "", data: "" };
    for (const line of block.split(/\r?\n/)) {
      const [, name = "", value = ""] = /^(\w*): ?(.*)$/.exec(line) ?? [];
      if (name === "id") frame.id = value;
      if (name === "data") frame.data += frame.data === "" ? value : `\n${value}`;
    }
    return frame;
  });
  return { frames: frames.filter(({ data }) => data !== ""), rest };
}

function eventOf({ id, data }: Frame): ServerEvent {
  const { work, agent, session, ...event } = JSON.parse(data) as Omit<ServerEvent, "event" | "id">;
  return { id: Number(id), work, agent, session, event: event as ServerEvent["event"] };
}

/** Events of one connection until it ends. Throws when it breaks. */
async function* eventsOf(answer: Response, abort: AbortController): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let open = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wind = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), SILENT_MS);
  };
  try {
    wind();
    for await (const chunk of chunksOf(answer)) {
      wind();
      const { frames, rest } = framesOf(open + decoder.decode(chunk, { stream: true }));
      open = rest;
      for (const frame of frames) yield eventOf(frame);
    }
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

/** A reader instead of the stream's own iterator, which some browsers lack. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
      if (done || !value) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

export interface Followed {
  path: string;
  query?: Readonly<Record<string, string | undefined>>;
  /** Id of the last event that the caller has. */
  after: number;
  /** Id of the last event that is wanted: the server ends the stream there. */
  until?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whether a connection that the server ended was the last; `had`: it delivered something. */
  isOver(had: boolean): Promise<boolean>;
  isLast(event: ServerEvent): boolean;
}

/** Throws `ClientError` where the server refuses or is lost too long, and the signal's reason. */
export async function* followEvents(requests: HttpRequests, followed: Followed): AsyncGenerator<ServerEvent> {
  const { path, until, signal, isLast } = followed;
  const query = until === undefined ? followed.query : { ...followed.query, until: String(until) };
  const tries = new Tries(requests.retryMs, signal);
  for (let { after } = followed; ;) {
    const abort = new AbortController();
    const both = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
    const headers = { "last-event-id": String(after) };
    let had = false;
    let failure: unknown = requests.lost(undefined);
    try {
      const answer = await requests.once({ method: "GET", path, query, headers, signal: both });
      tries.connected();
      for await (const event of eventsOf(answer, abort)) {
        tries.succeeded();
        had = true;
        if ((event.event.type as string) === UNTIL) return;
        // A proxy may repeat what it has sent.
        if (event.id <= after) continue;
        after = event.id;
        yield event;
        if (isLast(event)) return;
      }
      if (until === undefined && (await followed.isOver(had))) return;
    } catch (error) {
      signal?.throwIfAborted();
      failure = error instanceof ClientError ? error : requests.lost(error);
    } finally {
      abort.abort();
    }
    await tries.failed(failure);
  }
}
