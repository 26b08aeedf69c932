import { agentDir, resolveHome } from "@pagurus/core/config/config-paths";
import { loadConfig } from "@pagurus/core/config/load-config";
import { copyFrom } from "@pagurus/postgres/copy/copy-from";
import type { CopiedKey, CopyStatus } from "@pagurus/postgres/copy/copy-report";
import { copyTo } from "@pagurus/postgres/copy/copy-to";
import { recordsFrom, recordsTo, type CopiedRecord, type CopiedRecords } from "./copied-records.ts";
import { withDatabase } from "@pagurus/postgres/connections";
import { createTables } from "@pagurus/postgres/schema/create-tables";
import { targetOf, type Target } from "@pagurus/postgres/settings";
import { storeStatus, type StoreStatus } from "@pagurus/postgres/store-status";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";

export interface StoreOptions {
  url?: string;
  schema?: string;
  json?: boolean;
}

export interface StoreInitOptions extends StoreOptions {
  rls?: boolean;
  grant?: string[];
}

export interface StoreCopyOptions {
  /** True without a URL. */
  to?: string | true;
  from?: string | true;
  schema?: string;
  json?: boolean;
}

/** From the command line, the environment, the configuration, in this order. Throws `usage_invalid`, `config_invalid`, `credential_missing`. */
function placeFor(cli: Cli, named: string | true | undefined, schema: string | undefined): Target {
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  const { store } = config as { store?: { url?: string; schema?: string } };
  const given = typeof named === "string" ? named : cli.env["PAGURUS_STORE_URL"];
  const url = given || store?.url;
  if (!url)
    throw usageError(
      "The store has no URL; set PAGURUS_STORE_URL to postgres://USER:PASSWORD@HOST/DATABASE.",
    );
  return targetOf({ url, schema: schema ?? store?.schema }, cli.env, "usage_invalid");
}

/** `pagurus store init`. */
export async function storeInit(cli: Cli, options: StoreInitOptions): Promise<number> {
  const target = placeFor(cli, options.url, options.schema);
  const { address, schema } = target;
  const done = await withDatabase(target, "store_write_failed", async (db) =>
    createTables(db, { schema, rowSecurity: options.rls === true, grant: options.grant ?? [] }),
  );
  if (options.json === true) printJson(cli, { place: address, schema, ...done });
  else {
    const what =
      done.from === done.to
        ? `The store ${address} has version ${done.to} already`
        : `The store ${address} has version ${done.to} now`;
    printLine(cli.stdout, `${what}, ${done.rowSecurity ? "with" : "without"} row-level security.`);
  }
  return EXIT_DONE;
}

/** `pagurus store status`. */
export async function storeStatusCommand(cli: Cli, options: StoreOptions): Promise<number> {
  const target = placeFor(cli, options.url, options.schema);
  const { address, schema } = target;
  const status = await withDatabase(target, "store_read_failed", async (db) => storeStatus(db, schema));
  if (options.json === true) printJson(cli, { place: address, ...status });
  else for (const line of statusLines(address, status)) printLine(cli.stdout, line);
  return EXIT_DONE;
}

function statusLines(place: string, status: StoreStatus): string[] {
  const { schema, version, tenant, rowSecurity, agents, sessions, bytes, jobs, tokens, leases, sizeOnDisk } =
    status;
  return [
    `store     ${place}, schema ${schema}, version ${version}`,
    `tenant    ${tenant}, ${rowSecurity ? "with" : "without"} row-level security`,
    `sessions  ${sessions} of ${agents} agents, ${bytes} bytes`,
    `servers   ${jobs} jobs, ${tokens} tokens`,
    `disk      ${sizeOnDisk} bytes`,
    `leases    ${leases.length}`,
    ...leases.map(({ agent, key, holder, until }) => `  ${agent}/${key}  ${holder ?? "-"}  until ${until}`),
  ];
}

/** `pagurus store copy`. Ends with 1 when a session was in use or differs. */
export async function storeCopy(cli: Cli, options: StoreCopyOptions): Promise<number> {
  const { to, from, json } = options;
  if ((to === undefined) === (from === undefined)) throw usageError("Give either --to or --from.");
  const target = placeFor(cli, to ?? from, options.schema);
  const { address, schema } = target;
  const home = resolveHome(cli.env);
  const tell = (copied: CopiedKey): void => {
    if (json !== true && copied.status !== "present") printLine(cli.stdout, copyLine(copied));
  };
  const place = { home, schema };
  const { conversations, jobs, tokens } =
    to === undefined
      ? await withDatabase(target, "store_read_failed", async (db) => ({
          conversations: await copyFrom(db, { ...place, tell, agentDir: (agent) => agentDir(home, agent) }),
          ...(await recordsFrom(db, place)),
        }))
      : await withDatabase(target, "store_write_failed", async (db) => ({
          conversations: await copyTo(db, { ...place, tell }),
          ...(await recordsTo(db, place)),
        }));
  if (json === true) printJson(cli, { place: address, conversations, jobs, tokens, jobsFireAt: "database" });
  else for (const line of summaryLines({ conversations, jobs, tokens })) printLine(cli.stdout, line);
  const isMissing = ({ status }: { status: CopyStatus }): boolean =>
    status === "in_use" || status === "different";
  return [...conversations, ...jobs, ...tokens].some(isMissing) ? EXIT_FAILED : EXIT_DONE;
}

/** Of jobs that are in both. */
const OWNER = "Those that are on both sides fire at the hosts of the database, not in this home.";

const STATUS_WORDS: Readonly<Record<CopyStatus, string>> = {
  copied: "copied",
  present: "there already",
  in_use: "not copied, in use",
  different: "not copied, different",
};

function copyLine({ agent, key, status, sessions, bytes, detail }: CopiedKey): string {
  const what = status === "copied" ? `: ${sessions} sessions, ${bytes} bytes` : "";
  return `${agent}/${key}  ${STATUS_WORDS[status]}${what}${detail === undefined ? "" : `; ${detail}`}`;
}

function summaryLines({
  conversations,
  jobs,
  tokens,
}: CopiedRecords & { conversations: readonly CopiedKey[] }): string[] {
  const detailed = (kind: string, all: readonly CopiedRecord[]): string[] =>
    all.flatMap(({ id, detail }) => (detail === undefined ? [] : [`${kind} ${id}  ${detail}`]));
  const sessions = counted(conversations);
  return [
    ...detailed("job", jobs),
    ...detailed("token", tokens),
    sessions === "" ? "There are no sessions to copy." : `Sessions by key: ${sessions}.`,
    ...(jobs.length === 0 ? [] : [`Jobs: ${counted(jobs)}. ${OWNER}`]),
    ...(tokens.length === 0 ? [] : [`Tokens: ${counted(tokens)}.`]),
  ];
}

function counted(copied: readonly { status: CopyStatus }[]): string {
  const parts = (Object.keys(STATUS_WORDS) as CopyStatus[]).flatMap((status) => {
    const count = copied.filter((one) => one.status === status).length;
    return count === 0 ? [] : [`${count} ${STATUS_WORDS[status]}`];
  });
  return parts.join("; ");
}
