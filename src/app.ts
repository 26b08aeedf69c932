/**
 * Puts the host together: the only file that knows engines and runtimes by name. It registers the bundled ones as
 * plugins would, loads the user's, and hands each agent what its turns need.
 */
import { join } from "node:path";
import { toPagurusError } from "./contract/errors.ts";
import type { PagurusOptions, Pagurus, RunRequest, TurnRun } from "./contract/host.ts";
import type { LlmComplete } from "./contract/model.ts";
import type { SessionStore } from "./contract/store.ts";
import { agentSettings, DEFAULT_AGENT_ID } from "./config/agent.ts";
import { rememberPermission } from "./config/edit.ts";
import { configFromValue, loadConfig, type LoadedConfig } from "./config/load.ts";
import { agentDir, resolveHome } from "./config/paths.ts";
import { createLegacyEngine } from "./engines/legacy/engine.ts";
import { completeOnce } from "./model/complete.ts";
import { defaultModel } from "./model/discover.ts";
import { resolveModel } from "./model/resolve.ts";
import { streamModel } from "./model/stream.ts";
import { withDeadline } from "./platform/deadline.ts";
import { ensurePrivateDir } from "./platform/files.ts";
import { IdSource } from "./platform/ids.ts";
import { createFileLogger, type Logger } from "./platform/log.ts";
import { loadPlugins } from "./plugin/load.ts";
import { PluginRegistry } from "./plugin/registry.ts";
import { createEmbeddedHarness } from "./runtimes/embedded/harness.ts";
import { openReceiptLog, receiptFile } from "./session/receipts.ts";
import { openSessionStore } from "./session/store.ts";
import { Calibration } from "./tokens/calibration.ts";
import { TurnChannel } from "./turn/channel.ts";
import { EngineSlot } from "./turn/engine-slot.ts";
import { runHooks } from "./turn/hooks.ts";
import { compactManually } from "./turn/manual-compact.ts";
import { previewContext } from "./turn/preview.ts";
import { renewSession } from "./turn/renew.ts";
import type { AgentHost } from "./turn/scope.ts";
import { readStatus } from "./turn/status.ts";
import { runTurn } from "./turn/turn.ts";

/** Longest completion call of an engine or plugin that sets no signal of its own, ms. */
const COMPLETE_TIMEOUT_MS = 180_000;
const DISPOSE_DEADLINE_MS = 10_000;
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
  readonly #running = new Set<{ run: TurnRun; done: Promise<void> }>();
  readonly #turnIds = new IdSource();
  #model: Promise<{ ref: string; source: string }> | undefined;

  constructor(options: PagurusOptions) {
    this.#options = options;
    this.#env = options.env ?? process.env;
    this.#home = options.home ?? resolveHome(this.#env);
    this.#loaded =
      options.config === undefined
        ? loadConfig({ home: this.#home })
        : configFromValue(options.config, this.#home);
    this.#logger = createFileLogger(this.#home, this.#loaded.config.logging?.level ?? "info");
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
    let settled = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      settled = resolve;
    });
    const run = channel.run(async () => {
      try {
        await this.#execute(request, channel);
      } finally {
        this.#running.delete(entry);
        settled();
      }
    });
    const entry = { run, done };
    this.#running.add(entry);
    return run;
  }

  async #execute(request: RunRequest, channel: TurnChannel): Promise<void> {
    try {
      const agent = this.#agent(request.agentId);
      await runTurn(agent, request, channel, ({ writer }) =>
        openReceiptLog({ file: receiptFile(writer.record) }),
      );
    } catch (error) {
      const { code, message } = toPagurusError(error);
      channel.emit({ type: "turn.failed", error: { code, message }, degraded: [] });
    }
  }

  sessions(agentId?: string): SessionStore {
    return this.#agent(agentId).store;
  }

  readonly context: Pagurus["context"] = {
    preview: (request) => previewContext(this.#agent(request.agentId), request),
    receipts: (request) => {
      const reader = this.#agent(request.agentId).store.openReader(request.sessionKey ?? "main");
      try {
        const log = openReceiptLog({ file: receiptFile(reader.record) });
        const turnId = request.turnId ?? log.last()?.turnId;
        return Promise.resolve(turnId === undefined ? [] : log.read(turnId));
      } finally {
        reader.close();
      }
    },
  };

  compact: Pagurus["compact"] = (request) => compactManually(this.#agent(request.agentId), request);

  renew: Pagurus["renew"] = (request) => renewSession(this.#agent(request.agentId), request);

  status: Pagurus["status"] = async (request = {}) => {
    const { file, found, warnings } = this.#loaded;
    const report = await readStatus(this.#agent(request.agentId), request);
    return { home: this.#home, configFile: file, configFound: found, configWarnings: warnings, ...report };
  };

  /** Aborts what runs, waits for it, then tells engines and plugins. */
  async close(): Promise<void> {
    const running = [...this.#running];
    for (const { run } of running) run.abort();
    await Promise.all(running.map(({ done }) => done));
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
  }

  async #hook(name: "gateway_start" | "gateway_stop"): Promise<void> {
    const context = { sessionKey: "", sessionId: "", agentId: DEFAULT_AGENT_ID };
    await runHooks(this.#registry, name, {}, context, { logger: this.#logger });
  }

  #agent(id: string = DEFAULT_AGENT_ID): AgentHost {
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
    ensurePrivateDir(folder);
    const store = openSessionStore({ agentDir: folder, agentId, logger: this.#logger });
    const calibrations = new Map<string, Calibration>();
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
      askPermission: this.#options.askPermission,
      rememberPermission: async (rule) => {
        rememberPermission(this.#loaded.file, rule);
      },
      defaultModel: async () =>
        settings.model === undefined
          ? this.#defaultModel()
          : { ref: settings.model, source: "configuration" },
      modelInfo: (ref) => resolveModel(ref, config, this.#env).info,
      complete: (ref) => this.#complete(ref, agentId),
      calibration: (sessionId, ref) => calibrationOf(calibrations, folder, sessionId, ref),
      started: new Map(),
      newTurnId: () => this.#turnIds.next(),
    };
  }

  #slot(folder: string): EngineSlot {
    const { config, contextEngine, slotSource } = this.#loaded;
    const id = contextEngine;
    const registered = this.#registry.engineIds.includes(id);
    const failures = this.#registry.failures.map(
      ({ pluginId, reason }) => `the plugin ${pluginId} failed: ${reason}`,
    );
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

async function endSessions(agent: AgentHost): Promise<void> {
  for (const [sessionId, sessionKey] of agent.started) {
    const context = { sessionKey, sessionId, agentId: agent.agentId };
    await runHooks(agent.hooks, "session_end", { reason: "shutdown" }, context, { logger: agent.logger });
  }
}

/** Starts from what the session's last request showed, so that a one-shot run estimates as well as a long one. */
function calibrationOf(
  known: Map<string, Calibration>,
  folder: string,
  sessionId: string,
  ref: string,
): Calibration {
  const key = `${sessionId} ${ref}`;
  const found = known.get(key);
  if (found) return found;
  const made = new Calibration();
  known.set(key, made);
  if (sessionId !== "") {
    const last = openReceiptLog({ file: join(folder, "sessions", `${sessionId}.receipts.jsonl`) }).last();
    if (last?.usage && last.model === ref) {
      const { input, cacheRead = 0, cacheWrite = 0 } = last.usage;
      made.observe(last.tokens, input + cacheRead + cacheWrite);
    }
  }
  return made;
}
