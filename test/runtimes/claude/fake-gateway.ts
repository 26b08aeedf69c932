/** A gateway that answers each request with the context that it would have sent to the model, and logs its use. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type {
  ModelGateway,
  WireRoute,
  WireRouteRequest,
  WireTurn,
} from "../../../packages/contract/src/harness/wire.ts";

interface Route {
  request: WireRouteRequest;
  turn: WireTurn | undefined;
  isClosed: boolean;
}

export interface Asked {
  route: number;
  turnId: string;
  /** "role text" of each message. */
  shown: string[];
  addition: string | undefined;
}

export class FakeGateway implements ModelGateway {
  readonly routes: Route[] = [];
  readonly asked: Asked[] = [];
  /** Why no route is opened. */
  failure: Error | undefined;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<FakeGateway> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    return new FakeGateway(server);
  }

  open(request: WireRouteRequest): Promise<WireRoute> {
    if (this.failure) return Promise.reject(this.failure);
    const at = this.routes.length;
    const route: Route = { request, turn: undefined, isClosed: false };
    this.routes.push(route);
    const { port } = this.#server.address() as AddressInfo;
    return Promise.resolve({
      baseUrl: `http://127.0.0.1:${port}`,
      headers: { "x-fake-token": `secret-${at}` },
      serve: (turn) => {
        route.turn = turn;
      },
      close: async () => {
        assert.ok(!route.isClosed, "closed once");
        route.isClosed = true;
      },
    });
  }

  /** Numbers of the open routes. */
  get openRoutes(): number[] {
    return this.routes.flatMap(({ isClosed }, at) => (isClosed ? [] : [at]));
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const at = Number(/^secret-(\d+)$/.exec(String(request.headers["x-fake-token"]))?.[1] ?? -1);
    const route = this.routes[at];
    const turn = route?.turn;
    if (!route || route.isClosed || !turn) return void response.writeHead(401).end("Nobody is served.");
    try {
      const context = await turn.assemble();
      turn.receipt({ seam: "wire" });
      const shown = context.messages.map(lineOf);
      this.asked.push({ route: at, turnId: turn.turnId, shown, addition: context.systemPromptAddition });
      response.end("shown");
      turn.receipt({ usage: { input: 20, output: 4, totalTokens: 24 } });
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }
}

function lineOf({ role, content }: AgentMessage): string {
  if (typeof content === "string") return `${role} ${content}`;
  return `${role} ${content.map((part) => (part.type === "text" ? part.text : part.type)).join("|")}`;
}
