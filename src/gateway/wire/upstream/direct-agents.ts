/** Connections to the endpoints of models, kept for the next request. */
import { Agent as HttpAgent, type ClientRequestArgs } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { SparingReads } from "./sparing-reads.ts";

export interface DirectAgents {
  http: HttpAgent;
  https: HttpsAgent;
  /** Of the connections of both. */
  reads: SparingReads;
  /** Closes what is idle, and what runs. */
  close(): void;
}

/**
 * As Node reads by itself each read has 64 KB of its own, however few bytes come: with hundreds of streams the collector is
 * then what a request waits for. (On Windows reads of several connections are under way at once, and can share no buffer.)
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

export function directAgents(): DirectAgents {
  const options = { keepAlive: true, noDelay: true, maxSockets: Infinity };
  const http = new HttpAgent(options);
  const https = new HttpsAgent(options);
  const reads = new SparingReads();
  for (const agent of [http, https]) readSparingly(agent, reads);
  const close = (): void => {
    http.destroy();
    https.destroy();
  };
  return { http, https, reads, close };
}
