/**
 * Puts the host together: the only file that knows engines and runtimes by name. It registers the bundled ones as
 * plugins would, loads the user's, and hands each agent what its turns need.
 */
import { toPagurusError } from "./contract/errors.ts";
import type { TurnEvent } from "./contract/events.ts";
import type { PagurusOptions, Pagurus, RunRequest, TurnRun } from "./contract/host.ts";
import type { LlmComplete, ModelInfo } from "./contract/model.ts";
import type { SessionStore } from "./contract/store.ts";
import { agentSettings, DEFAULT_AGENT_ID } from "./config/agent.ts";
import { rememberPermission } from "./config/edit.ts";
import { configFromValue, loadConfig, type LoadedConfig } from "./config/load.ts";
import { agentDir, resolveHome } from "./config/paths.ts";
import { createLegacyEngine } from "./engines/legacy/engine.ts";
import { completeOnce } from "./model/complete.ts";
import { defaultModel } from "./model/discover.ts";
import { factsAssumed, resolveModel } from "./model/resolve.ts";
import { streamModel } from "./model/stream.ts";
import { withDeadline } from "./platform/deadline.ts";
import { IdSource } from "./platform/ids.ts";
import { createFileLogger, type Logger } from "./platform/log.ts";
import { loadPlugins } from "./plugin/load.ts";
import { PluginRegistry } from "./plugin/registry.ts";
import { createEmbeddedHarness } from "./runtimes/embedded/harness.ts";
import { openReceiptLog, receiptFile } from "./session/receipts.ts";
import { openSessionStore } from "./session/store.ts";
import { Calibrations } from "./turn/calibrations.ts";
import { TurnChannel } from "./turn/channel.ts";
import { EngineSlot } from "./turn/engine-slot.ts";
import { runHooks } from "./turn/hooks.ts";
import { compactManually } from "./turn/manual-compact.ts";
import { closedError, OpenWork } from "./turn/open-work.ts";
import { previewContext } from "./turn/preview.ts";
import { renewSession } from "./turn/renew.ts";
import type { AgentHost } from "./turn/scope.ts";
import { readStatus } from "./turn/status.ts";
import { runTurn } from "./turn/turn.ts";

/** Longest completion call of an engine or plugin that sets no signal of its own, ms. */
const COMPLETE_TIMEOUT_MS = 180_000;
const MOST_RECEIPT_LOGS = 64;
const DISPOSE_DEADLINE_MS = 10_000;
/** How long `close()` waits for what runs, ms; longer than a turn waits for a runtime that ignores its abort. */
const CLOSE_GRACE_MS = 15_000;
const BUNDLED_ENGINES = new Set(["legacy"]);

/**
 * Opens a host. Nothing is global: several may live in one process. Throws `config_invalid`,
 * `store_write_failed`.
 */
export async function createPagurus(options: PagurusOptions = {}): Promise<Pagurus> {
  const host = new Host(options);
  await host.start();
  return host;
}

class Host implements Pagurus {
  readonly #options: PagurusOptions;
  readonly #env: Record<string, string | undefined>;
  readonly #home: string;
  readonly #loaded: LoadedConfig;
  readonly #logger: Logger;
  readonly #registry: PluginRegistry;
  readonly #agents = new Map<string, AgentHost>();
  readonly #work: OpenWork;
  readonly #turnIds = new IdSource();
  #model: Promise<{ ref: string; source: string }> | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(options: PagurusOptions) {
    this.#options = options;
    this.#env = options.env ?? process.env;
    this.#home = options.home ?? resolveHome(this.#env);
    this.#loaded =
      options.config === undefined
        ? loadConfig({ home: this.#home })
        : configFromValue(options.config, this.#home);
    this.#logger = createFileLogger(this.#home, this.#loaded.config.logging?.level ?? "info");
    this.#work = new OpenWork({ graceMs: CLOSE_GRACE_MS, logger: this.#logger });
    this.#registry = new PluginRegistry({
      config: this.#loaded.config,
      logger: this.#logger,
      baseDir: this.#home,
      llmComplete: async (request) =>
        this.#complete((await this.#defaultModel()).ref, DEFAULT_AGENT_ID)(request),
    });
  }

  async start(): Promise<void> {
    const { config } = this.#loaded;
    const { engines, harnesses, plugins } = this.#options;
    await this.#registry.register("pagurus", (api) => {
      api.registerContextEngine("legacy", () => createLegacyEngine());
      api.registerAgentHarness(
        createEmbeddedHarness((model, request) =>
          streamModel(resolveModel(model.ref, config, this.#env), request),
        ),
      );
    });
    if (engines || harnesses) {
      await this.#registry.register("caller", (api) => {
        for (const [id, factory] of Object.entries(engines ?? {})) api.registerContextEngine(id, factory);
        for (const harness of harnesses ?? []) api.registerAgentHarness(harness);
      });
    }
    for (const [id, register] of Object.entries(plugins ?? {})) await this.#registry.register(id, register);
    await loadPlugins(this.#registry, { config, home: this.#home });
    await this.#hook("gateway_start");
  }

  run(request: RunRequest): TurnRun {
    const channel = new TurnChannel();
    try {
      this.#work.assertOpen();
    } catch (error) {
      return channel.run(() => Promise.resolve(channel.emit(failed(error))));
    }
    const done = Promise.withResolvers<void>();
    const run = channel.run(async () => {
      try {
        await this.#execute(request, channel);
      } finally {
        done.resolve();
      }
    });
    this.#work.add({
      kind: "turn",
      abort: () => run.abort(),
      done: done.promise,
      giveUp: (error) => channel.giveUp(failed(error)),
    });
    return run;
  }

  async #execute(request: RunRequest, channel: TurnChannel): Promise<void> {
    try {
      const agent = this.#agent(request.agentId);
      await runTurn(agent, request, channel);
    } catch (error) {
      channel.emit(failed(error));
    }
  }

  sessions(agentId?: string): SessionStore {
    return this.#agent(agentId).store;
  }

  readonly context: Pagurus["context"] = {
    preview: (request) =>
      this.#work.track("preview", (signal) =>
        previewContext(this.#agent(request.agentId), { ...request, signal }),
      ),
    receipts: async (request) => {
      const reader = this.#agent(request.agentId).store.openReader(request.sessionKey ?? "main");
      try {
        const log = openReceiptLog({ file: receiptFile(reader.record) });
        const turnId = request.turnId ?? log.last()?.turnId;
        return turnId === undefined ? [] : log.read(turnId);
      } finally {
        reader.close();
      }
    },
  };

  compact: Pagurus["compact"] = (request) =>
    this.#work.track("compaction", (closing) => {
      const signal = request.signal ? AbortSignal.any([closing, request.signal]) : closing;
      return compactManually(this.#agent(request.agentId), { ...request, signal });
    });

  renew: Pagurus["renew"] = (request) =>
    this.#work.track("renewal", () => renewSession(this.#agent(request.agentId), request));

  status: Pagurus["status"] = (request = {}) =>
    this.#work.track("status", async () => {
      const { file, found, warnings } = this.#loaded;
      const report = await readStatus(this.#agent(request.agentId), request);
      const configWarnings = [...warnings, ...this.#assumed(report.model.ref)];
      return { home: this.#home, configFile: file, configFound: found, configWarnings, ...report };
    });

  #assumed(ref: string): string[] {
    if (ref === "" || !factsAssumed(ref, this.#loaded.config)) return [];
    return [
      `Window and prices of ${ref} are assumed: check its name, or set them under models.providers.<id>.models.`,
    ];
  }

  /** Aborts what runs, waits for it within a grace, then tells engines and plugins. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#work.stop();
    for (const agent of this.#agents.values()) await endSessions(agent);
    await this.#hook("gateway_stop");
    for (const harness of this.#registry.harnesses) {
      const ending = withDeadline(() => harness.dispose?.(), {
        ms: DISPOSE_DEADLINE_MS,
        label: `Ending ${harness.id}`,
      });
      await ending.catch(() => this.#logger.warn("runtime not disposed", { runtime: harness.id }));
    }
    for (const agent of this.#agents.values()) {
      await agent.slot
        .dispose()
        .catch(() => this.#logger.warn("engine not disposed", { engineId: agent.slot.id }));
      agent.store.close();
    }
    this.#agents.clear();
    this.#closed = true;
  }

  async #hook(name: "gateway_start" | "gateway_stop"): Promise<void> {
    const context = { sessionKey: "", sessionId: "", agentId: DEFAULT_AGENT_ID };
    await runHooks(this.#registry, name, {}, context, { logger: this.#logger });
  }

  /** Throws `usage_invalid` on a closed host, `config_invalid`, `store_write_failed`. */
  #agent(id: string = DEFAULT_AGENT_ID): AgentHost {
    if (this.#closed) throw closedError();
    const known = this.#agents.get(id);
    if (known) return known;
    const made = this.#makeAgent(id);
    this.#agents.set(id, made);
    return made;
  }

  #makeAgent(agentId: string): AgentHost {
    const { config } = this.#loaded;
    const settings = agentSettings(config, agentId);
    const folder = agentDir(this.#home, agentId);
    const store = openSessionStore({ agentDir: folder, agentId, logger: this.#logger });
    const modelInfo = (ref: string): ModelInfo => resolveModel(ref, config, this.#env).info;
    const calibrations = new Calibrations({ agentDir: folder, modelInfo, logger: this.#logger });
    return {
      agentId,
      agentDir: folder,
      config,
      settings,
      env: this.#env,
      logger: this.#logger,
      store,
      slot: this.#slot(folder),
      hooks: this.#registry,
      harnesses: this.#registry.harnesses,
      pluginTools: this.#registry.tools,
      pluginFailures: this.#pluginFailures(),
      remembered: [],
      askPermission: this.#options.askPermission,
      rememberPermission: async (rule) => {
        rememberPermission(this.#loaded.file, rule);
      },
      defaultModel: async () =>
        settings.model === undefined
          ? this.#defaultModel()
          : { ref: settings.model, source: "configuration" },
      modelInfo,
      complete: (ref) => this.#complete(ref, agentId),
      receipts: receiptLogs(),
      calibration: (sessionId, ref) => calibrations.of(sessionId, ref),
      started: new Map(),
      newTurnId: () => this.#turnIds.next(),
    };
  }

  #pluginFailures(): string[] {
    return this.#registry.failures.map(({ pluginId, reason }) => `The plugin ${pluginId} failed: ${reason}`);
  }

  #slot(folder: string): EngineSlot {
    const { config, contextEngine, slotSource } = this.#loaded;
    const id = contextEngine;
    const registered = this.#registry.engineIds.includes(id);
    const failures = this.#pluginFailures();
    return new EngineSlot({
      id,
      source: slotSource === "config" ? "plugins.slots.contextEngine" : "default",
      bundled: BUNDLED_ENGINES.has(id),
      factory: registered ? this.#registry.engine(id) : undefined,
      known: this.#registry.engineIds,
      failure: failures.length > 0 ? failures.join(" ") : undefined,
      context: { config, agentDir: folder },
      deadlines: config.agents?.defaults?.engineDeadlines,
    });
  }

  #defaultModel(): Promise<{ ref: string; source: string }> {
    this.#model ??= defaultModel(this.#loaded.config, this.#env);
    return this.#model;
  }

  #complete(defaultRef: string, agentId: string): LlmComplete {
    return async (request) => {
      const resolved = resolveModel(request.model ?? defaultRef, this.#loaded.config, this.#env);
      const completion = await completeOnce(resolved, {
        messages: request.messages,
        ...(request.systemPrompt === undefined ? {} : { systemPrompt: request.systemPrompt }),
        ...(request.maxTokens === undefined ? {} : { maxTokens: request.maxTokens }),
        signal: request.signal ?? AbortSignal.timeout(COMPLETE_TIMEOUT_MS),
      });
      const { provider, id } = resolved.info;
      const { text, usage, stopReason } = completion;
      return { text, provider, model: id, agentId, stopReason, ...(usage ? { usage } : {}) };
    };
  }
}

/** Logs of the sessions used last are kept: each remembers its newest receipt. */
function receiptLogs(): AgentHost["receipts"] {
  const kept = new Map<string, ReturnType<typeof openReceiptLog>>();
  return (record) => {
    const file = receiptFile(record);
    const log = kept.get(file) ?? openReceiptLog({ file });
    kept.delete(file);
    kept.set(file, log);
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST_RECEIPT_LOGS) break;
      kept.delete(oldest);
    }
    return log;
  };
}

async function endSessions(agent: AgentHost): Promise<void> {
  for (const [sessionId, sessionKey] of agent.started) {
    const context = { sessionKey, sessionId, agentId: agent.agentId };
    await runHooks(agent.hooks, "session_end", { reason: "shutdown" }, context, { logger: agent.logger });
  }
}

function failed(error: unknown): TurnEvent {
  const { code, message } = toPagurusError(error);
  return { type: "turn.failed", error: { code, message }, degraded: [] };
}
