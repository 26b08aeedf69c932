/** MCP server for the bridges: one instance for each connection, all over the same tools. Loads the MCP library. */
import type { Socket } from "node:net";
import { Server, type ServerContext } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport, type StdioServerHandle } from "@modelcontextprotocol/server/stdio";
import type { ToolOutcome, ToolSet, ToolSpec } from "@pagurus/contract/harness/tool";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { wholeLines } from "./served-lines.ts";
import type { ServedCall, ServeOptions } from "./served-call.ts";

/** Limit of one message from a client, which may contain a whole file to write. */
const MESSAGE_BYTES = 64 * 1024 * 1024;
/** Limit of the bytes that come with the end of a message in one piece. */
const CHUNK_BYTES = 1024 * 1024;
/** Interval of progress notifications, ms; clients that wait for progress give up after 60 s at the earliest. */
const PROGRESS_MS = 5_000;
const BETWEEN_TURNS =
  "No turn of the host is running, so its tools cannot be used now. Nothing was done; answer without them.";
/** Where Claude Code sends the id of its model's call. */
const CLAUDE_CALL_ID = "claudecode/toolUseId";

interface Connection {
  socket: Socket;
  handle: StdioServerHandle;
  server: Server | undefined;
  /** Fingerprint of the catalog that it listed last. */
  listed: string | undefined;
}

/** A tool in the library's form. */
interface ListedTool {
  [key: string]: unknown;
  name: string;
  description: string;
  inputSchema: { type: "object"; [key: string]: unknown };
}

function listedTool({ name, description, parameters }: ToolSpec): ListedTool {
  return { name, description, inputSchema: { ...parameters, type: "object" } };
}

interface CallResult {
  [key: string]: unknown;
  content: ({ type: "text"; text: string } | { type: "image"; data: string; mimeType: string })[];
  isError?: boolean;
}

function callResult({ content, isError }: Pick<ToolOutcome, "content" | "isError">): CallResult {
  const parts = content.map((part) =>
    part.type === "text"
      ? { type: part.type, text: part.text }
      : { type: part.type, data: part.data, mimeType: part.mimeType },
  );
  return { content: parts, ...(isError ? { isError } : {}) };
}

export class ToolServer {
  readonly #options: ServeOptions;
  readonly #connections = new Set<Connection>();
  readonly #closed = new AbortController();
  #calls = 0;
  #known: { specs: readonly ToolSpec[]; fingerprint: string } | undefined;
  #announced: string | undefined;
  /** A client has listed the tools. */
  isListed = false;
  /** Callbacks for when a client has listed the tools or disconnected. */
  readonly #onListed = new Set<() => void>();

  constructor(options: ServeOptions) {
    this.#options = options;
  }

  /** Serves a client whose bridge has connected. */
  connect(socket: Socket): void {
    const lines = wholeLines(MESSAGE_BYTES);
    // The end of a message can no longer be found.
    lines.once("error", () => socket.destroy());
    const connection: Connection = {
      socket,
      server: undefined,
      listed: undefined,
      handle: serveStdio(() => (connection.server = this.#serverFor(connection)), {
        transport: new StdioServerTransport(lines, socket, { maxBufferSize: MESSAGE_BYTES + CHUNK_BYTES }),
      }),
    };
    this.#connections.add(connection);
    socket.once("close", () => {
      this.#connections.delete(connection);
      void connection.handle.close();
      this.#clientsChanged();
    });
    socket.pipe(lines);
  }

  async refresh(deadlineMs: number): Promise<boolean> {
    const { fingerprint } = this.#look();
    const stale = (): boolean =>
      [...this.#connections].some(({ listed }) => listed !== undefined && listed !== fingerprint);
    if (this.#announced !== fingerprint) await this.#announce(fingerprint);
    return this.#until(() => !stale(), deadlineMs);
  }

  /** Whether a client lists the tools within this time, or has. */
  listed(deadlineMs: number): Promise<boolean> {
    return this.#until(() => this.isListed, deadlineMs);
  }

  async #until(holds: () => boolean, deadlineMs: number): Promise<boolean> {
    if (holds()) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), deadlineMs);
    const look = (): void => {
      if (holds()) resolve(true);
    };
    this.#onListed.add(look);
    const held = await promise;
    clearTimeout(timer);
    this.#onListed.delete(look);
    return held;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const handles = [...this.#connections].map(({ handle }) => handle.close());
    await Promise.allSettled(handles);
    for (const { socket } of this.#connections) socket.end();
  }

  #clientsChanged(): void {
    for (const look of this.#onListed) look();
  }

  /** The current catalog; between turns the last one. */
  #look(): { tools: ToolSet | undefined; specs: readonly ToolSpec[]; fingerprint: string } {
    const tools = this.#closed.signal.aborted ? undefined : this.#options.tools();
    if (tools) this.#known = { specs: tools.specs, fingerprint: tools.fingerprint };
    return { tools, specs: this.#known?.specs ?? [], fingerprint: this.#known?.fingerprint ?? "" };
  }

  async #announce(fingerprint: string): Promise<void> {
    this.#announced = fingerprint;
    const stale = [...this.#connections].filter(
      ({ listed }) => listed !== undefined && listed !== fingerprint,
    );
    // A client that disconnected needs no notification.
    await Promise.allSettled(stale.flatMap(({ server }) => (server ? [server.sendToolListChanged()] : [])));
  }

  #serverFor(connection: Connection): Server {
    const info = { name: this.#options.name ?? "pagurus", version: packageVersion() };
    const server = new Server(info, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler("tools/list", () => {
      const { specs, fingerprint } = this.#look();
      connection.listed = this.#announced = fingerprint;
      this.isListed = true;
      // After the answer was sent.
      setImmediate(() => this.#clientsChanged());
      return { tools: specs.map(listedTool) };
    });
    server.setRequestHandler("tools/call", async ({ params }, context) =>
      callResult(await this.#call(params.name, params.arguments ?? {}, context)),
    );
    return server;
  }

  async #call(
    name: string,
    args: Record<string, unknown>,
    { mcpReq }: ServerContext,
  ): Promise<Pick<ToolOutcome, "content" | "isError">> {
    const { tools, fingerprint } = this.#look();
    if (this.#announced !== undefined && this.#announced !== fingerprint) void this.#announce(fingerprint);
    if (!tools) return { content: [{ type: "text", text: BETWEEN_TURNS }], isError: true };
    const meta = mcpReq._meta ?? {};
    const native = meta[CLAUDE_CALL_ID];
    const called: ServedCall = {
      id: typeof native === "string" && native !== "" ? native : this.#nextId(),
      name,
      arguments: args,
      requestId: mcpReq.id,
      meta,
    };
    const progress = this.#reportProgress(meta["progressToken"], mcpReq);
    try {
      const call = { ...called, id: (await this.#announceCall(called)) ?? called.id };
      const signal = AbortSignal.any([mcpReq.signal, this.#closed.signal]);
      const outcome = await tools.call({ type: "toolCall", id: call.id, name, arguments: args }, signal);
      await this.#settled(call, outcome);
      return outcome;
    } finally {
      clearInterval(progress);
    }
  }

  async #announceCall(call: ServedCall): Promise<string | undefined> {
    try {
      return await this.#options.onCall?.(call);
    } catch {
      // A mirror that cannot pair a call does not stop it.
      return undefined;
    }
  }

  async #settled(call: ServedCall, outcome: ToolOutcome): Promise<void> {
    try {
      await this.#options.onOutcome?.(call, outcome);
    } catch {
      // The tool has run; a failing observer cannot change that.
      return;
    }
  }

  #nextId(): string {
    this.#calls += 1;
    return `mcp_${crypto.randomUUID().slice(0, 8)}_${this.#calls}`;
  }

  #reportProgress(token: unknown, request: ServerContext["mcpReq"]): NodeJS.Timeout | undefined {
    if (typeof token !== "string" && typeof token !== "number") return undefined;
    let progress = 0;
    return setInterval(() => {
      progress += 1;
      const notification = {
        method: "notifications/progress" as const,
        params: { progressToken: token, progress },
      };
      // A client that disconnected has cancelled the call too.
      request.notify(notification).catch(() => undefined);
    }, PROGRESS_MS).unref();
  }
}
