/** A network between a host and its database; in a thread of its own, since the store's calls stop the thread that makes them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface ProxyTarget {
  host: string;
  port: number;
  /** In each direction, ms. */
  delayMs: number;
}

export interface DelayingProxy {
  /** The database's address through the proxy. */
  url: string;
  close(): Promise<unknown>;
}

/** `roundTripMs`: what it adds to a question and its answer together. */
export async function delayingProxy(url: string, roundTripMs: number): Promise<DelayingProxy> {
  const at = new URL(url);
  const target: ProxyTarget = { host: at.hostname, port: Number(at.port), delayMs: roundTripMs / 2 };
  const worker = new Worker(new URL("./proxy-thread.ts", import.meta.url), { workerData: target });
  const [port] = (await once(worker, "message")) as [number];
  at.port = String(port);
  return { url: at.href, close: () => worker.terminate() };
}
