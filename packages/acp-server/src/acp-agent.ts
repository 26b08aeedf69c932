/**
 * Pagurus as an agent of the Agent Client Protocol, version 1: an editor's sessions are Pagurus sessions, and its prompts are turns,
 * in any runtime.
 */
import {
  agent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type AgentApp,
  type AgentConnection,
  type AgentCapabilities,
  type InitializeResponse,
  type McpServer,
  type Stream,
} from "@agentclientprotocol/sdk";
import { OWNER } from "@pagurus/contract/host/authority";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AskPermission } from "@pagurus/contract/host/run";
import type { Logger } from "@pagurus/core/platform/log";
import { Client } from "./acp-client.ts";
import { invalid, toRequestError } from "./acp-errors.ts";
import type { MakeTools } from "./client-mcp-servers.ts";
import { ModelList } from "./acp-models.ts";
import { AcpSessions, type SessionPlace } from "./acp-sessions.ts";
import type { Setting } from "./acp-session.ts";

export interface AcpAgentOptions extends Pick<
  Setting,
  "agentId" | "preferred" | "maxCost" | "notifyCompactions"
> {
  version: string;
  home: string;
  /** What the client may do; default: as the owner. */
  authority?: Setting["authority"];
  /** The most permissive mode that it may choose; default: any. */
  mode?: Setting["mode"];
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Creates tools from the MCP servers that the client names for a session. */
  mcpTools: MakeTools;
  /** Session that the client's first `session/new` continues. */
  sessionKey?: string | undefined;
}

/** The two ends of standard input and output, as bytes. */
export interface AcpStreams {
  input: ReadableStream<Uint8Array>;
  output: WritableStream<Uint8Array>;
}

export interface AcpAgent {
  /** Permission callback, for the host's options. */
  readonly askPermission: AskPermission;
  /** Whether a session, or the parent of a subagent's, is open at this client. */
  runs(sessionKey: string | undefined): Promise<boolean>;
  /**
   * Serves the client until its end of the streams is closed or `end` is called; then aborts all its turns and waits for them. The
   * caller owns the host; if the host cannot be opened, each request is answered with the reason. Never rejects.
   */
  serve(pagurus: Promise<Pagurus>, streams: AcpStreams): Promise<void>;
  /** Serves a client whose messages come in another way. `options` are the transport's own. */
  connect(pagurus: Promise<Pagurus>, stream: Stream, options?: object): AgentConnection;
  end(): void;
}

/** `fork` is not in the stable part of version 1 yet; agents and clients that support it use this name. */
const SESSION_CAPABILITIES = { list: {}, resume: {}, close: {}, delete: {}, fork: {} };
const AGENT_CAPABILITIES: AgentCapabilities = {
  loadSession: true,
  promptCapabilities: { image: true, embeddedContext: true },
  mcpCapabilities: { http: true, sse: true },
  sessionCapabilities: SESSION_CAPABILITIES,
};

const FORK = "session/fork";

/** The library's transports pass options of their own, which its types do not show. */
interface Connector {
  connect(stream: Stream, transport?: object): AgentConnection;
}

export function createAcpAgent(options: AcpAgentOptions): AcpAgent {
  const ended = new AbortController();
  let sessions: Promise<AcpSessions> | undefined;

  function connect(pagurus: Promise<Pagurus>, stream: Stream, transport?: object): AgentConnection {
    const app = agent({ name: "pagurus" });
    const made = Promise.withResolvers<Client>();
    sessions = openSessions(options, pagurus, made.promise);
    // Reported in the answer to each request.
    sessions.catch(() => undefined);
    register(app, { options, sessions, client: made.promise });
    const open = (app as Connector).connect(stream, transport);
    made.resolve(new Client(open.client, options.logger, open.signal));
    ended.signal.addEventListener("abort", () => open.close(), { once: true });
    if (ended.signal.aborted) open.close();
    return open;
  }

  async function endOf(open: AgentConnection): Promise<void> {
    await open.closed;
    const { name } = open.signal.reason as Error;
    // For a message that is too long or a stream that breaks, the editor only sees a closed connection.
    if (name !== "Error") options.logger.warn("connection failed", { error: name });
    const left = await sessions?.catch(() => undefined);
    await left?.end();
  }

  return {
    runs: async (sessionKey) => (await sessions)?.runs(sessionKey) ?? false,
    askPermission: async (question) => (await sessions)?.ask(question) ?? "deny",
    end: () => ended.abort(),
    connect(pagurus, stream, transport) {
      const open = connect(pagurus, stream, transport);
      void endOf(open);
      return open;
    },
    serve: (pagurus, { input, output }) => endOf(connect(pagurus, ndJsonStream(output, input))),
  };
}

async function openSessions(
  options: AcpAgentOptions,
  opening: Promise<Pagurus>,
  connection: Promise<Client>,
): Promise<AcpSessions> {
  const [pagurus, client] = await Promise.all([opening, connection]);
  const { agentId, preferred, maxCost, notifyCompactions } = options;
  const models = new ModelList(options);
  const { mcpTools, logger, authority = OWNER, mode = () => "auto" } = options;
  const setting = {
    pagurus,
    client,
    logger,
    authority,
    mode,
    models,
    mcpTools,
    agentId,
    preferred,
    maxCost,
    notifyCompactions,
  };
  return new AcpSessions(setting, options.sessionKey);
}

interface Parts {
  options: AcpAgentOptions;
  sessions: Promise<AcpSessions>;
  client: Promise<Client>;
}

function register(app: AgentApp, parts: Parts): void {
  const answering = answerer(parts);
  const { options, client } = parts;
  const nothingToSignIn = "There is nothing to sign in to; the keys of models are in the configuration.";
  app
    .onRequest(
      methods.agent.initialize,
      answering(async ({ params }) => {
        (await client).understands(params.clientCapabilities);
        return welcome(options.version);
      }),
    )
    .onRequest(
      methods.agent.authenticate,
      answering(() => Promise.reject(invalid(nothingToSignIn))),
    );
  registerSessions(app, answering);
  registerTurns(app, answering);
}

/** Converts what a handler throws to an error response. */
function answerer({ options, sessions }: Parts) {
  return <C, R>(work: (context: C, open: AcpSessions) => Promise<R>) =>
    async (context: C): Promise<R> => {
      try {
        return await work(context, await sessions);
      } catch (error) {
        const failure = toRequestError(error);
        options.logger.warn("request of the editor failed", { number: failure.code });
        throw failure;
      }
    };
}

type Answering = ReturnType<typeof answerer>;

function registerSessions(app: AgentApp, answering: Answering): void {
  const { session } = methods.agent;
  app
    .onRequest(
      session.new,
      answering(({ params }, open) => open.create(params)),
    )
    .onRequest(
      session.load,
      answering(({ params }, open) => open.load(params.sessionId, params)),
    )
    .onRequest(
      session.resume,
      answering(({ params }, open) => open.resume(params.sessionId, params)),
    )
    .onRequest(
      FORK,
      readFork,
      answering(({ params }, open) => open.fork(params.sessionId, params)),
    )
    .onRequest(
      session.list,
      answering(({ params }, open) => open.list(params)),
    )
    .onRequest(
      session.delete,
      answering(async ({ params }, open) => {
        await open.delete(params.sessionId);
        return {};
      }),
    )
    .onRequest(
      session.close,
      answering(async ({ params }, open) => {
        await open.close(params.sessionId);
        return {};
      }),
    );
}

function registerTurns(app: AgentApp, answering: Answering): void {
  const { session } = methods.agent;
  app
    .onRequest(
      session.setMode,
      answering(async ({ params }, open) => {
        await open.get(params.sessionId).setMode(params.modeId);
        return {};
      }),
    )
    .onRequest(
      session.setConfigOption,
      answering(async ({ params }, open) => {
        const { sessionId, configId, value } = params;
        return { configOptions: await open.get(sessionId).setOption(configId, String(value)) };
      }),
    )
    .onRequest(
      session.prompt,
      answering(({ params, signal }, open) => open.get(params.sessionId).prompt(params, signal)),
    )
    .onNotification(
      session.cancel,
      answering(async ({ params }, open) => open.get(params.sessionId).cancel()),
    );
}

function welcome(version: string): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "pagurus", title: "Pagurus", version },
    agentCapabilities: AGENT_CAPABILITIES,
    authMethods: [],
  };
}

/** Throws `usage_invalid`. Other fields of a fork are ignored. */
function readFork(params: unknown): SessionPlace & { sessionId: string } {
  const { sessionId, cwd, mcpServers } = (params ?? {}) as Record<string, unknown>;
  if (typeof sessionId === "string" && typeof cwd === "string")
    return { sessionId, cwd, mcpServers: Array.isArray(mcpServers) ? (mcpServers as McpServer[]) : [] };
  throw toRequestError(invalid("A fork names the session and a folder; give sessionId and cwd."));
}
