/** Kept connections to the endpoints of models. */
import type { Clock } from "@pagurus/core/data/clock";
import { Agent as HttpAgent, type ClientRequestArgs } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { SparingReads } from "./sparing-reads.ts";

export interface DirectAgents {
  http: HttpAgent;
  https: HttpsAgent;
  /** Read settings of both agents' connections. */
  reads: SparingReads;
  /** Closes idle and active connections. */
  close(): void;
}

/**
 * Sets how connections are read. By default Node allocates 64 KB for each read, however few bytes come: with hundreds of streams
 * requests then wait for the garbage collector. (On Windows reads of several connections run at once, and cannot share a buffer.)
 */
function readSparingly(agent: HttpAgent, reads: SparingReads): void {
  if (process.platform === "win32") return;
  const connect = agent.createConnection.bind(agent);
  const reuse = agent.reuseSocket.bind(agent);
  agent.createConnection = (options, done) =>
    reads.open((onread) => connect({ ...options, onread } as ClientRequestArgs, done));
  agent.reuseSocket = (socket, request) => {
    reads.renew(socket);
    reuse(socket, request);
  };
}

export function directAgents(clock?: Clock): DirectAgents {
  const options = { keepAlive: true, noDelay: true, maxSockets: Infinity };
  const http = new HttpAgent(options);
  const https = new HttpsAgent(options);
  const reads = new SparingReads(clock);
  for (const agent of [http, https]) readSparingly(agent, reads);
  const close = (): void => {
    http.destroy();
    https.destroy();
  };
  return { http, https, reads, close };
}
