import type { Token } from "@pagurus/api/types";
import { ago, table } from "@pagurus/host/command/layout";
import type { Scope } from "@pagurus/contract/host/authority";
import type { PermissionMode } from "@pagurus/contract/host/permission-modes";
import { printJson, printLine, type Cli } from "../cli.ts";
import { workspace } from "../cli-workspace.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { withRecords } from "./own-records.ts";
import { defined } from "@pagurus/core/data/defined";

export interface TokenCreateOptions {
  name: string;
  scope: Scope;
  session: string;
  agent?: string;
  mode?: PermissionMode;
  folder?: string[];
  expires?: string;
  json?: boolean;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds since the epoch. Throws `usage_invalid`. */
function expiryOf(text: string, now: number): number {
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : now + Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(at) && at > now) return at;
  throw usageError(
    `--expires ${JSON.stringify(text)} is not a time in the future; give a duration such as 30d, 12h or 45m, or a date such as 2027-01-31.`,
  );
}

/** `pagurus token create`. */
export async function tokenCreate(
  cli: Cli,
  { name, scope, session, agent, mode, folder, expires, json }: TokenCreateOptions,
): Promise<number> {
  const expiresAt = expires === undefined ? undefined : expiryOf(expires, Date.now());
  const { token, secret } = await withRecords(cli, ({ tokens }) =>
    tokens.create({
      name,
      scope,
      sessions: session,
      expiresAt,
      ...defined({ agents: agent, mode }),
      ...(folder === undefined ? {} : { folders: folder.map((each) => workspace(cli, each)) }),
    }),
  );
  if (json === true) printJson(cli, { ...token, secret });
  else {
    printLine(cli.stdout, secret);
    printLine(
      cli.stderr,
      `Keep it: it is stored as a hash and not shown again. Revoke it with pagurus token revoke ${token.id}.`,
    );
  }
  return EXIT_DONE;
}

function stateOf({ revokedAt, expiresAt }: Token, now: number): string {
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt === undefined) return "valid";
  return expiresAt <= now ? "expired" : `until ${new Date(expiresAt).toISOString().slice(0, 16)}Z`;
}

/** `pagurus token list`. */
export async function tokenList(cli: Cli, { json }: { json?: boolean }): Promise<number> {
  const tokens = await withRecords(cli, (records) => records.tokens.list());
  if (json === true) printJson(cli, tokens);
  else if (tokens.length === 0)
    printLine(cli.stdout, "There are no tokens; make one with pagurus token create --name <name>.");
  else {
    const now = Date.now();
    const rows = tokens.map((token) => [
      token.id,
      token.name,
      token.scope,
      token.sessions,
      token.agents,
      token.mode,
      token.usedAt === undefined ? "never" : ago(new Date(token.usedAt).toISOString(), now),
      stateOf(token, now),
    ]);
    for (const line of table(["ID", "NAME", "SCOPE", "SESSIONS", "AGENTS", "MODE", "USED", "STATE"], rows))
      printLine(cli.stdout, line);
  }
  return EXIT_DONE;
}

/** `pagurus token revoke`. Throws `token_not_found`. */
export async function tokenRevoke(cli: Cli, name: string): Promise<number> {
  for (const { id, name: label } of await withRecords(cli, ({ tokens }) => tokens.revoke(name)))
    printLine(cli.stdout, `The token ${id} (${label}) is revoked.`);
  return EXIT_DONE;
}
