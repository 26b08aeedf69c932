/** Connections to the endpoints of models, kept for the next request. */
import { Agent as HttpAgent, type ClientRequestArgs } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { createConnection, type NetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";

export interface DirectAgents {
  http: HttpAgent;
  https: HttpsAgent;
  /** Closes what is idle, and what runs. */
  close(): void;
}

/** Of one read. All connections share it, since what a read brought is copied before the next one. */
const READS = Buffer.allocUnsafe(64 * 2 ** 10);

/**
 * Without `onread` each read has 64 KB of its own, however few bytes come: with hundreds of streams the collector is then
 * what a request waits for. (On Windows reads of several connections are under way at once.)
 */
class ReadingAgent extends HttpAgent {
  override createConnection(options: ClientRequestArgs): Duplex {
    if (process.platform === "win32") return createConnection(options as NetConnectOpts);
    const callback = (length: number): boolean => socket.push(Buffer.from(READS.subarray(0, length)));
    const socket = createConnection({
      ...(options as NetConnectOpts),
      onread: { buffer: READS, callback },
    });
    return socket;
  }
}

export function directAgents(): DirectAgents {
  const options = { keepAlive: true, noDelay: true, maxSockets: Infinity };
  const http = new ReadingAgent(options);
  const https = new HttpsAgent(options);
  const close = (): void => {
    http.destroy();
    https.destroy();
  };
  return { http, https, close };
}
