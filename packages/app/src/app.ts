/**
 * Assembles the host: registers the bundled parts (`bundled.ts`) and those of the caller and the user's plugins, and passes
 * each agent what its turns need. The code of each kind of request is loaded at the first one, so that a command loads only its
 * own.
 */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { PagurusOptions, Pagurus } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { RunRequest, TurnRun } from "@pagurus/contract/host/run";
import type { SessionStore } from "@pagurus/contract/session/store";
import { HostDeletions } from "./agent-deletions.ts";
import type { Setup } from "./host-setup.ts";
import { endAgents, endHarnesses, subagentsEnded, untilIdle } from "./end-agents.ts";
import {
  agentLimits,
  AuthorizedHost,
  OWNER_CHECK,
  type AgentLimits,
} from "@pagurus/core/authority/authorized-host";
import { PLUGIN } from "@pagurus/core/authority/doors";
import type { Authority } from "@pagurus/contract/host/authority";
import { registerBundled, sharedStores } from "./bundled.ts";
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { BUNDLED_ENGINES } from "@pagurus/core/config/bundled";
import { loadFor, type LoadedConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { openHome } from "@pagurus/core/config/open-home";
import { attempt } from "@pagurus/core/data/attempt";
import { completeFor } from "@pagurus/core/model/complete-for";
import { defaultModel, type DefaultModel } from "@pagurus/core/model/default-model";
import { factsAssumed } from "@pagurus/core/model/resolve";
import { orAborted } from "@pagurus/core/platform/deadline";
import { keepLearnedWindows } from "@pagurus/core/model/window-file";
import { agentsWithDeletions } from "@pagurus/core/platform/deletions";
import { IdSource } from "@pagurus/core/platform/ids";
import { loadOnce } from "@pagurus/core/platform/load-once";
import { createFileLogger, type Logger } from "@pagurus/core/platform/log";
import { offerTranscripts } from "@pagurus/host/plugin/compat/transcripts";
import { hasPlugins } from "@pagurus/host/plugin/listed";
import { PluginRegistry, reportsOf } from "@pagurus/host/plugin/registry";
import { unknownEntries } from "@pagurus/host/plugin/unknown-entries";
import type { Telemetry } from "@pagurus/host/telemetry/otlp";
import { createAgentHost } from "@pagurus/host/turn/create-agent-host";
import { TurnChannel } from "@pagurus/host/turn/state/steering-channel";
import { deliveryHooks } from "@pagurus/host/turn/delivery-hooks";
import { runHooks } from "@pagurus/host/turn/guard/turn-hooks";
import { closedError, OpenWork } from "@pagurus/host/turn/agent/open-work";
import { transcriptSource } from "@pagurus/host/turn/open/offer-transcripts";
import { NO_OUTER_TOOLS } from "@pagurus/host/turn/agent/outer-port";
import { receiptsOf } from "@pagurus/host/turn/sessions/receipts-of";
import type { AgentHost } from "@pagurus/host/turn/agent/agent-host";
import { checkInputLength } from "@pagurus/host/turn/admit/input-length";
import { steerRunning, stopRunning } from "@pagurus/host/turn/sessions/running-turns";
import { explainRuntime, listRuntimes } from "@pagurus/host/turn/selection/runtime-list";
import { claimSession } from "@pagurus/host/turn/sessions/session-claim";
import { sessionKeyOf } from "@pagurus/host/turn/agent/session-key";
import { customCommandsAt, expandCustomCommand, skillsAt } from "@pagurus/host/turn/prepare/turn-skills";

/** How long `close()` waits for running work, ms; longer than a turn waits for a runtime that ignores its abort. */
const CLOSE_GRACE_MS = 15_000;
/** How long `close()` lets background maintenance continue before it stops that too, ms. */
const MAINTENANCE_GRACE_MS = 5_000;

/** Opens a host. Nothing is global: several may exist in one process. Throws `config_invalid`, `store_write_failed`. */
export async function createPagurus(options: PagurusOptions = {}): Promise<PagurusHost> {
  const host = new Host(options);
  await host.start();
  return host;
}

class Host implements PagurusHost {
  readonly #options: PagurusOptions;
  readonly #env: Record<string, string | undefined>;
  readonly #home: string;
  readonly #logger: Logger;
  readonly #work: OpenWork;
  readonly #turnIds = new IdSource();
  readonly #withdrawTranscripts: () => void;
  readonly #endWindows: () => void;
  #setup: Setup;
  /** Absent where none is configured. */
  #telemetry: Telemetry | undefined;
  #reloading: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(options: PagurusOptions) {
    this.#options = options;
    this.#env = options.env ?? process.env;
    this.#home = options.home ?? resolveHome(this.#env);
    const loaded = loadFor(this.#options, this.#home);
    openHome(this.#home);
    this.#logger = createFileLogger(this.#home, loaded.config.logging?.level ?? "info");
    this.#endWindows = keepLearnedWindows(this.#home, this.#logger);
    const graces = { graceMs: CLOSE_GRACE_MS, drainMs: MAINTENANCE_GRACE_MS };
    this.#work = new OpenWork({ ...graces, logger: this.#logger });
    this.#setup = this.#newSetup(loaded);
    this.#withdrawTranscripts = offerTranscripts(transcriptSource(() => this.#setup.agents.values()));
  }

  #newSetup(loaded: LoadedConfig): Setup {
    const setup: Setup = {
      loaded,
      agents: new Map(),
      mcp: undefined,
      model: undefined,
      openStore: undefined,
      registry: new PluginRegistry({
        config: loaded.config,
        logger: this.#logger,
        baseDir: this.#home,
        llmComplete: async (request) =>
          completeFor({
            config: setup.loaded.config,
            env: this.#env,
            defaultRef: (await this.#defaultModel(setup)).ref,
            agentId: DEFAULT_AGENT_ID,
          })(request),
      }),
    };
    return setup;
  }

  async start(): Promise<void> {
    await this.#registerAll(this.#setup);
    const { otlp } = this.#setup.loaded.config.telemetry ?? {};
    if (otlp) {
      const { openTelemetry } = await import("@pagurus/host/telemetry/otlp");
      this.#telemetry = await openTelemetry({ otlp, env: this.#env, logger: this.#logger });
    }
    await this.#hook("gateway_start");
    // An agent that is not configured any more keeps what a crash left.
    for (const id of agentsWithDeletions(this.#home))
      await attempt(() => this.#agent(id))?.deletions.settle();
  }

  async #registerAll(setup: Setup): Promise<void> {
    const { registry, loaded } = setup;
    const { config } = loaded;
    if (Object.keys(config.mcp?.servers ?? {}).length > 0) {
      const mcp = await import("@pagurus/host/mcp/client/mcp-servers");
      const [home, env, logger] = [this.#home, this.#env, this.#logger];
      setup.mcp = new mcp.McpServers({ ...this.#options, config, home, env, logger, logins: true });
    }
    if (config.store) setup.openStore = await sharedStores(config.store, this.#env);
    const { engines, harnesses, plugins } = this.#options;
    await registerBundled(registry, {
      loaded,
      home: this.#home,
      env: this.#env,
      logger: this.#logger,
      trustFolders: this.#options.trustFolders,
    });
    if (engines || harnesses) {
      await registry.register("caller", (api) => {
        for (const [id, factory] of Object.entries(engines ?? {})) api.registerContextEngine(id, factory);
        for (const harness of harnesses ?? []) api.registerAgentHarness(harness);
      });
    }
    for (const [id, register] of Object.entries(plugins ?? {})) await registry.register(id, register);
    if (!hasPlugins(config, this.#home)) return;
    const { loadPlugins } = await import("@pagurus/host/plugin/load-plugins");
    const caller = this.as(PLUGIN);
    const agents = { run: caller.run.bind(caller), deleteSession: caller.deleteSession };
    await loadPlugins(registry, { config, home: this.#home, agents });
  }

  reload: Pagurus["reload"] = async ({ whenIdle = false } = {}) => {
    this.#work.assertOpen();
    if (whenIdle) await untilIdle(this.#work, this.#setup.agents);
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  };

  /** Running work ends with the setup that it began with; work started meanwhile waits for the new one. */
  async #reload(): Promise<void> {
    const setup = this.#newSetup(loadFor(this.#options, this.#home));
    await this.#work.settled();
    await subagentsEnded(this.#setup.agents);
    const old = this.#setup;
    await this.#registerAll(setup);
    this.#setup = setup;
    await endAgents(old.agents, this.#logger);
    await endHarnesses(old.registry.harnesses, this.#logger);
    await old.mcp?.close();
    old.registry.close();
    this.#logger.info("configuration reloaded", { engine: setup.loaded.contextEngine });
  }

  readonly check = OWNER_CHECK;

  mode(): "auto" {
    return "auto";
  }

  as(authority: Authority): PagurusHost {
    const agent = (id: string): AgentLimits => agentLimits(this.#setup.loaded.config, id);
    return new AuthorizedHost({ host: this, run: (make) => this.#run(make), agent }, authority);
  }

  run(request: RunRequest): TurnRun {
    return this.#run(() => request);
  }

  #run(make: () => RunRequest): TurnRun {
    const channel = new TurnChannel();
    try {
      this.#work.assertOpen();
    } catch (error) {
      return channel.run(() => Promise.resolve(channel.emit(failed(error))));
    }
    const done = Promise.withResolvers<void>();
    const ready = this.#reloading;
    const run = channel.run(async () => {
      try {
        await this.#execute(make, channel, ready);
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

  async #execute(
    make: () => RunRequest,
    channel: TurnChannel,
    ready: Promise<void> | undefined,
  ): Promise<void> {
    try {
      const request = make();
      channel.observe = this.#telemetry?.turn(request.agentId ?? DEFAULT_AGENT_ID);
      const signals = [channel.signal, ...(request.signal ? [request.signal] : [])];
      if (ready) await orAborted(ready, AbortSignal.any(signals));
      const { runTurn } = await turnModule();
      await runTurn(await this.#settled(request.agentId), request, channel);
    } catch (error) {
      channel.emit(failed(error));
    }
  }

  checkInput: Pagurus["checkInput"] = async (request) =>
    checkInputLength(this.#agent(request.agentId), request);

  sessions(agentId?: string): SessionStore {
    return this.#agent(agentId).store;
  }

  readonly context: Pagurus["context"] = {
    preview: (request) => this.#between("preview", request, (work) => work.previewContext),
    recall: (request) => this.#between("preview", request, (work) => work.recallForPrompt),
    receipts: async (request) => receiptsOf(this.#agent(request.agentId), request),
  };

  claim: Pagurus["claim"] = (request = {}) =>
    this.#tracked("claim", request.agentId, (agent) => claimSession(agent, request));

  sessionKey: Pagurus["sessionKey"] = (request = {}) => sessionKeyOf(this.#agent(request.agentId), request);

  compact: Pagurus["compact"] = (request) =>
    this.#between("compaction", request, (work) => work.compactManually);

  maintain: Pagurus["maintain"] = (request) =>
    this.#between("maintenance", request, (work) => work.maintainSession);

  readonly native: Pagurus["native"] = {
    threads: (request) => this.#between("threads", request, (work) => work.listThreads),
    bind: (request) => this.#between("adoption", request, (work) => work.bindThread),
    status: (request) => this.#between("native status", request, (work) => work.nativeStatus),
    answerCompaction: (request) => this.#between("compaction", request, (work) => work.answerBetweenTurns),
    tools: (request) => this.#between("list of tools", request, (work) => work.nativeTools),
  };

  readonly running: Pagurus["running"] = {
    steer: (request) => this.#asked("steering", request, steerRunning),
    stop: (request) => this.#asked("stop", request, stopRunning),
  };

  commands: Pagurus["commands"] = () => this.#setup.registry.commands.map(({ run: _run, ...shown }) => shown);

  readonly plugins = {
    ...reportsOf(() => this.#setup.registry),
    ...deliveryHooks(() => ({ hooks: this.#setup.registry, logger: this.#logger })),
  };

  command: Pagurus["command"] = (request) =>
    this.#tracked("command", request.agentId, async (agent, closing) => {
      const { name, signal } = request;
      const found = this.#setup.registry.commands.find(
        (command) => command.name === name || command.aliases?.includes(name),
      );
      if (found) {
        const { runPluginCommand } = await betweenTurns();
        return runPluginCommand(agent, found, { ...request, signal: bothOf(closing, signal) });
      }
      throw new PagurusError("usage_invalid", `No plugin has a command /${name}; /help lists the commands.`);
    });

  skills: Pagurus["skills"] = (request = {}) =>
    this.#tracked("list of skills", request.agentId, (agent) => skillsAt(agent, request));

  readonly customCommands: Pagurus["customCommands"] = {
    list: (request = {}) =>
      this.#tracked("list of commands", request.agentId, (agent) => customCommandsAt(agent, request)),
    expand: (request) =>
      this.#tracked("expansion", request.agentId, (agent) => expandCustomCommand(agent, request)),
  };

  readonly runtimes: Pagurus["runtimes"] = {
    list: ({ agentId, ...request } = {}) =>
      this.#tracked("list of runtimes", agentId, (agent) => listRuntimes(agent, request)),
    explain: ({ agentId, ...request } = {}) =>
      this.#tracked("explanation", agentId, (agent) => explainRuntime(agent, request)),
  };

  rewindFiles: Pagurus["rewindFiles"] = (request) => this.#between("rewind", request, (work) => work.rewind);

  renew: Pagurus["renew"] = (request) => this.#between("renewal", request, (work) => work.renewSession);

  deleteSession: Pagurus["deleteSession"] = ({ sessionKey, agentId }) =>
    this.#tracked("deletion", agentId, async (agent) => {
      const { deleteSession } = await betweenTurns();
      return deleteSession(agent, sessionKey);
    });

  spawn: Pagurus["spawn"] = (request) =>
    this.#tracked("spawn", request.agentId, (agent) => agent.subagents.spawn(request));

  status: Pagurus["status"] = (request = {}) =>
    this.#tracked("status", request.agentId, async (agent) => {
      const { config, file, found, warnings } = this.#setup.loaded;
      const { readStatus } = await import("@pagurus/host/turn/sessions/session-status");
      const report = await readStatus(agent, request);
      const unknown = unknownEntries(config, this.#home, Object.keys(this.#options.plugins ?? {}));
      const configWarnings = [...warnings, ...unknown, ...this.#assumed(report.model.ref)];
      return { home: this.#home, configFile: file, configFound: found, configWarnings, ...report };
    });

  #between<R extends { agentId?: string; signal?: AbortSignal }, T>(
    kind: string,
    request: R,
    choose: (work: BetweenTurns) => (agent: AgentHost, request: R & { signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    return this.#asked(kind, request, async (agent, asked) => choose(await betweenTurns())(agent, asked));
  }

  #asked<R extends { agentId?: string; signal?: AbortSignal }, T>(
    kind: string,
    request: R,
    work: (agent: AgentHost, request: R & { signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    return this.#tracked(kind, request.agentId, (agent, closing) =>
      work(agent, { ...request, signal: bothOf(closing, request.signal) }),
    );
  }

  /** Tracks work of an agent; closing waits for it, and it waits for a reload. */
  #tracked<T>(
    kind: string,
    agentId: string | undefined,
    work: (agent: AgentHost, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    // A reload waits for work started before it, so only later work may wait for the reload.
    const ready = this.#reloading;
    return this.#work.track(kind, async (signal) => {
      if (ready) await orAborted(ready, signal);
      return work(await this.#settled(agentId), signal);
    });
  }

  #assumed(ref: string): string[] {
    const what = `Window and prices of ${ref} are assumed`;
    const isAssumed = ref !== "" && factsAssumed(ref, this.#setup.loaded.config);
    return isAssumed ? [`${what}: check its name, or set them under models.providers.<id>.models.`] : [];
  }

  /** Aborts running work, waits for it within a grace period, then shuts down engines and plugins. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#work.stop();
    await this.#reloading?.catch(() => undefined);
    await endAgents(this.#setup.agents, this.#logger, () => this.#hook("gateway_stop"));
    await endHarnesses(this.#setup.registry.harnesses, this.#logger);
    await this.#setup.mcp?.close();
    this.#setup.registry.close();
    this.#withdrawTranscripts();
    this.#endWindows();
    await this.#telemetry?.close();
    this.#closed = true;
  }

  async #hook(name: "gateway_start" | "gateway_stop"): Promise<void> {
    const context = { sessionKey: "", sessionId: "", agentId: DEFAULT_AGENT_ID };
    await runHooks(this.#setup.registry, name, {}, context, { logger: this.#logger });
  }

  /** Throws `usage_invalid` on a closed host, `config_invalid`, `store_write_failed`. */
  #agent(id: string = DEFAULT_AGENT_ID): AgentHost {
    if (this.#closed) throw closedError();
    const setup = this.#setup;
    const known = setup.agents.get(id);
    if (known) return known;
    const { loaded, registry } = setup;
    const made = createAgentHost({
      agentId: id,
      home: this.#home,
      loaded,
      registry,
      outerTools: setup.mcp ?? NO_OUTER_TOOLS,
      env: this.#env,
      logger: this.#logger,
      bundledEngines: new Set<string>(BUNDLED_ENGINES),
      caller: this.#options,
      defaultModel: () => this.#defaultModel(setup),
      complete: (ref) =>
        completeFor({ config: setup.loaded.config, env: this.#env, defaultRef: ref, agentId: id }),
      newTurnId: () => this.#turnIds.next(),
      deletions: (agent) => new HostDeletions(agent),
      openStore: setup.openStore,
      loadImporter: () => import("@pagurus/importers/sessions/import-file"),
      track: (kind, work) => this.#work.background(kind, work),
    });
    setup.agents.set(id, made);
    // Children left by an earlier process; a turn does not wait for this.
    void made.subagents.sweep();
    return made;
  }

  /** An agent, after what a crash left of deletions was finished. */
  async #settled(id: string | undefined): Promise<AgentHost> {
    const agent = this.#agent(id);
    await agent.deletions.settle();
    return agent;
  }

  #defaultModel(setup: Setup): Promise<DefaultModel> {
    setup.model ??= defaultModel(setup.loaded.config, this.#env);
    return setup.model;
  }
}

type BetweenTurns = typeof import("@pagurus/host/turn/between-turns");

const betweenTurns = loadOnce(() => import("@pagurus/host/turn/between-turns"));
export const turnModule = loadOnce(() => import("@pagurus/host/turn/turn"));

function bothOf(closing: AbortSignal, asked: AbortSignal | undefined): AbortSignal {
  return asked ? AbortSignal.any([closing, asked]) : closing;
}

function failed(error: unknown): TurnEvent {
  const { code, message } = toPagurusError(error);
  return { type: "turn.failed", error: { code, message }, degraded: [] };
}
