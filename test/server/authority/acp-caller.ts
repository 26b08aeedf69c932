/** A client of the Agent Client Protocol as a caller of one kind, over a WebSocket, over HTTP or over the standard streams of `pagurus acp`. */
import { spawn, type ChildProcess } from "node:child_process";
import { Readable, Writable } from "node:stream";
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ClientConnection,
  type RequestPermissionRequest,
  type Stream,
} from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { LAUNCHER } from "../../runner/program.ts";
import type { CallerKind, MatrixServer } from "./matrix-setting.ts";
import { inputOf } from "../../runner/child-input.ts";

export type Transport = "websocket" | "http" | "stdio";

/** The answer to a request: its result, or the code and the sentence of the refusal. */
export interface Outcome {
  result?: Record<string, unknown>;
  /** Number of the JSON-RPC error. */
  number?: number;
  /** Our error code. */
  code?: string;
  message?: string;
}

/** The library checks the methods that it knows by their types; a probe names any. */
interface Requester {
  request(method: string, params: unknown): Promise<Record<string, unknown>>;
  notify(method: string, params: unknown): Promise<void>;
}

export class AcpCaller {
  readonly #connection: ClientConnection;
  readonly #child: ChildProcess | undefined;
  /** Permission questions so far, and how the next ones are answered. */
  readonly asked: RequestPermissionRequest[] = [];
  answer: "hold" | "once" | "always" = "hold";
  #release: () => void = () => undefined;
  readonly #held = new Promise<void>((resolve) => (this.#release = resolve));

  private constructor(stream: Stream, child?: ChildProcess) {
    this.#child = child;
    this.#connection = client({ name: "matrix" })
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        this.asked.push(params);
        if (this.answer === "hold") await this.#held;
        return this.answer === "hold"
          ? { outcome: { outcome: "cancelled" } }
          : { outcome: { outcome: "selected", optionId: this.answer } };
      })
      .onNotification(methods.client.session.update, () => undefined)
      .connect(stream);
  }

  /** Throws where the server refuses the connection. */
  static async connect(matrix: MatrixServer, kind: CallerKind, transport: Transport): Promise<AcpCaller> {
    const { setting, server } = matrix;
    if (transport === "stdio") {
      const child = spawn(process.execPath, [LAUNCHER, "acp"], {
        cwd: setting.workspace,
        env: setting.env,
        stdio: ["pipe", "pipe", "ignore"],
      });
      const input = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
      return new AcpCaller(ndJsonStream(Writable.toWeb(inputOf(child)), input), child).#greeted();
    }
    const headers = matrix.headersOf(kind);
    const stream =
      transport === "http"
        ? createHttpStream(`${server.url}/acp`, { headers })
        : createWebSocketStream(`ws://127.0.0.1:${server.port}/acp`, {
            headers,
            WebSocket: WebSocket as never,
          });
    return new AcpCaller(stream).#greeted();
  }

  async #greeted(): Promise<this> {
    const hello = await this.ask("initialize", { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
    if (hello.result) return this;
    this.#connection.close();
    throw new Error(hello.message);
  }

  async ask(method: string, params: unknown): Promise<Outcome> {
    try {
      return { result: await (this.#connection.agent as unknown as Requester).request(method, params) };
    } catch (error) {
      const { code, data, message } = error as { code?: number; data?: { code?: string }; message: string };
      return {
        message,
        ...(code === undefined ? {} : { number: code }),
        ...(data?.code === undefined ? {} : { code: data.code }),
      };
    }
  }

  notify(method: string, params: unknown): Promise<void> {
    return (this.#connection.agent as unknown as Requester).notify(method, params);
  }

  /** Opens a new session in the workspace. */
  async session(cwd: string): Promise<string> {
    const { result, message } = await this.ask("session/new", { cwd, mcpServers: [] });
    if (!result) throw new Error(message);
    return String(result["sessionId"]);
  }

  /** Answers the questions that are held. */
  release(): void {
    this.#release();
  }

  close(): void {
    this.#release();
    this.#connection.close();
    this.#child?.kill("SIGKILL");
  }
}
