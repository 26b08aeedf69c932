import { agentDir, resolveHome } from "../../config/config-paths.ts";
import { loadConfig } from "../../config/load-config.ts";
import { copyFrom } from "../../stores/copy/copy-from.ts";
import type { CopiedKey, CopyStatus } from "../../stores/copy/copy-report.ts";
import { copyTo } from "../../stores/copy/copy-to.ts";
import { checkedSchema, placeOf, withDatabase } from "../../stores/postgres/database.ts";
import { migrate } from "../../stores/postgres/schema/migrate.ts";
import { storeStatus, type StoreStatus } from "../../stores/postgres/store-status.ts";
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

interface Place {
  url: string;
  schema: string;
}

/** From the command line, the environment, the configuration, in this order. Throws `usage_invalid`, `config_invalid`. */
function placeFor(cli: Cli, named: string | true | undefined, schema: string | undefined): Place {
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  const { store } = config as { store?: Partial<Place> };
  const [, variable] = /^\$\{(\w+)\}$/.exec(store?.url ?? "") ?? [];
  const configured = variable === undefined ? store?.url : cli.env[variable];
  const url = typeof named === "string" ? named : cli.env["PAGURUS_STORE_URL"] || configured;
  if (!url)
    throw usageError(
      "The store has no URL; set PAGURUS_STORE_URL to postgres://USER:PASSWORD@HOST/DATABASE.",
    );
  return { url, schema: checkedSchema(schema ?? store?.schema ?? "pagurus") };
}

/** `pagurus store init`. */
export async function storeInit(cli: Cli, options: StoreInitOptions): Promise<number> {
  const { url, schema } = placeFor(cli, options.url, options.schema);
  const done = await withDatabase(url, "store_write_failed", async (db) =>
    migrate(db, { schema, rowSecurity: options.rls === true, grant: options.grant ?? [] }),
  );
  if (options.json === true) printJson(cli, { place: placeOf(url), schema, ...done });
  else {
    const what =
      done.from === done.to
        ? `The store ${placeOf(url)} has version ${done.to} already`
        : `The store ${placeOf(url)} has version ${done.to} now`;
    printLine(cli.stdout, `${what}, ${done.rowSecurity ? "with" : "without"} row-level security.`);
  }
  return EXIT_DONE;
}

/** `pagurus store status`. */
export async function storeStatusCommand(cli: Cli, options: StoreOptions): Promise<number> {
  const { url, schema } = placeFor(cli, options.url, options.schema);
  const status = await withDatabase(url, "store_read_failed", async (db) => storeStatus(db, schema));
  if (options.json === true) printJson(cli, { place: placeOf(url), ...status });
  else for (const line of statusLines(placeOf(url), status)) printLine(cli.stdout, line);
  return EXIT_DONE;
}

function statusLines(place: string, status: StoreStatus): string[] {
  const { schema, version, tenant, rowSecurity, agents, sessions, bytes, leases, sizeOnDisk } = status;
  return [
    `store     ${place}, schema ${schema}, version ${version}`,
    `tenant    ${tenant}, ${rowSecurity ? "with" : "without"} row-level security`,
    `sessions  ${sessions} of ${agents} agents, ${bytes} bytes`,
    `disk      ${sizeOnDisk} bytes`,
    `leases    ${leases.length}`,
    ...leases.map(({ agent, key, holder, until }) => `  ${agent}/${key}  ${holder ?? "-"}  until ${until}`),
  ];
}

/** `pagurus store copy`. Ends with 1 when a session was in use or differs. */
export async function storeCopy(cli: Cli, options: StoreCopyOptions): Promise<number> {
  const { to, from, json } = options;
  if ((to === undefined) === (from === undefined)) throw usageError("Give either --to or --from.");
  const { url, schema } = placeFor(cli, to ?? from, options.schema);
  const home = resolveHome(cli.env);
  const tell = (copied: CopiedKey): void => {
    if (json !== true && copied.status !== "present") printLine(cli.stdout, copyLine(copied));
  };
  const copied =
    to === undefined
      ? await withDatabase(url, "store_read_failed", async (db) =>
          copyFrom(db, { home, schema, tell, agentDir: (agent) => agentDir(home, agent) }),
        )
      : await withDatabase(url, "store_write_failed", async (db) => copyTo(db, { home, schema, tell }));
  if (json === true) printJson(cli, { place: placeOf(url), conversations: copied });
  else printLine(cli.stdout, summary(copied));
  return copied.some(({ status }) => status === "in_use" || status === "different") ? EXIT_FAILED : EXIT_DONE;
}

const WORDS: Readonly<Record<CopyStatus, string>> = {
  copied: "copied",
  present: "there already",
  in_use: "not copied, in use",
  different: "not copied, different",
};

function copyLine({ agent, key, status, sessions, bytes, detail }: CopiedKey): string {
  const what = status === "copied" ? `: ${sessions} sessions, ${bytes} bytes` : "";
  return `${agent}/${key}  ${WORDS[status]}${what}${detail === undefined ? "" : `; ${detail}`}`;
}

function summary(copied: readonly CopiedKey[]): string {
  const parts = (Object.keys(WORDS) as CopyStatus[]).flatMap((status) => {
    const count = copied.filter((one) => one.status === status).length;
    return count === 0 ? [] : [`${count} ${WORDS[status]}`];
  });
  return parts.length === 0 ? "There are no sessions to copy." : `Sessions by key: ${parts.join("; ")}.`;
}
