/** Our agent and the client side of the protocol's library in one process, with a scripted model. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  client,
  methods,
  ndJsonStream,
  type ClientCapabilities,
  type ClientConnection,
  type ClientContext,
  type InitializeResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { loadMcpServers } from "../../packages/app/src/commands-own.ts";
import { createAcpAgent, type AcpAgentOptions } from "../../packages/acp-server/src/acp-agent.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { AskPermission } from "../../packages/contract/src/host/run.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { Bench, type HostOptions } from "../turn/in-process.ts";
import { modelConfig } from "../turn/setting.ts";
import type { ReplyScript } from "../servers/server.ts";

const mcpServers = await loadMcpServers();

export type Answer = (
  request: RequestPermissionRequest,
) => RequestPermissionResponse | Promise<RequestPermissionResponse>;

interface Setup extends HostOptions {
  capabilities?: ClientCapabilities;
  agent?: Partial<AcpAgentOptions>;
  /** Replaces opening the host that the setup describes. */
  opening?: (askPermission: AskPermission) => Promise<Pagurus>;
}

/** An editor that stores its updates. */
export class Editor {
  readonly updates: { sessionId: string; update: SessionUpdate }[] = [];
  readonly asked: RequestPermissionRequest[] = [];
  /** Called with each update as it comes. */
  watch: (update: SessionUpdate) => void = () => undefined;
  answer: Answer = () => ({ outcome: { outcome: "selected", optionId: "once" } });
  readonly agent: ClientContext;
  readonly connection: ClientConnection;
  readonly served: Promise<void>;
  readonly hello: Promise<InitializeResponse>;

  readonly #hangUp: () => Promise<void>;

  private constructor(
    served: Promise<void>,
    connection: ClientConnection,
    capabilities: ClientCapabilities,
    hangUp: () => Promise<void>,
  ) {
    this.#hangUp = hangUp;
    this.served = served;
    this.connection = connection;
    this.agent = connection.agent;
    this.hello = this.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: capabilities,
    });
    this.hello.catch(() => undefined);
  }

  static async on(bench: Pick<Bench, "root" | "server">, setup: Setup = {}): Promise<Editor> {
    const home = join(bench.root, "home");
    mkdirSync(home, { recursive: true });
    const config = modelConfig("openai-completions", bench.server.url, setup.model);
    // The test passes the configuration to the host; the list of models reads the file.
    writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
    const acp = createAcpAgent({
      version: "1.2.3",
      home,
      env: {},
      logger: silentLogger,
      mcpTools: (servers) => mcpServers({ home, env: {}, config: { mcp: { servers } } }),
      agentId: "main",
      preferred: {},
      notifyCompactions: true,
      ...setup.agent,
    });
    const { more, opening: open, ...host } = setup;
    const { askPermission } = acp;
    const opening = open?.(askPermission) ?? hostOf(bench, { ...host, more: { ...more, askPermission } });
    const there = new TransformStream<Uint8Array, Uint8Array>();
    const back = new TransformStream<Uint8Array, Uint8Array>();
    const served = acp.serve(opening, { input: there.readable, output: back.writable });
    const editor: { made?: Editor } = {};
    const app = client({ name: "test" })
      .onNotification(methods.client.session.update, ({ params }) => {
        editor.made?.updates.push(params);
        editor.made?.watch(params.update);
      })
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        editor.made?.asked.push(params);
        return editor.made?.answer(params) ?? { outcome: { outcome: "cancelled" } };
      });
    const connection = app.connect(ndJsonStream(there.writable, back.readable));
    editor.made = new Editor(served, connection, setup.capabilities ?? {}, () => there.writable.close());
    await editor.made.hello.catch(() => undefined);
    return editor.made;
  }

  async session(cwd: string): Promise<string> {
    const { sessionId } = await this.agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    return sessionId;
  }

  prompt(sessionId: string, text: string): Promise<{ stopReason: string }> {
    return this.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }],
    });
  }

  of<K extends SessionUpdate["sessionUpdate"]>(kind: K): Extract<SessionUpdate, { sessionUpdate: K }>[] {
    return this.updates.flatMap(({ update }) =>
      update.sessionUpdate === kind ? [update as Extract<SessionUpdate, { sessionUpdate: K }>] : [],
    );
  }

  /** Text of an answer, a thought or a replayed input, in order of arrival. */
  textOf(kind: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk"): string {
    return this.of(kind)
      .map(({ content }) => (content.type === "text" ? content.text : `[${content.type}]`))
      .join("");
  }

  async leave(): Promise<void> {
    this.connection.close();
    await this.#hangUp();
    await this.served;
  }
}

/** Opens the bench's host; a bench of another kind provides it by `opening`. */
function hostOf(bench: Pick<Bench, "root" | "server">, options: HostOptions): Promise<Pagurus> {
  if (bench instanceof Bench) return bench.host(options);
  throw new Error("A test gives the host, or a bench that makes one.");
}

export function benchWith(script: ReplyScript): Promise<Bench> {
  return Bench.with(script);
}
