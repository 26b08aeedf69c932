/** A connection of a service that posts its events to `/hooks/<channel>` of the server. */
import type { ChannelPort } from "@pagurus/contract/channel/channel";
import type { WebhookAnswer, WebhookRoutes } from "../webhook/webhook-routes.ts";
import { ChatConnection, type ChatService } from "./chat-connection.ts";
import { ChatPlace } from "./chat-place.ts";

/** Interval at which the time of the connection is kept, ms. */
const SEEN_MS = 60_000;

export interface Hook {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

export interface HookService {
  service: ChatService;
  /** How long the service keeps events for a host that is away, ms. */
  keptMs: number;
  /** Why older events did not arrive; completes "Not connected since …: ". */
  lost: string;
  take(connection: ChatConnection, hook: Hook): Promise<WebhookAnswer>;
  /** Receives what the service has kept of an absence, before anything that it posts. Throws the adapter's errors. */
  catchUp?(connection: ChatConnection): Promise<void>;
}

export interface HookHost {
  port: ChannelPort;
  signal: AbortSignal;
  /** Absent where no server runs: nothing is received then. */
  routes: WebhookRoutes | undefined;
}

/** Throws `store_write_failed`. */
export async function openHookConnection(
  { service, keptMs, lost, take, catchUp }: HookService,
  { port, signal, routes }: HookHost,
): Promise<ChatConnection> {
  const place = new ChatPlace(port.cursor);
  const { seenBefore } = place;
  if (seenBefore !== undefined && service.clock.now() - seenBefore > keptMs)
    port.missed(`Not connected since ${new Date(seenBefore).toISOString()}: ${lost}.`);
  const connection = new ChatConnection(service, port, place, signal);
  if (connection.signal.aborted) return connection;
  await connection.receive(undefined);
  // A host that no server runs for takes nothing.
  if (routes) await catchUp?.(connection);
  const remove = routes?.add(service.id, (headers, body) => take(connection, { headers, body }));
  const keepTime = (): void => void connection.receive(undefined).catch(() => undefined);
  const stop = service.clock.every(SEEN_MS, keepTime, { ref: false });
  connection.signal.addEventListener("abort", () => {
    stop();
    remove?.();
  });
  return connection;
}
