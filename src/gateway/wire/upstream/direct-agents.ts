/** Connections to the endpoints of models, kept for the next request. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";

export interface DirectAgents {
  http: HttpAgent;
  https: HttpsAgent;
  /** Closes what is idle, and what runs. */
  close(): void;
}

export function directAgents(): DirectAgents {
  const options = { keepAlive: true, noDelay: true, maxSockets: Infinity };
  const http = new HttpAgent(options);
  const https = new HttpsAgent(options);
  const close = (): void => {
    http.destroy();
    https.destroy();
  };
  return { http, https, close };
}
