/** ACP clients of a server over a WebSocket and over HTTP, with messages made by hand. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { until } from "../runner/until.ts";
import type { ServeProcess } from "./serve-setting.ts";

type Message = Readonly<Record<string, unknown>>;

const INITIALIZE = { protocolVersion: 1, clientCapabilities: {} };
const CONNECTION = "acp-connection-id";
const SESSION = "acp-session-id";

export class AcpSocket {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, Message>();
  /** Ids of the answers as they came. */
  readonly order: number[] = [];
  #isClosed = false;
  #next = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => {
      const { id, method, ...rest } = JSON.parse(data.toString()) as { id?: number | null; method?: string };
      // An answer without an id is to the last message, of which the server understood none.
      if (method !== undefined) return;
      this.#answers.set(id ?? this.#next - 1, rest);
      this.order.push(id ?? this.#next - 1);
    });
    socket.on("close", () => (this.#isClosed = true));
    socket.on("error", () => (this.#isClosed = true));
  }

  /** A connection that is initialized. */
  static async open(server: ServeProcess): Promise<AcpSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    await once(socket, "open");
    const made = new AcpSocket(socket);
    await made.ask("initialize", INITIALIZE);
    return made;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The answer, with `result` or `error`; undefined if the server closed the socket. */
  async ask(method: unknown, params: unknown): Promise<Message | undefined> {
    const id = this.#next++;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    await until(() => this.#isClosed || this.#answers.has(id));
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    return answer;
  }

  /** Sends a message that may have no answer, and waits for that to the next one. */
  async sendInOrder(message: object): Promise<void> {
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id: this.#next++, ...message }));
    await this.ask("session/list", {});
  }

  async newSession(cwd: string): Promise<string> {
    const made = await this.ask("session/new", { cwd, mcpServers: [] });
    const { sessionId } = (made ?? {})["result"] as { sessionId: string };
    return sessionId;
  }

  close(): void {
    this.#socket.terminate();
  }
}

/** Sends one message on a connection of its own; returns its status. */
export async function postAcp(server: ServeProcess, message: object): Promise<number> {
  const headers = {
    authorization: `Bearer ${server.key}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = (body: object, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${server.url}/acp`, {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
    });
  const opened = await post({ method: "initialize", params: INITIALIZE });
  await opened.text();
  const connection = { [CONNECTION]: opened.headers.get(CONNECTION) ?? "" };
  const { sessionId } = ((message as { params?: unknown }).params ?? {}) as { sessionId?: unknown };
  const session = typeof sessionId === "string" && sessionId.length < 100 ? { [SESSION]: sessionId } : {};
  const answer = await post(message, { ...connection, ...session });
  await answer.text();
  await fetch(`${server.url}/acp`, { method: "DELETE", headers: { ...headers, ...connection } });
  return answer.status;
}
