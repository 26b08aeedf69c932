/** The Agent Client Protocol at `/acp`, over WebSocket and streamable HTTP: the same agent that editors start by `pagurus acp`. */
import {
  createNodeHttpHandler,
  createNodeWebSocketUpgradeHandler,
} from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { createAcpAgent, type AcpAgent, type AcpAgentOptions } from "../acp-server/acp-agent.ts";
import type { Pagurus } from "../contract/host/host.ts";
import type { AskPermission } from "../contract/host/run.ts";

/** Longest message of a client, bytes. */
const MOST_BYTES = 32 * 2 ** 20;

export interface AcpApi {
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** Takes a WebSocket over. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Answers `deny` for a session that no client of it has open. */
  readonly askPermission: AskPermission;
  close(): Promise<void>;
}

export function createAcpApi(pagurus: Pagurus, options: AcpAgentOptions): AcpApi {
  const agents = new Set<AcpAgent>();
  const server = new AcpServer({
    createAgent: () => {
      const agent = createAcpAgent(options);
      agents.add(agent);
      return {
        connect: (stream, transport) => {
          const connection = agent.connect(Promise.resolve(pagurus), stream, transport);
          void connection.closed.finally(() => agents.delete(agent));
          return connection;
        },
      };
    },
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MOST_BYTES });
  return {
    serve: createNodeHttpHandler(server, { maxRequestBodyBytes: MOST_BYTES }),
    upgrade: createNodeWebSocketUpgradeHandler(server, sockets),
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
