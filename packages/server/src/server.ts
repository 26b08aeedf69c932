/** The host that stays up: inbox, dispatcher and HTTP server of one home, from its start to its end. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { AcpAgentOptions } from "@pagurus/acp-server/acp-agent";
import type { AcpApiOptions } from "./acp-api.ts";
import { AcpMount } from "./acp-mount.ts";
import type { AskPermission } from "@pagurus/contract/host/run";
import { attempt } from "@pagurus/core/data/attempt";
import type { ChannelHost } from "@pagurus/channels/channel-host";
import { WebhookRoutes } from "@pagurus/channels/webhook/webhook-routes";
import type { Database } from "@pagurus/core/data/sqlite";
import { JsonThread } from "@pagurus/core/platform/json/json-thread";
import type { Logger } from "@pagurus/core/platform/log";
import { isLoopback } from "@pagurus/core/platform/loopback";
import { nextSlice } from "@pagurus/core/platform/pace";
import type { Awaitable } from "@pagurus/inbox/inbox";
import { DeletedSessions } from "@pagurus/inbox/deleted-sessions";
import { Dispatcher } from "@pagurus/inbox/dispatcher";
import { localWork, sharedWork } from "./open-work.ts";
import { openServerDatabase } from "@pagurus/inbox/server-database";
import type { WorkStore } from "@pagurus/inbox/work-store";
import type { NewWork, WorkPlace } from "@pagurus/inbox/work";
import { knownSecrets } from "./inspect/report/known-secrets.ts";
import { FolderFiles } from "@pagurus/host/tool/files/folder-files";
import { SessionUsages } from "./inspect/requests/session-usage.ts";
import { syncHeartbeats } from "@pagurus/inbox/schedule/heartbeats";
import type { Jobs } from "@pagurus/inbox/schedule/jobs";
import { Scheduler } from "@pagurus/inbox/schedule/scheduler";
import { HostBoard } from "./board/host-board.ts";
import { AuditLog } from "./access/audit-log.ts";
import { RequestBodies } from "./api/request-bodies.ts";
import { OpenByToken } from "./access/open-by-token.ts";
import { InFlight } from "./access/in-flight.ts";
import type { AllowedOrigins } from "./access/request-origin.ts";
import { RateLimits } from "./access/rate-limits.ts";
import { signInApi, signOutApi } from "./access/sign-in.ts";
import { isTokenId, type Tokens } from "./access/tokens.ts";
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { loadConfig, type LoadedConfig } from "@pagurus/core/config/load-config";
import { watchConfig } from "./config-watch.ts";
import type { AgentTurnRequest } from "./model-api/agent-turn.ts";
import type { SentSurface } from "./model-api/surfaces/surface-api.ts";
import { modelApiHarness } from "./model-api/api-harness.ts";
import { hasStoredConversations } from "./model-api/database.ts";
import type { ModelApiOptions } from "./model-api/model-api.ts";
import { agentTurn } from "./agent-turns.ts";
import { CHANNELS } from "@pagurus/core/authority/doors";
import { OWNER, type Authority } from "@pagurus/contract/host/authority";
import { HttpServer } from "./http-server.ts";
import { inspectorPage } from "./inspector-page.ts";
import { McpMount } from "./mcp-mount.ts";
import { MetricsPage } from "./metrics-page.ts";
import { ModelApiMount } from "./model-api-mount.ts";
import { OpenStreams } from "./open-streams.ts";
import { ServerPlace } from "./server-address.ts";
import type { ServerFacts, ServerParts } from "./server-parts.ts";
import { openRecords, type ServerRecords } from "./server-records.ts";

/** How long running turns may continue when the server stops, ms; then they are aborted. */
const STOP_MS = 20_000;
const CONNECTIONS_MS = 2_000;
/** How long the deltas of ended work are kept, ms, and how often the rest is removed. */
const DELTAS_MS = 10 * 60_000;
const PRUNE_MS = 60_000;
/** Ended work is kept this long, with its events and its idempotency key. */
const WORK_KEPT_MS = 30 * 24 * 60 * 60_000;

export interface ServeOptions {
  home: string;
  version: string;
  env: Record<string, string | undefined>;
  logger: Logger;
  port: number;
  /** Whether it takes a free port where another program has this one. */
  otherPort?: boolean;
  /** Whether its process starts it again at `RESTART_SIGNAL`. */
  restarts?: boolean;
  host: string;
  maxTurns: number;
  /** Longest body of a request. */
  maxBodyBytes: number;
  /** Bytes of all bodies that are held at once. */
  maxBytesInFlight?: number | undefined;
  /** Requests of one token that are open at once. */
  maxRequests?: number | undefined;
  /** Sessions of the model API whose state is kept in memory. Default 200. */
  maxLiveSessions?: number | undefined;
  /** Seconds for which a permission question to a client of the model API waits. Default 300. */
  questionSeconds?: number | undefined;
  loaded: LoadedConfig;
  /** Folder of sessions that name none. */
  cwd: string;
  allowedHosts: readonly string[];
  allowedOrigins: readonly string[];
  open(options: PagurusOptions): Promise<PagurusHost>;
  /** Of the regular removal of old work. Default: the machine's. */
  clock?: Clock;
  /** Loads the settings of agents for clients of the Agent Client Protocol. */
  acpSettings(): Promise<Omit<AcpAgentOptions, "version" | "home" | "env" | "logger">>;
}

export interface RunningServer {
  facts: ServerFacts;
  /** Ends what runs within a deadline; the rest stays in the inbox. */
  close(): Promise<void>;
}

function urlOf(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${isIP(name) === 6 ? `[${name}]` : name}:${port}`;
}

/** Throws `server_running`, `server_failed`, `token_invalid`, `store_write_failed`, and the errors of opening a host. */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const place = ServerPlace.take(options.home);
  const undo: Undo = [() => place.release()];
  try {
    return await startedServer(options, place, undo);
  } catch (error) {
    for (const step of undo.toReversed()) await step();
    throw error;
  }
}

/** Undoes the steps of a start that failed, in reverse order. */
type Undo = (() => Promise<void> | void)[];

interface OpenedParts {
  parts: ServerParts;
  db: Database;
  work: WorkStore;
  records: ServerRecords;
  audit: AuditLog;
  limits: RateLimits;
  inFlight: InFlight;
  acp: AcpMount;
  modelApi: ModelApiMount;
  json: JsonThread;
  scheduler: Scheduler;
  /** Absent where none is configured. */
  channels?: ChannelHost | undefined;
  /** Secret of this user's own commands. */
  localKey: string;
}

/** Hosts that share their sessions share their work too. Throws `store_read_failed`, `store_write_failed`. */
async function openWork(
  { home, logger }: ServeOptions,
  db: Database,
  { database }: ServerRecords,
): Promise<WorkStore> {
  return database ? sharedWork({ database, home }, logger) : localWork(db, logger);
}

/** The register of what tokens have open, their work in the inbox included. */
function openFor(tokens: Tokens, { inbox }: WorkStore, dispatcher: Dispatcher): OpenByToken {
  return new OpenByToken({
    valid: (ids) => tokens.valid(ids),
    ofWork: () => inbox.openTokens(),
    endWork: (ids) => dispatcher.stopWorkOf(ids),
  });
}

function schedulerOf(jobs: Jobs, dispatcher: Dispatcher, logger: Logger): Scheduler {
  const post = async (work: NewWork): Promise<void> => void (await dispatcher.post(work));
  return new Scheduler({ jobs, post, logger });
}

/** What reads the bodies of requests, and counts what of them is held. */
function bodiesOf({ maxBodyBytes, maxBytesInFlight, maxRequests }: ServeOptions, json: JsonThread) {
  const inFlight = new InFlight({ maxRequests, maxBytes: maxBytesInFlight, maxBodyBytes });
  return { inFlight, bodies: new RequestBodies({ maxBytes: maxBodyBytes, onBytes: inFlight.read }, json) };
}

/** The Agent Client Protocol; its code is loaded at the first client. */
function acpMount(
  { version, home, env, logger, acpSettings }: ServeOptions,
  host: PagurusHost,
  api: AcpApiOptions,
): AcpMount {
  return new AcpMount(async () => {
    // One after another: together their code takes the event loop for a tenth of a second.
    for (const load of [() => import("zod/v4"), () => import("@agentclientprotocol/sdk")]) {
      await load();
      await nextSlice();
    }
    const [{ createAcpApi }, settings] = await Promise.all([import("./acp-api.ts"), acpSettings()]);
    return createAcpApi(host, { ...settings, version, home, env, logger }, api);
  });
}

/** The APIs of model providers; `folder`: workspace of their sessions. */
function modelApiMount(options: ModelApiOptions, folder: string): ModelApiMount {
  return new ModelApiMount(async () => {
    const { createModelApi } = await import("./model-api/model-api.ts");
    return createModelApi(options);
  }, folder);
}

/** What callers may do now, by their tokens. */
function rightsOf(tokens: Tokens) {
  return {
    authorityOf: (tokenId: string): Awaitable<Authority | undefined> =>
      tokenId === "local" ? { ...OWNER, tokenId } : tokens.authorityOf(tokenId),
    isValid: ({ tokenId }: Authority): Awaitable<boolean> => !isTokenId(tokenId) || tokens.isValid(tokenId),
  };
}

/** The agent of the model API, and its lines in the audit log. */
function asModelApi(audit: AuditLog) {
  const onSentSurface = (sent: SentSurface): void => audit.add({ at: Date.now(), ...sent });
  return { agentId: DEFAULT_AGENT_ID, onSentSurface };
}

/** Opens the database and the host, and what the routes work with. */
async function openParts(options: ServeOptions, undo: Undo): Promise<OpenedParts> {
  const { home, logger, env, maxTurns, version } = options;
  const db = openServerDatabase(home);
  undo.push(() => db.close());
  const records = await openRecords(db, { store: options.loaded.config.store, env });
  undo.push(() => records.close());
  const { jobs, tokens, logins } = records;
  // Those of a server that was killed.
  logins.closeAll();
  await checkAddress(options, tokens);
  const work = await openWork(options, db, records);
  undo.push(() => work.close());
  const { inbox, events, approvals } = work;
  let dispatcher: Dispatcher | undefined;
  let acp: AcpMount | undefined;
  const askPermission: AskPermission = async (question) => {
    const asked = dispatcher?.runs(question.sessionKey) === true ? dispatcher : acp;
    return asked?.askPermission(question) ?? "unasked";
  };
  const harness = modelApiHarness();
  const pagurus = await options.open({ home, env, askPermission, harnesses: [harness] });
  undo.push(() => pagurus.close());
  const { authorityOf, isValid } = rightsOf(tokens);
  dispatcher = new Dispatcher({ inbox, events, approvals, host: pagurus, isValid, logger, maxTurns });
  const running = dispatcher;
  const opened = openFor(tokens, work, running);
  undo.push(() => opened.close());
  const json = new JsonThread();
  undo.push(() => json.close());
  const { maxBodyBytes, maxLiveSessions, loaded, questionSeconds } = options;
  const { inFlight, bodies } = bodiesOf(options, json);
  const bounds = { openFor: opened.add, maxBodyBytes, json };
  acp = acpMount(options, pagurus, { ...bounds, inFlight });
  const turnParts = { events, approvals, dispatcher: running, host: pagurus, authorityOf, questionSeconds };
  const turns = { run: (asked: AgentTurnRequest) => agentTurn(turnParts, asked) };
  const audit = new AuditLog(db);
  const asked = { ...bounds, ...asModelApi(audit), loaded, harness, turns, onBytes: inFlight.read };
  const modelApi = modelApiMount({ home, env, logger, pagurus, maxLiveSessions, ...asked }, options.cwd);
  undo.push(() => modelApi.close());
  const forget = async (place: WorkPlace): Promise<void> => {
    await inbox.forget(place);
    await modelApi.forget(place.sessionKey);
  };
  const scheduler = schedulerOf(jobs, running, logger);
  const limits = new RateLimits();
  const streams = new OpenStreams(limits, inFlight, opened);
  undo.push(() => streams.close());
  const facts = { version, pid: process.pid, url: "", home, startedAt: new Date().toISOString() };
  return {
    parts: {
      host: pagurus,
      inbox,
      events,
      approvals,
      dispatcher,
      tokens,
      logins,
      opened,
      streams,
      jobs,
      usages: new SessionUsages(),
      folders: new FolderFiles(),
      board: new HostBoard({ facts, env, db }),
      secrets: () => knownSecrets(home, env),
      facts,
      bodies,
      forget,
    },
    db,
    work,
    records,
    audit,
    limits,
    inFlight,
    acp,
    modelApi,
    json,
    scheduler,
    localKey: `pgl_${randomBytes(32).toString("base64url")}`,
  };
}

async function startedServer(options: ServeOptions, place: ServerPlace, undo: Undo): Promise<RunningServer> {
  const { logger } = options;
  const opened = await openParts(options, undo);
  const { parts, audit, limits, inFlight, localKey, acp, modelApi } = opened;
  const { facts, tokens, logins, dispatcher } = parts;
  const metrics = new MetricsPage(parts);
  const webhooks = new WebhookRoutes();
  const http = new HttpServer({
    parts,
    audit,
    limits,
    inFlight,
    sources: { tokens, localKey },
    allowed: allowedOf(options),
    open: [webhooks, inspectorPage, signInApi(logins)],
    mounted: [
      acp,
      signOutApi(logins),
      metrics,
      new McpMount(parts.host, options.home, options.env),
      modelApi,
    ],
    logger,
  });
  // Before it listens: a command that waits for a restart reads the key for each request.
  place.writeKey(localKey);
  // Also before it listens: what was left without an end can be followed and cancelled from the first request on.
  if (hasStoredConversations(options.home)) await modelApi.load();
  // The first search for a key that no session has reads the whole folder and index; those of requests do not.
  attempt(() => parts.host.sessions().find("main.unknown"));
  const port = await http.listen(options.port, options.host, options.otherPort);
  undo.push(() => http.close(CONNECTIONS_MS));
  facts.url = urlOf(options.host, port);
  const restarts = options.restarts === true;
  place.announce({ url: facts.url, pid: facts.pid, startedAt: facts.startedAt, restarts });
  void metrics.count().catch((error: unknown) => {
    logger.warn("ended work not counted", { code: toPagurusError(error).code });
  });
  await syncHeartbeats(parts.jobs, options.loaded.config);
  await opened.records.shareCooldowns?.(options);
  // Work that it has begun ends before what it works with is closed: else it would be recorded as failed.
  undo.push(async () => {
    await dispatcher.stop(STOP_MS);
    await parts.events.flush();
  });
  await dispatcher.start();
  opened.scheduler.start();
  opened.channels = await startChannels(options, opened, webhooks);
  void modelApi.begin().catch((error: unknown) => notRemoved(logger, error));
  const { clock = SYSTEM_CLOCK } = options;
  const stopPruning = clock.every(PRUNE_MS, pruner(opened, logger), { ref: false });
  logger.info("server started", { port });
  const unwatch = followConfig(options, opened);
  const close = async (): Promise<void> => {
    stopPruning();
    unwatch();
    metrics.close();
    await stop(opened, http);
    place.release();
    logger.info("server stopped", { port });
  };
  return { facts, close };
}

/** Turns, models and heartbeats follow the configuration; what else is read at the start, `config set` names (`AT_START`). */
function followConfig({ home, logger, loaded }: ServeOptions, { parts }: OpenedParts): () => void {
  return watchConfig(home, logger, async () => {
    // A turn may wait for a person for hours: others do not wait for it.
    await parts.host.reload({ whenIdle: true });
    Object.assign(loaded, loadConfig({ home }));
    await syncHeartbeats(parts.jobs, loaded.config);
  });
}

/** The channels and their libraries are loaded only where one is configured. */
async function startChannels(
  { loaded, env, logger, cwd }: ServeOptions,
  { parts: { host, ...parts }, db }: OpenedParts,
  webhooks: WebhookRoutes,
): Promise<ChannelHost | undefined> {
  if (Object.keys(loaded.config.channels ?? {}).length === 0) return undefined;
  const { ChannelHost } = await import("@pagurus/channels/channel-host");
  return ChannelHost.start({
    ...parts,
    pagurus: host.as(CHANNELS),
    config: loaded.config,
    db,
    env,
    logger,
    cwd,
    webhooks,
  });
}

/** Removes deltas of ended work, old work, and all text of sessions that were deleted, also by a command without the server. */
function pruner({ parts, modelApi, channels }: OpenedParts, logger: Logger): () => void {
  const { events, inbox, host, forget } = parts;
  const exists = ({ agentId, sessionKey }: WorkPlace): boolean =>
    // Where the store cannot be read, nothing is removed.
    attempt(() => host.sessions(agentId).find(sessionKey) !== undefined) ?? true;
  const deleted = new DeletedSessions({ inbox, exists, forget });
  const prune = async (): Promise<void> => {
    const before = Date.now() - DELTAS_MS;
    await events.prune(before);
    await inbox.prune(Date.now() - WORK_KEPT_MS);
    channels?.prune(Date.now() - WORK_KEPT_MS);
    await (inbox.forgetDeleted?.(before) ?? deleted.look(before));
    await modelApi.prune();
  };
  return () => void prune().catch((error: unknown) => notRemoved(logger, error));
}

/** Logs a removal that failed; the pruner tries it again. */
function notRemoved(logger: Logger, error: unknown): void {
  logger.warn("old work not removed", { code: toPagurusError(error).code });
}

async function stop(
  { parts, db, work, records, audit, acp, modelApi, json, scheduler, channels }: OpenedParts,
  http: HttpServer,
): Promise<void> {
  const { dispatcher, events, streams, opened, logins, host } = parts;
  await scheduler.stop();
  await channels?.stop();
  await dispatcher.stop(STOP_MS);
  // What cannot be stored is tried once more when the work is closed, and the rest is closed in any case.
  await attempt(() => events.flush());
  streams.close();
  opened.close();
  await Promise.all([acp.close(), modelApi.close()]);
  await http.close(CONNECTIONS_MS);
  await json.close();
  await host.close();
  await work.close();
  await records.close();
  audit.flush();
  logins.closeAll();
  db.close();
}

/** Throws `token_invalid` where the address opens the server to other machines and no token limits who may call. */
async function checkAddress({ host }: ServeOptions, tokens: Tokens): Promise<void> {
  if (isLoopback(host)) return;
  for (const { id } of await tokens.list()) if (await tokens.isValid(id)) return;
  throw new PagurusError(
    "token_invalid",
    `The address ${host} opens the server to other machines, and there is no token yet; make one with pagurus token create --name <name>.`,
  );
}

function allowedOf({ host, allowedHosts, allowedOrigins }: ServeOptions): AllowedOrigins {
  return {
    hosts: new Set([host, ...allowedHosts].map((name) => name.toLowerCase())),
    anyAddress: !isLoopback(host),
    origins: new Set(allowedOrigins),
  };
}
