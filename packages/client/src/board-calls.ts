/** The dashboard of the host: costs, health, connected programs, channels. Each call needs a token for all sessions and agents. */
import type { Channel, Connection, Health, Spend } from "@pagurus/api/types";
import type { CallOptions, HttpRequests } from "./http-requests.ts";

export class BoardCalls {
  readonly #http: HttpRequests;

  constructor(http: HttpRequests) {
    this.#http = http;
  }

  /** Costs of the newest days, today included. */
  spend({ days, signal }: CallOptions & { days?: number | undefined } = {}): Promise<Spend> {
    return this.#http.json({ method: "GET", path: "/spend", query: { days }, signal });
  }

  health({ signal }: CallOptions = {}): Promise<Health> {
    return this.#http.json({ method: "GET", path: "/health", signal });
  }

  /** Needs the scope `admin`, as the ones below. */
  async connections({ signal }: CallOptions = {}): Promise<Connection[]> {
    const call = { method: "GET", path: "/connections", signal } as const;
    return (await this.#http.json<{ connections: Connection[] }>(call)).connections;
  }

  async channels({ signal }: CallOptions = {}): Promise<Channel[]> {
    const call = { method: "GET", path: "/channels", signal } as const;
    return (await this.#http.json<{ channels: Channel[] }>(call)).channels;
  }

  /** Lets the person with this code speak. */
  approve(code: string, { signal }: CallOptions = {}): Promise<{ channel: string; address: string }> {
    return this.#http.json({ method: "POST", path: "/channels/approve", body: { code }, signal });
  }

  async remove(channel: string, address: string, { signal }: CallOptions = {}): Promise<void> {
    const body = { channel, address };
    await this.#http.json({ method: "POST", path: "/channels/remove", body, signal });
  }
}
