/** The Agent Client Protocol at `/acp`, over WebSocket and streamable HTTP: the same agent that editors start by `pagurus acp`. */
import {
  createNodeHttpHandler,
  createNodeWebSocketUpgradeHandler,
} from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { createAcpAgent, type AcpAgent, type AcpAgentOptions } from "../acp-server/acp-agent.ts";
import type { Pagurus } from "../contract/host/host.ts";
import type { AskPermission } from "../contract/host/run.ts";
import type { OpenByToken } from "./access/open-by-token.ts";
import type { JsonThread } from "../platform/json/json-thread.ts";
import { BoundedSocket, boundedRequest } from "./acp-bounds.ts";

/** Longest message of a client, bytes: enough for an image of the largest size that a prompt takes; the library parses it at once. */
const MOST_BYTES = 12 * 2 ** 20;

export interface AcpApi {
  serve(request: IncomingMessage, response: ServerResponse, tokenId: string): void;
  /** Takes a WebSocket over. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, tokenId: string): void;
  /** Answers `deny` for a session that no client of it has open. */
  readonly askPermission: AskPermission;
  close(): Promise<void>;
}

export interface AcpApiOptions {
  /** Registers what is open for a token, and calls back when that ends. */
  openFor: OpenByToken["add"];
  /** Longest body of a request, where it is below the limit of a message here. */
  maxBodyBytes: number;
  /** Parses long bodies. */
  json: JsonThread;
}

export function createAcpApi(
  pagurus: Pagurus,
  options: AcpAgentOptions,
  { openFor, maxBodyBytes, json }: AcpApiOptions,
): AcpApi {
  const agents = new Set<AcpAgent>();
  // The library does not pass the request on to the agent that it makes for it.
  const tokens = new AsyncLocalStorage<string>();
  const server = new AcpServer({
    createAgent: () => {
      const agent = createAcpAgent(options);
      agents.add(agent);
      return {
        connect: (stream, transport) => {
          const connection = agent.connect(Promise.resolve(pagurus), stream, transport);
          // Also a connection over HTTP, which has no socket of its own: its turns are aborted.
          const forget = openFor(tokens.getStore() ?? "", () => agent.end());
          void connection.closed.finally(() => {
            agents.delete(agent);
            forget();
          });
          return connection;
        },
      };
    },
  });
  const most = Math.min(MOST_BYTES, maxBodyBytes);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: most, WebSocket: BoundedSocket });
  const serve = createNodeHttpHandler(server, { maxRequestBodyBytes: most });
  const upgrade = createNodeWebSocketUpgradeHandler(server, sockets);
  return {
    serve(request, response, tokenId) {
      if (request.method !== "POST") return void tokens.run(tokenId, () => serve(request, response));
      void boundedRequest(request, response, { maxBytes: most, json }).then((bounded) => {
        if (bounded) tokens.run(tokenId, () => serve(bounded, response));
      });
    },
    upgrade: (request, socket, head, tokenId) => tokens.run(tokenId, () => upgrade(request, socket, head)),
    async askPermission(question) {
      for (const agent of agents)
        if (await agent.runs(question.sessionKey)) return agent.askPermission(question);
      return "deny";
    },
    close: async () => {
      for (const agent of agents) agent.end();
      await server.close();
      sockets.close();
    },
  };
}
