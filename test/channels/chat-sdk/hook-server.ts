/** `/hooks/…` of the server alone. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { WebhookRoutes } from "../../../packages/channels/src/webhook/webhook-routes.ts";

export class HookServer {
  readonly #server: Server;

  private constructor(routes: WebhookRoutes) {
    this.#server = createServer((request, response) => void routes.serve(request, response));
  }

  static async open(routes: WebhookRoutes): Promise<HookServer> {
    const made = new HookServer(routes);
    made.#server.listen(0, "127.0.0.1");
    await once(made.#server, "listening");
    return made;
  }

  /** Status of the answer. */
  async post(channel: string, headers: Record<string, string>, body: string): Promise<number> {
    const { port } = this.#server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/hooks/${channel}`, {
      method: "POST",
      headers,
      body,
    });
    await answer.body?.cancel();
    return answer.status;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
