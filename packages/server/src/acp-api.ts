/** The Agent Client Protocol at `/acp`, over WebSocket and streamable HTTP: the same agent that editors start by `pagurus acp`. */
import {
  createNodeHttpHandler,
  createNodeWebSocketUpgradeHandler,
} from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { createAcpAgent, type AcpAgent, type AcpAgentOptions } from "@pagurus/acp-server/acp-agent";
import type { PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { Caller } from "./access/caller.ts";
import type { OpenByToken } from "./access/open-by-token.ts";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import type { InFlight } from "./access/in-flight.ts";
import { boundedRequest, boundedSocket } from "./acp-bounds.ts";
import { LongMessages } from "./acp-messages.ts";
import { AcpConnections, CONNECTION_HEADER } from "./acp-connections.ts";
import type { AskPermission } from "@pagurus/contract/host/run";

/** Longest message of a client, bytes: enough for an image of the largest size that a prompt takes; the library parses it at once. */
const MOST_BYTES = 8 * 2 ** 20;

export interface AcpApi {
  serve(request: IncomingMessage, response: ServerResponse, caller: Caller): void;
  /** Takes a WebSocket over. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): void;
  /** Answers `deny` for a session that no client of it has open. */
  readonly askPermission: AskPermission;
  close(): Promise<void>;
}

/** What serves the connections of one caller: an id of a connection is of no use to another one. */
interface CallerServer {
  server: AcpServer;
  connections: AcpConnections;
  serve: ReturnType<typeof createNodeHttpHandler>;
  upgrade: ReturnType<typeof createNodeWebSocketUpgradeHandler>;
}

export interface AcpApiOptions {
  /** Registers what is open for a token, and calls back when that ends. */
  openFor: OpenByToken["add"];
  /** Longest body of a request, where it is below the limit of a message here. */
  maxBodyBytes: number;
  inFlight: InFlight;
  /** Parses long bodies. */
  json: JsonThread;
}

/** As a client ends it. */
async function closeConnection(server: AcpServer, id: string): Promise<void> {
  const headers = { [CONNECTION_HEADER]: id };
  await server.handleRequest(new Request("http://localhost/acp", { method: "DELETE", headers }));
}

export function createAcpApi(
  host: PagurusHost,
  options: Omit<AcpAgentOptions, "authority" | "mode">,
  { openFor, maxBodyBytes, inFlight, json }: AcpApiOptions,
): AcpApi {
  const agents = new Set<AcpAgent>();
  const most = Math.min(MOST_BYTES, maxBodyBytes);
  const messages = new LongMessages();
  const bounds = { inFlight, json, messages };
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: most,
    WebSocket: boundedSocket(bounds),
  });
  const servers = new Map<string, CallerServer>();
  const serverOf = (caller: Caller): CallerServer => {
    const known = servers.get(caller.tokenId);
    if (known) return known;
    const pagurus = host.as(caller);
    const mode = (): PermissionMode => pagurus.mode(options.agentId);
    const server = new AcpServer({
      createAgent: () => {
        const agent = createAcpAgent({ ...options, authority: caller, mode });
        agents.add(agent);
        return {
          connect: (stream, transport) => {
            const connection = agent.connect(Promise.resolve(pagurus), messages.restored(stream), transport);
            // Also a connection over HTTP, which has no socket of its own: its turns are aborted.
            const forget = openFor(caller.tokenId, () => agent.end());
            void connection.closed.finally(() => {
              agents.delete(agent);
              forget();
            });
            return connection;
          },
        };
      },
    });
    const made = {
      server,
      connections: new AcpConnections((id) => void closeConnection(server, id)),
      serve: createNodeHttpHandler(server, { maxRequestBodyBytes: most }),
      upgrade: createNodeWebSocketUpgradeHandler(server, sockets),
    };
    servers.set(caller.tokenId, made);
    return made;
  };
  return {
    serve(request, response, caller) {
      const { serve, connections } = serverOf(caller);
      connections.follow(request, response);
      if (request.method !== "POST") {
        serve(request, response);
        return;
      }
      void boundedRequest(request, response, { ...bounds, maxBytes: most }).then((bounded) => {
        if (bounded) serve(bounded, response);
      });
    },
    upgrade: (request, socket, head, caller) => serverOf(caller).upgrade(request, socket, head),
    async askPermission(question) {
      for (const agent of agents)
        if (await agent.runs(question.sessionKey)) return agent.askPermission(question);
      return "unasked";
    },
    close: async () => {
      for (const agent of agents) agent.end();
      await Promise.all([...servers.values()].map(({ server }) => server.close()));
      sockets.close();
    },
  };
}
