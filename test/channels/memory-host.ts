/** A real host with channels of a service in memory, whose local model repeats every secret word of what it gets. */
import { setImmediate as turnOfLoop, setTimeout as pause } from "node:timers/promises";
import { ChannelHost } from "../../packages/channels/src/channel-host.ts";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import { WebhookRoutes } from "../../packages/channels/src/webhook/webhook-routes.ts";
import type { ChannelConfig, PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import type { ChannelKind } from "../../packages/contract/src/channel/channel-kind.ts";
import type {
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "../../packages/contract/src/channel/channel.ts";
import type { Pagurus, PagurusOptions } from "../../packages/contract/src/host/host.ts";
import type { PagurusHost } from "../../packages/contract/src/host/pagurus-host.ts";
import { createPagurus } from "../../packages/app/src/create.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { Dispatcher } from "../../packages/inbox/src/dispatcher.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { startServer, type ModelServer, type RecordedRequest } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";

const SECRET = /word-\d+-\d+/g;
const POLL_MS = 3;
/** Words that make the model ask for a tool. */
export const ASKS = "use a tool";

export function secretsIn(text: string): Set<string> {
  return new Set(text.match(SECRET));
}

/** What a model gets as the words of people or of the host, part by part: without its own answers. */
export function partsOf({ body }: RecordedRequest): string[] {
  const messages = body["messages"] as { role: string; content: unknown }[];
  return messages
    .filter(({ role }) => role !== "assistant")
    .flatMap(({ content }) =>
      typeof content === "string" ? [content] : (content as { text?: string }[]).map(({ text = "" }) => text),
    );
}

function answerTo(request: RecordedRequest) {
  const messages = request.body["messages"] as { role: string; content: unknown }[];
  const text = [...secretsIn(request.text)].join(" ") || "nothing";
  const last = messages.at(-1);
  if (last?.role !== "user" || !JSON.stringify(last.content).includes(ASKS)) return { text };
  const call = { id: "c1", name: "shell", arguments: { command: `echo ${text}` } };
  return { text, toolCalls: [call] };
}

export type Sent = OutgoingMessage & { channel: string };

interface Parts {
  model: ModelServer;
  setting: Setting;
  db: Database;
  pagurus: PagurusHost;
  dispatcher: Dispatcher;
  work: ReturnType<typeof localWork>;
}

export class MemoryHost {
  /** What the service got, in order. */
  readonly sent: Sent[] = [];
  readonly store: ChannelStore;
  readonly #parts: Parts;
  readonly #ports = new Map<string, ChannelPort>();
  #config: PagurusConfig = {};
  #channels: ChannelHost | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.store = new ChannelStore(parts.db);
  }

  static async start(plugins: PagurusOptions["plugins"] = {}): Promise<MemoryHost> {
    const model = await startServer({ protocol: "openai-completions", script: answerTo });
    const setting = makeSetting();
    const db = openServerDatabase(setting.home);
    const work = localWork(db);
    let dispatcher: Dispatcher | undefined;
    const config = modelConfig("openai-completions", model.url, { contextWindow: 900_000 });
    const pagurus = await createPagurus({
      home: setting.home,
      env: setting.env,
      config,
      plugins,
      askPermission: async (question) => (await dispatcher?.askPermission(question)) ?? "deny",
    });
    dispatcher = new Dispatcher({ ...work, host: pagurus, logger: silentLogger, maxTurns: 8 });
    await dispatcher.start();
    return new MemoryHost({ model, setting, db, pagurus, dispatcher, work });
  }

  get requests(): readonly RecordedRequest[] {
    return this.#parts.model.requests;
  }

  #kind(): ChannelKind {
    const create: ChannelKind["create"] = ({ id }) => ({
      id,
      kind: "memory",
      connect: async (port, signal) => {
        this.#ports.set(id, port);
        const ended = new Promise<string>((resolve) =>
          signal.addEventListener("abort", () => resolve("the host stops")),
        );
        return {
          capabilities: { inbound: "exactly-once", outbound: "at-least-once", maxChars: 4_000, edits: true },
          ended,
          send: async (message) => void this.sent.push({ ...message, channel: id }),
          close: async () => undefined,
        };
      },
    });
    return { kind: "memory", create };
  }

  /** Replaces the channels. */
  async configure(channels: Record<string, ChannelConfig>): Promise<void> {
    await this.#channels?.stop();
    this.#ports.clear();
    const { pagurus, db, dispatcher, work, setting } = this.#parts;
    this.#config = { channels };
    const host = {
      sessions: (agentId: string) => pagurus.sessions(agentId),
      renew: (session: Parameters<Pagurus["renew"]>[0]) => pagurus.renew(session),
      commands: () => pagurus.commands(),
      plugins: { ...pagurus.plugins, channels: () => [this.#kind()] },
    } as unknown as Pagurus;
    this.#channels = await ChannelHost.start({
      ...work,
      config: this.#config,
      db,
      dispatcher,
      pagurus: host,
      logger: silentLogger,
      env: setting.env,
      webhooks: new WebhookRoutes(),
      cwd: setting.workspace,
    });
    while (this.#ports.size < Object.keys(channels).length) await turnOfLoop();
  }

  async receive(channel: string, message: IncomingMessage): Promise<void> {
    await this.#ports.get(channel)?.receive(message, message.id);
  }

  /** Waits until all is answered; each permission question that comes up is handed to `onQuestion`, and then refused. */
  async settle(onQuestion: () => Promise<void>): Promise<void> {
    const { inbox, approvals } = this.#parts.work;
    for (;;) {
      const [question] = await approvals.open();
      if (question) {
        await onQuestion();
        const isOpen = (await approvals.open()).some(({ id }) => id === question.id);
        if (!isOpen) throw new Error("a stranger answered a permission question");
        await approvals.answer(question.id, "deny", "test");
      }
      const waiting = Object.keys(this.#config.channels ?? {}).some((id) => this.store.outgoingCount(id) > 0);
      const isWorking = question !== undefined || waiting || (await inbox.open()).length > 0;
      if (!isWorking && this.store.unanswered().length === 0) return;
      await pause(POLL_MS);
    }
  }

  async end(): Promise<void> {
    const { model, setting, db, pagurus, dispatcher } = this.#parts;
    await this.#channels?.stop();
    await dispatcher.stop(0);
    await pagurus.close();
    await model.close();
    db.close();
    setting.remove();
  }
}
