/**
 * The worker that all tabs of a browser share: it has the one stream of events of the server that its file came from, and hands each tab
 * those that it wants.
 */
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError, createClient, type PagurusClient } from "@pagurus/client/index";
import { SharedStream, type WantedEvents } from "./shared-stream.ts";

/** Of a tab: follows events, or ends that. */
export type ToWorker = { id: number; login: string; wanted: WantedEvents } | { id: number; ends: true };

/** Of the worker: that it lives, or news of what a tab follows. */
export type FromWorker =
  | { lives: true }
  | { id: number; begins: number }
  | { id: number; event: ServerEvent }
  | { id: number; error: { code: ClientError["code"]; message: string; status: number } };

/** How often a tab learns that the worker lives, ms. */
const LIVES_MS = 10_000;
const RETRY_MS = 5_000;

function clientFor(login: string): PagurusClient {
  return createClient({ url: new URL("../..", location.href).href, retryMs: RETRY_MS, token: login });
}

const stream = new SharedStream({
  newest: async (login, signal) => (await clientFor(login).status({ signal })).lastEvent,
  events: (login, after, signal) => clientFor(login).events({ after, signal }),
});

function serve(port: MessagePort): void {
  const followed = new Map<number, () => void>();
  const send = (message: FromWorker): void => port.postMessage(message);
  const fail = (id: number, error: unknown): void => {
    followed.delete(id);
    const { code, message, status } =
      error instanceof ClientError ? error : new ClientError("server_failed", String(error));
    send({ id, error: { code, message, status } });
  };
  port.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
    const { id } = data;
    if ("ends" in data) {
      followed.get(id)?.();
      followed.delete(id);
      return;
    }
    const forget = stream.add({
      login: data.login,
      wanted: data.wanted,
      onBegin: (begins) => send({ id, begins }),
      onEvent: (event) => send({ id, event }),
      onFailure: (error) => fail(id, error),
    });
    followed.set(id, forget);
  });
  const timer = setInterval(() => send({ lives: true }), LIVES_MS);
  // Some browsers report that a tab is no more; a tab that is closed ends what it follows by itself.
  port.addEventListener("close", () => {
    clearInterval(timer);
    for (const forget of followed.values()) forget();
  });
  port.start();
  send({ lives: true });
}

addEventListener("connect", (event) => {
  for (const port of (event as MessageEvent).ports) serve(port);
});
