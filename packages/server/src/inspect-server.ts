/**
 * The server of `pagurus inspect` where none runs for the home: on loopback, for one browser, which may only read. It takes no lock and
 * runs no work; what a server keeps in its database is in a temporary one.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import { Dispatcher } from "@pagurus/inbox/dispatcher";
import { localWork } from "./open-work.ts";
import { openServerDatabase } from "@pagurus/inbox/server-database";
import { knownSecrets } from "./inspect/report/known-secrets.ts";
import { FolderFiles } from "@pagurus/host/tool/files/folder-files";
import { SessionUsages } from "./inspect/requests/session-usage.ts";
import { JsonThread } from "@pagurus/core/platform/json/json-thread";
import type { Logger } from "@pagurus/core/platform/log";
import { AuditLog } from "./access/audit-log.ts";
import { OpenByToken } from "./access/open-by-token.ts";
import { InFlight } from "./access/in-flight.ts";
import { RateLimits } from "./access/rate-limits.ts";
import { signInApi, signOutApi } from "./access/sign-in.ts";
import { DEFAULT_BODY_BYTES, RequestBodies } from "./api/request-bodies.ts";
import { HttpServer } from "./http-server.ts";
import { inspectorPage } from "./inspector-page.ts";
import { OpenStreams } from "./open-streams.ts";
import type { ServerParts } from "./server-parts.ts";
import { HostBoard } from "./board/host-board.ts";
import { openRecords } from "./server-records.ts";

const HOST = "127.0.0.1";
const CONNECTIONS_MS = 500;

export interface InspectOptions {
  home: string;
  version: string;
  env: Record<string, string | undefined>;
  logger: Logger;
  /** 0: a free one. */
  port: number;
  open(options: PagurusOptions): Promise<PagurusHost>;
}

export interface InspectServer {
  url: string;
  /** An address that signs a browser in, once. */
  signIn(session?: { key: string; agent: string }): string;
  close(): Promise<void>;
}

/** Throws `server_failed`, `store_write_failed`, and the errors of opening a host. */
export async function startInspectServer(options: InspectOptions): Promise<InspectServer> {
  const { home, version, env, logger } = options;
  const folder = await mkdtemp(join(tmpdir(), "pagurus-inspect-"));
  const undo: (() => Promise<void> | void)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const db = openServerDatabase(folder);
    undo.push(() => db.close());
    const pagurus = await options.open({ home, env, onlyLook: true });
    undo.push(() => pagurus.close());
    const { inbox, events, approvals } = localWork(db);
    const { jobs, tokens, logins } = await openRecords(db, { store: undefined, env });
    const limits = new RateLimits();
    const json = new JsonThread();
    undo.push(() => json.close());
    const opened = new OpenByToken(tokens);
    undo.push(() => opened.close());
    const inFlight = new InFlight();
    const streams = new OpenStreams(limits, inFlight, opened);
    undo.push(() => streams.close());
    const facts = { version, pid: process.pid, url: "", home, startedAt: new Date().toISOString() };
    const board = new HostBoard({ facts, env, db });
    const parts: ServerParts = {
      host: pagurus,
      inbox,
      events,
      approvals,
      dispatcher: new Dispatcher({ inbox, events, approvals, host: pagurus, logger, maxTurns: 1 }),
      tokens,
      logins,
      opened,
      streams,
      jobs,
      usages: new SessionUsages(),
      folders: new FolderFiles(),
      board,
      secrets: () => knownSecrets(home, env),
      facts,
      bodies: new RequestBodies({ maxBytes: DEFAULT_BODY_BYTES, onBytes: inFlight.read }, json),
      forget: (place) => inbox.forget(place),
    };
    const http = new HttpServer({
      parts,
      audit: new AuditLog(db),
      limits,
      inFlight,
      sources: { tokens, localKey: randomBytes(32).toString("base64url") },
      allowed: { hosts: new Set([HOST]), anyAddress: false, origins: new Set() },
      open: [inspectorPage, signInApi(logins)],
      mounted: [signOutApi(logins)],
      logger,
    });
    const port = await http.listen(options.port, HOST);
    undo.push(() => http.close(CONNECTIONS_MS));
    facts.url = `http://${HOST}:${port}`;
    return { url: facts.url, signIn: (session) => logins.address(facts.url, "read", session), close };
  } catch (error) {
    await close();
    throw error;
  }
}
