/** A host, a gateway and a route for one program of the user's own, from its start to its end. */
import { configFromValue, type LoadedConfig } from "../../../config/load.ts";
import { PagurusError, toPagurusError } from "../../../contract/errors.ts";
import type { Pagurus, PagurusOptions } from "../../../contract/host.ts";
import type { WireApi } from "../../../contract/wire.ts";
import type { WrappedProgram, WrapRoute } from "../../../contract/wrap.ts";
import { resolveModel } from "../../../model/resolve.ts";
import { withDeadline } from "../../../platform/deadline.ts";
import type { Logger } from "../../../platform/log.ts";
import { CaptureLog } from "../capture/capture.ts";
import { captureSettings } from "../capture/settings.ts";
import type { WireRequest } from "../dialect/dialect.ts";
import { createModelGateway, type Gateway } from "../gateway.ts";
import type { Governor } from "../governor.ts";
import { directUpstream } from "../upstream/direct.ts";
import { upstreamFor } from "../upstream/for-model.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { WrapGovernor } from "./governor.ts";
import { WrapHarness } from "./harness.ts";
import { WrapObserver } from "./observer.ts";
import { wrapConfig } from "./setup.ts";
import { TOOLS_NAME, wrapTools, type ServedTools, type ServeTools } from "./tools.ts";

export interface WrapOptions {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  loaded: LoadedConfig;
  logger: Logger;
  program: WrappedProgram;
  /** Name of the program, for the runtime. */
  id: string;
  label: string;
  api: WireApi;
  sessionKey: string;
  agentId: string;
  engine?: string | undefined;
  contextWindow?: number | undefined;
  /** Ref of our catalog: requests go there, and not where the program sends them. */
  model?: string | undefined;
  capture: boolean;
  observe: boolean;
  open(options: PagurusOptions): Promise<Pagurus>;
  serveTools: ServeTools;
}

/** What there is to say when the terminal is ours again. */
export interface WrapReport {
  /** Undefined where nothing was governed. */
  sessionKey: string | undefined;
  turns: number;
  requests: number;
  /** A sentence each, none twice. */
  told: string[];
}

export interface OpenWrap {
  route: WrapRoute;
  /** Ends the open turn, the gateway and the host. Never throws. */
  close(): Promise<WrapReport>;
}

/** How long the last turn may take to be settled, ms; what an engine does behind it is the next host's. */
const SETTLE_DEADLINE_MS = 20_000;
const MOST_TOLD = 5;

class Wrap implements OpenWrap {
  route!: WrapRoute;
  readonly #options: WrapOptions;
  readonly #told = new Set<string>();
  #requests = 0;
  #pagurus: Pagurus | undefined;
  #gateway: Gateway | undefined;
  #governor: WrapGovernor | undefined;
  #capture: CaptureLog | undefined;
  #tools: ServedTools | undefined;
  #closeRoute: () => Promise<void> = () => Promise.resolve();

  constructor(options: WrapOptions) {
    this.#options = options;
  }

  async open(): Promise<this> {
    const { observe, env, program, api, logger, model, sessionKey, id } = this.#options;
    const config = this.#config();
    const resolve = (ref: string): ReturnType<typeof resolveModel> => resolveModel(ref, config, env);
    // Refused before anything starts, where the model or its key is missing.
    const other = model === undefined ? undefined : upstreamFor(resolve(model), api, sessionKey);
    const { baseUrl } = program.provider;
    const upstream = other ?? directUpstream({ baseUrl, label: new URL(baseUrl).host });
    const governor = observe ? new WrapObserver(upstream) : await this.#follow(config, upstream);
    this.#capture = this.#openCapture(config);
    this.#gateway = createModelGateway({ logger, resolve, capture: this.#capture });
    const route = await this.#gateway.openRoute({
      api,
      governor: governor as Governor,
      sessionKey,
      runtime: `wire-${id}`,
      onExchange: ({ kind }) => void (this.#requests += kind === "count" || kind === "unknown" ? 0 : 1),
    });
    this.#closeRoute = () => route.close();
    const { baseUrl: address, headers } = route;
    const governs = !observe && config.plugins?.slots?.contextEngine !== "legacy";
    const compacts = await this.#compacts();
    this.#tools = governs ? await this.#serveTools() : undefined;
    const tools = this.#tools && { tools: { name: TOOLS_NAME, ...this.#tools.server } };
    this.route = { baseUrl: address, headers, governs, compacts, answersAll: other !== undefined, ...tools };
    return this;
  }

  /** The engine owns compaction; one that cannot be made is told of by the first turn. */
  async #compacts(): Promise<boolean> {
    const { sessionKey, agentId, program } = this.#options;
    const status = await this.#pagurus?.status({ sessionKey, agentId, cwd: program.cwd });
    return status?.engine.ownsCompaction === true;
  }

  async #serveTools(): Promise<ServedTools | undefined> {
    const { sessionKey, agentId, program, id, serveTools, logger } = this.#options;
    const governor = this.#governor;
    const about = { runtime: `wire-${id}`, sessionKey, agentId, cwd: program.cwd };
    const tools = await this.#pagurus?.native.tools(about);
    if (!tools || tools.specs.length === 0) return undefined;
    const offered = wrapTools(tools, (callId) => governor?.toolsFor(callId));
    try {
      return await serveTools(offered, TOOLS_NAME);
    } catch (error) {
      // The conversation goes on without them.
      logger.warn("engine's tools not offered", { runtime: about.runtime, code: toPagurusError(error).code });
      this.#tell(`The engine's tools were not offered: ${toPagurusError(error).message}`);
      return undefined;
    }
  }

  /** Checked as a file is. Throws `config_invalid`. */
  #config(): ReturnType<typeof wrapConfig> {
    const { loaded, api, program, engine, contextWindow, home } = this.#options;
    const { provider, models } = program;
    const chosen = contextWindow ?? program.contextWindow;
    const window = chosen && chosen - (program.spareTokens?.(chosen) ?? 0);
    const settings = { api, provider, models, engine, contextWindow: window };
    return configFromValue(wrapConfig(loaded, settings), home).config;
  }

  async #follow(config: ReturnType<typeof wrapConfig>, upstream: Upstream): Promise<Governor> {
    const { id, label, home, env, sessionKey, agentId, program, logger, model, open } = this.#options;
    const harness = new WrapHarness(id, label);
    this.#pagurus = await open({ home, env, config, harnesses: [harness] });
    const { provider, cwd } = program;
    this.#governor = new WrapGovernor({
      pagurus: this.#pagurus,
      harness,
      sessionKey,
      agentId,
      cwd,
      logger,
      modelOf: (request: WireRequest) => model ?? `${provider.id}/${request.model}`,
      upstream: () => upstream,
      tell: (sentence) => this.#tell(sentence),
    });
    return this.#governor;
  }

  #openCapture(config: ReturnType<typeof wrapConfig>): CaptureLog | undefined {
    const { env, capture, observe, home, logger } = this.#options;
    const settings = captureSettings(config, env, capture || observe);
    if (!settings) return undefined;
    return new CaptureLog({ ...settings, home, logger, onStopped: (sentence) => this.#tell(sentence) });
  }

  #tell(sentence: string): void {
    if (this.#told.size < MOST_TOLD) this.#told.add(sentence);
  }

  async close(): Promise<WrapReport> {
    const governor = this.#governor;
    await this.#step("The end of the route", () => this.#closeRoute());
    await this.#step("The end of the last turn", () => governor?.close());
    await this.#step("The end of the tools", () => this.#tools?.close());
    await this.#step("The end of the gateway", async () => {
      await this.#gateway?.close();
      await this.#capture?.settled();
    });
    await this.#step("The end of the host", () => this.#pagurus?.close());
    return {
      sessionKey: governor?.sessionKey,
      turns: governor?.turns ?? 0,
      requests: this.#requests,
      told: [...this.#told],
    };
  }

  async #step(label: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await withDeadline(() => work() ?? Promise.resolve(), { ms: SETTLE_DEADLINE_MS, label });
    } catch (error) {
      this.#options.logger.warn("wrapped program not ended cleanly", { step: label });
      this.#tell(error instanceof PagurusError ? error.message : `${label} failed.`);
    }
  }
}

/** Throws what opening a host throws, `model_unknown`, `credential_missing`, `gateway_failed`. */
export async function openWrap(options: WrapOptions): Promise<OpenWrap> {
  const wrap = new Wrap(options);
  try {
    return await wrap.open();
  } catch (error) {
    await wrap.close();
    throw error;
  }
}
