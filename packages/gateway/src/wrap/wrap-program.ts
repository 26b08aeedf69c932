/** Host, gateway and route of one program of the user's own, from its start to its end. */
import { configFromValue, type LoadedConfig } from "@pagurus/core/config/load-config";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { SessionClaim } from "@pagurus/contract/session/claim";
import type { Pagurus, PagurusOptions } from "@pagurus/contract/host/host";
import type { StatusReport } from "@pagurus/contract/host/status";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { WrappedProgram, WrapRoute } from "@pagurus/contract/harness/wrap";
import type { WrapRequestRule } from "@pagurus/contract/harness/wrap-rules";
import { resolveModel } from "@pagurus/core/model/resolve";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { CaptureLog } from "../capture/capture.ts";
import { captureSettings } from "../capture/capture-settings.ts";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { createModelGateway, type Gateway } from "../gateway.ts";
import type { Governor } from "../governor/governor.ts";
import { directUpstream } from "../upstream/direct.ts";
import { upstreamFor } from "../upstream/for-model.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { folderName } from "@pagurus/host/stores/files/folder-keys";
import { MAIN, sharesMain, workspaceOf } from "@pagurus/host/turn/agent/session-key";
import { WrapClaims } from "./wrap-claims.ts";
import { WrapGovernor } from "./wrap-governor.ts";
import { WrapHarness } from "./wrap-harness.ts";
import { WrapObserver } from "./observer.ts";
import { NamedItems } from "./named-items.ts";
import { RequestKinds } from "./request-kinds.ts";
import { wrapConfig } from "./setup.ts";
import { TOOLS_NAME, wrapTools, type ServedTools, type ServeTools } from "./wrap-tools.ts";

export interface WrapOptions {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  loaded: LoadedConfig;
  logger: Logger;
  program: WrappedProgram;
  rules?: readonly WrapRequestRule[] | undefined;
  conversationHeader?: string | undefined;
  /** Name of the program, for the runtime. */
  id: string;
  label: string;
  api: WireApi;
  /** Absent: a new conversation of the program's folder, or the one that the program resumes. */
  sessionKey?: string | undefined;
  /** Continue the folder's last conversation instead of a new one; a named one has to exist. */
  continues?: boolean | undefined;
  agentId: string;
  engine?: string | undefined;
  contextWindow?: number | undefined;
  /** Ref of our catalog: requests go there instead of the program's own endpoint. */
  model?: string | undefined;
  capture: boolean;
  observe: boolean;
  open(options: PagurusOptions): Promise<Pagurus>;
  serveTools: ServeTools;
}

/** Report for the user after the program has left the terminal. */
export interface WrapReport {
  /** Undefined if nothing was governed. */
  sessionKey: string | undefined;
  /** Session under which captures are stored. */
  capturedAs: string;
  turns: number;
  requests: number;
  /** Unique sentences for the user. */
  notices: string[];
}

export interface OpenWrap {
  route: WrapRoute;
  /** The conversation that the program begins with; undefined if nothing is governed. */
  claim: SessionClaim | undefined;
  /** Ends the open turn, the gateway and the host. Never throws. */
  close(): Promise<WrapReport>;
}

/** Timeout for settling the last turn, ms; background work of the engine is left to the next host. */
const SETTLE_DEADLINE_MS = 20_000;
const MOST_NOTICES = 5;
/** Problems of the engine that prevent every turn. */
const ENGINE_PROBLEMS: ReadonlySet<string> = new Set(["engine_unknown", "engine_failed", "engine_contract"]);

class Wrap implements OpenWrap {
  route!: WrapRoute;
  claim: SessionClaim | undefined;
  readonly #options: WrapOptions;
  readonly #notices = new Set<string>();
  #requests = 0;
  #pagurus: Pagurus | undefined;
  #gateway: Gateway | undefined;
  #governor: WrapGovernor | undefined;
  #capture: CaptureLog | undefined;
  #tools: ServedTools | undefined;
  #claims: WrapClaims | undefined;
  /** Absent if no host follows the program. */
  #engine: StatusReport["engine"] | undefined;
  #closeRoute: () => Promise<void> = () => Promise.resolve();

  readonly #kinds: RequestKinds;

  constructor(options: WrapOptions) {
    this.#options = options;
    const { rules = [], conversationHeader } = options;
    const hasOpenCalls = (): boolean => this.#governor?.hasOpenCalls === true;
    this.#kinds = new RequestKinds({
      rules,
      conversationHeader,
      hasOpenCalls,
      isAnswering: (contentId) => this.#governor?.isAnswering(contentId) === true,
      notify: (sentence) => this.#notify(sentence),
    });
  }

  async open(): Promise<this> {
    const { observe, env, program, api, logger, model, id } = this.#options;
    const config = this.#config();
    const resolve = (ref: string): ReturnType<typeof resolveModel> => resolveModel(ref, config, env);
    // Checked before anything starts: throws if the model or its key is missing.
    const chosen = model === undefined ? undefined : resolve(model);
    const harness = new WrapHarness(id, this.#options.label);
    if (!observe) await this.#openHost(config, harness);
    const { sessionKey } = this;
    const other = chosen && upstreamFor(chosen, api, sessionKey);
    const upstream = other ?? ownUpstream(program);
    const governor = observe ? new WrapObserver(upstream) : this.#follow(harness, upstream);
    this.#capture = this.#openCapture(config);
    this.#gateway = createModelGateway({ logger, resolve, capture: this.#capture });
    const route = await this.#gateway.openRoute({
      api,
      governor: governor as Governor,
      sessionKey,
      runtime: `wire-${id}`,
      named: !observe && api === "openai-responses" ? new NamedItems() : undefined,
      classify: observe ? undefined : (request, call) => this.#kinds.classified(request, call),
      onExchange: ({ kind }) => void (this.#requests += kind === "count" || kind === "unknown" ? 0 : 1),
    });
    this.#closeRoute = () => route.close();
    const { baseUrl, secretUrl, token, headers } = route;
    const governs = !observe && this.#engine?.governs !== false;
    const compacts = this.#engine?.ownsCompaction === true;
    this.#tools = governs ? await this.#serveTools() : undefined;
    const tools = this.#tools && { tools: { name: TOOLS_NAME, ...this.#tools.server } };
    this.route = {
      baseUrl,
      secretUrl,
      token,
      headers,
      governs,
      compacts,
      answersAll: other !== undefined,
      ...tools,
    };
    return this;
  }

  get sessionKey(): string {
    const { sessionKey, loaded, program } = this.#options;
    const key = this.claim?.sessionKey ?? sessionKey;
    return key ?? (sharesMain(loaded.config) ? MAIN : folderName(workspaceOf(program.cwd)));
  }

  /** Throws the errors that refuse each turn, such as a missing engine, and `session_locked`, `session_key_invalid`. */
  async #openHost(config: ReturnType<typeof wrapConfig>, harness: WrapHarness): Promise<void> {
    const { home, env, agentId, program, open, sessionKey, continues } = this.#options;
    this.#pagurus = await open({ home, env, config, harnesses: [harness] });
    if (continues === true && sessionKey !== undefined && !this.#pagurus.sessions(agentId).find(sessionKey))
      throw new PagurusError(
        "session_not_found",
        `There is no session "${sessionKey}" to continue; pagurus sessions list shows them all.`,
      );
    this.#claims = new WrapClaims(this.#pagurus, { agentId, cwd: program.cwd });
    const begins = continues === true ? "last" : sharesMain(config) ? "continue" : "new";
    this.claim = await this.#claims.claim(sessionKey === undefined ? { how: begins } : { sessionKey });
    const about = { sessionKey: this.sessionKey, agentId, cwd: program.cwd };
    const { problems, engine } = await this.#pagurus.status(about);
    const refused = problems.find(({ code }) => ENGINE_PROBLEMS.has(code));
    if (refused) throw new PagurusError(refused.code as PagurusError["code"], refused.message);
    this.#engine = engine;
  }

  async #serveTools(): Promise<ServedTools | undefined> {
    const { agentId, program, id, serveTools, logger } = this.#options;
    const governor = this.#governor;
    const about = { runtime: `wire-${id}`, sessionKey: this.sessionKey, agentId, cwd: program.cwd };
    const tools = await this.#pagurus?.native.tools(about);
    if (!tools || tools.specs.length === 0) return undefined;
    const offered = wrapTools(tools, (callId) => governor?.toolsFor(callId));
    try {
      return await serveTools(offered, TOOLS_NAME);
    } catch (error) {
      // The conversation continues without them.
      logger.warn("engine's tools not offered", { runtime: about.runtime, code: toPagurusError(error).code });
      this.#notify(`The engine's tools were not offered: ${toPagurusError(error).message}`);
      return undefined;
    }
  }

  /** Validated like a file. Throws `config_invalid`. */
  #config(): ReturnType<typeof wrapConfig> {
    const { loaded, api, program, engine, contextWindow, home } = this.#options;
    const { provider, models } = program;
    const chosen = contextWindow ?? program.contextWindow;
    const window = chosen && chosen - (program.spareTokens?.(chosen) ?? 0);
    const settings = { api, provider, models, engine, contextWindow: window };
    return configFromValue(wrapConfig(loaded, settings), home).config;
  }

  #follow(harness: WrapHarness, upstream: Upstream): Governor {
    const { agentId, program, logger, model } = this.#options;
    const pagurus = this.#pagurus;
    if (!pagurus) throw new PagurusError("internal", "A wrapped program is followed without a host.");
    const { provider, cwd } = program;
    const isFree = this.claim?.folder !== undefined && this.#options.continues !== true;
    this.#governor = new WrapGovernor({
      pagurus,
      harness,
      sessionKey: this.sessionKey,
      agentId,
      cwd,
      ...(isFree ? { folder: this.claim?.folder, claims: this.#claims } : {}),
      logger,
      ownsCompaction: this.#engine?.ownsCompaction === true,
      modelOf: (request: WireRequest) => model ?? `${provider.id}/${request.model}`,
      upstream: () => upstream,
      notify: (sentence) => this.#notify(sentence),
      onAnswer: (request, message) => this.#kinds.noteAnswer(request, message),
      onSummary: (request, summary) => this.#kinds.noteSummary(request, summary),
    });
    return this.#governor;
  }

  #openCapture(config: ReturnType<typeof wrapConfig>): CaptureLog | undefined {
    const { env, capture, observe, home, logger } = this.#options;
    const settings = captureSettings(config, env, capture || observe);
    if (!settings) return undefined;
    return new CaptureLog({ ...settings, home, logger, onStopped: (sentence) => this.#notify(sentence) });
  }

  #notify(sentence: string): void {
    if (this.#notices.size < MOST_NOTICES) this.#notices.add(sentence);
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
    this.#claims?.release();
    return {
      sessionKey: governor?.sessionKey,
      capturedAs: this.sessionKey,
      turns: governor?.turns ?? 0,
      requests: this.#requests,
      notices: [...this.#notices, ...(this.#options.observe ? [] : this.#kinds.reports)],
    };
  }

  async #step(label: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await withDeadline(() => work() ?? Promise.resolve(), { ms: SETTLE_DEADLINE_MS, label });
    } catch (error) {
      this.#options.logger.warn("wrapped program not ended cleanly", { step: label });
      this.#notify(isPagurusError(error) ? error.message : `${label} failed.`);
    }
  }
}

/** The provider that the program is set to; its own credentials pass, unless they are replaced. */
function ownUpstream({ provider: { baseUrl }, credentials = {} }: WrappedProgram): Upstream {
  const secrets = Object.values(credentials);
  return directUpstream({
    baseUrl,
    label: new URL(baseUrl).host,
    headers: credentials,
    secrets,
    isHosts: false,
  });
}

/** Throws the errors of opening a host, `model_unknown`, `credential_missing`, `gateway_failed`. */
export async function openWrap(options: WrapOptions): Promise<OpenWrap> {
  const wrap = new Wrap(options);
  try {
    return await wrap.open();
  } catch (error) {
    await wrap.close();
    throw error;
  }
}
