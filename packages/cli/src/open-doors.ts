/** Lists callers of this machine's server, for `pagurus status`: its address, valid tokens, logins of browsers. */
import type { Token } from "@pagurus/api/types";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { toPagurusError } from "@pagurus/contract/errors";
import { plural } from "@pagurus/core/data/plain-numbers";
import { time } from "@pagurus/host/command/layout";
import { runningServer } from "@pagurus/server/server-address";
import type { Cli } from "./cli.ts";
import { defined } from "@pagurus/core/data/defined";

export interface OpenDoors {
  url: string;
  /** ISO 8601. */
  startedAt: string;
  /** Number of tokens that are valid now. */
  tokens: number;
  /** Logins of browsers that are valid now. */
  browsers: Pick<Token, "id" | "scope" | "createdAt" | "expiresAt">[];
  /** Why tokens and logins are not known. */
  problem?: string;
}

function isValid({ revokedAt, expiresAt }: Token, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now);
}

/** Undefined if no server of this home runs: nothing is open then, and logins end with their server. Never throws. */
export async function openDoors(cli: Cli): Promise<OpenDoors | undefined> {
  const server = runningServer(resolveHome(cli.env));
  if (!server) return undefined;
  const { url, startedAt } = server;
  try {
    // Loaded only for a running server: a status without one opens no database.
    const [{ withRecords }, { isLoginId }] = await Promise.all([
      import("./server/own-records.ts"),
      import("@pagurus/server/access/browser-logins"),
    ]);
    const now = Date.now();
    const all = await withRecords(cli, ({ tokens }) => tokens.list());
    const valid = all.filter((token) => isValid(token, now));
    const browsers = valid
      .filter(({ id }) => isLoginId(id))
      .map(({ id, scope, createdAt, expiresAt }) => ({
        id,
        scope,
        createdAt,
        ...defined({ expiresAt }),
      }));
    return { url, startedAt, tokens: valid.length - browsers.length, browsers };
  } catch (error) {
    return { url, startedAt, tokens: 0, browsers: [], problem: toPagurusError(error).message };
  }
}

const clock = (at: number): string => time(new Date(at).toISOString());

/** Rows of `pagurus status`. */
export function openDoorRows({ url, startedAt, tokens, browsers, problem }: OpenDoors): [string, string][] {
  const rows: string[] = [`server at ${url}, since ${time(startedAt)}`];
  if (problem !== undefined) rows.push(`its tokens and browser logins cannot be read: ${problem}`);
  else {
    rows.push(`${plural(tokens, "valid token")}${tokens === 0 ? "" : " (pagurus token list)"}`);
    rows.push(plural(browsers.length, "browser login"));
    for (const { id, scope, createdAt, expiresAt } of browsers) {
      const until = expiresAt === undefined ? "" : `, until ${clock(expiresAt)}`;
      rows.push(
        `${id}: scope ${scope}, since ${clock(createdAt)}${until}; pagurus token revoke ${id} ends it`,
      );
    }
  }
  return rows.map((text, index) => [index === 0 ? "Open" : "", text]);
}
