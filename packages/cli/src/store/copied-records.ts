/**
 * Jobs and tokens of `pagurus store copy`: between a home's own database and the one that several hosts share. A job that is in both fires at
 * the hosts of the shared one: the home's row is marked before the other one can be seen.
 */
import { existsSync } from "node:fs";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { Database } from "@pagurus/core/data/sqlite";
import { openServerDatabase, serverDatabaseFile } from "@pagurus/inbox/server-database";
import { HEARTBEAT_PREFIX } from "@pagurus/inbox/schedule/heartbeats";
import { HANDED_OVER, HANDING_OVER, type JobRow } from "@pagurus/inbox/schedule/jobs";
import { JOB_COLUMNS } from "@pagurus/postgres/shared-jobs";
import type { CopyStatus } from "@pagurus/postgres/copy/copy-report";
import { quoted, type Queries } from "@pagurus/postgres/connections";
import { TOKEN_COLUMNS } from "@pagurus/server/access/shared-tokens";
import type { TokenRow } from "@pagurus/server/access/tokens";
import { ServerPlace } from "@pagurus/server/server-address";

export interface CopiedRecord {
  id: string;
  status: CopyStatus;
  /** One sentence; absent where there is nothing to explain. */
  detail?: string;
}

/** Heartbeats are of the configuration, which each host has. */
export interface CopiedRecords {
  jobs: CopiedRecord[];
  tokens: CopiedRecord[];
}

interface Place {
  home: string;
  schema: string;
}

const OWN_JOBS = `id NOT LIKE '${HEARTBEAT_PREFIX}%'`;

/** Of a home into the database. Throws what the database throws, `store_read_failed`, `store_write_failed`. */
export async function recordsTo(db: Queries, { home, schema }: Place): Promise<CopiedRecords> {
  if (!existsSync(serverDatabaseFile(home))) return { jobs: [], tokens: [] };
  const own = openServerDatabase(home);
  try {
    const shared = new SharedRecords(db, schema);
    return { jobs: await jobsTo(shared, own, home), tokens: await tokensTo(shared, own) };
  } finally {
    own.close();
  }
}

/** Of the database into a home, where the jobs do not fire. Throws as `recordsTo`. */
export async function recordsFrom(db: Queries, { home, schema }: Place): Promise<CopiedRecords> {
  const shared = new SharedRecords(db, schema);
  const [jobs, tokens] = [await shared.jobs(), await shared.tokens()];
  if (jobs.length + tokens.length === 0) return { jobs: [], tokens: [] };
  const own = openServerDatabase(home);
  try {
    return own.transaction(() => ({
      jobs: jobs.map((job) => jobFrom(own, job)),
      tokens: tokens.map((token) => tokenFrom(own, token)),
    }));
  } finally {
    own.close();
  }
}

class SharedRecords {
  readonly #db: Queries;
  readonly #schema: string;

  constructor(db: Queries, schema: string) {
    this.#db = db;
    this.#schema = quoted(schema);
  }

  async jobs(): Promise<JobRow[]> {
    return await this.#own<JobRow>("jobs", JOB_COLUMNS, OWN_JOBS, []);
  }

  async job(id: string): Promise<JobRow | undefined> {
    return (await this.#own<JobRow>("jobs", JOB_COLUMNS, "id = $1", [id]))[0];
  }

  async tokens(): Promise<TokenRow[]> {
    return await this.#own<TokenRow>("tokens", TOKEN_COLUMNS, "true", []);
  }

  async token(id: string): Promise<TokenRow | undefined> {
    return (await this.#own<TokenRow>("tokens", TOKEN_COLUMNS, "id = $1", [id]))[0];
  }

  async revoke({ id, revoked }: TokenRow): Promise<void> {
    await this.#db.query(
      `update ${this.#schema}.tokens set revoked = coalesce(revoked, $2) where tenant = current_user and id = $1`,
      [id, revoked],
    );
  }

  /** Adds a row of a table unless its id is known. */
  async add(table: "jobs" | "tokens", columns: readonly string[], row: object): Promise<void> {
    const names = columns.join(", ");
    const into = `${this.#schema}.${table}`;
    await this.#db.query(
      `insert into ${into} (${names}) select ${names} from json_populate_record(null::${into}, $1) on conflict do nothing`,
      [JSON.stringify(row)],
    );
  }

  /** Runs work in a transaction. */
  async whole(work: () => Promise<void>): Promise<void> {
    await this.#db.query("begin");
    try {
      await work();
      await this.#db.query("commit");
    } catch (error) {
      await this.#db.query("rollback").catch(() => undefined);
      throw error;
    }
  }

  async #own<Row extends object>(
    table: string,
    columns: string,
    condition: string,
    values: unknown[],
  ): Promise<Row[]> {
    const { rows } = await this.#db.query<Row>(
      `select ${columns} from ${this.#schema}.${table} where tenant = current_user and ${condition} order by ${table}.id`,
      values,
    );
    return rows;
  }
}

const JOB_NAMES = "id, agent, session, definition, paused, next, stamp, last, outcome, created".split(", ");
const TOKEN_NAMES = "id, hash, name, scope, sessions, limits, parent, created, expires, revoked, used".split(
  ", ",
);

async function jobsTo(shared: SharedRecords, own: Database, home: string): Promise<CopiedRecord[]> {
  const rows = own.all<JobRow>(`SELECT * FROM jobs WHERE ${OWN_JOBS} ORDER BY id`);
  if (rows.every(({ paused }) => paused === HANDED_OVER)) return await present(shared, rows);
  // While a server of this home runs, it may be firing a job that is due.
  const place = placeOf(home);
  const detail = "A server of this home runs; stop it with pagurus serve stop, and copy again.";
  if (!place) return rows.map(({ id }) => ({ id, status: "in_use", detail }));
  try {
    const copied: CopiedRecord[] = [];
    for (const row of own.all<JobRow>(`SELECT * FROM jobs WHERE ${OWN_JOBS} ORDER BY id`))
      copied.push(await jobTo(shared, own, row));
    return copied;
  } finally {
    place.release();
  }
}

async function present(shared: SharedRecords, rows: readonly JobRow[]): Promise<CopiedRecord[]> {
  const there = new Map((await shared.jobs()).map((job) => [job.id, job]));
  return rows.map((row) => presentJob(row, there.get(row.id)));
}

function presentJob(row: JobRow, there: JobRow | undefined): CopiedRecord {
  if (!there) return { id: row.id, status: "present", detail: "It was removed there since." };
  return isSameJob(row, there) ? { id: row.id, status: "present" } : otherJob(row.id);
}

function otherJob(id: string): CopiedRecord {
  return { id, status: "different", detail: `The job ${id} is another one there.` };
}

function placeOf(home: string): ServerPlace | undefined {
  try {
    return ServerPlace.take(home);
  } catch (error) {
    if (isPagurusError(error) && error.code === "server_running") return undefined;
    throw error;
  }
}

async function jobTo(shared: SharedRecords, own: Database, row: JobRow): Promise<CopiedRecord> {
  const { id } = row;
  const known = await shared.job(id);
  if (row.paused === HANDED_OVER || (known && !isSameJob(row, known))) return presentJob(row, known);
  if (row.paused === 0 && known?.paused === 1)
    return { id, status: "present", detail: "It is paused there, and fires in this home." };
  const mark = (paused: number): void => void own.run("UPDATE jobs SET paused = ? WHERE id = ?", paused, id);
  if (!known)
    await shared.whole(async () => {
      const paused = row.paused === HANDING_OVER ? 0 : row.paused;
      await shared.add("jobs", JOB_NAMES, { ...row, paused });
      const there = await shared.job(id);
      if (!there || !isSameJob(row, there)) throw differs("job", id);
      // Before the commit: where its answer is lost, the job fires at no place until the copy is run again.
      if (paused === 0) mark(HANDING_OVER);
    });
  mark(HANDED_OVER);
  return { id, status: known ? "present" : "copied" };
}

function jobFrom(own: Database, there: JobRow): CopiedRecord {
  const { id } = there;
  const row = own.get<JobRow>("SELECT * FROM jobs WHERE id = ?", id);
  if (row && !isSameJob(row, there)) return otherJob(id);
  if (row) {
    const isBoth = row.paused === 0 && there.paused === 0;
    if (isBoth || row.paused === HANDING_OVER)
      own.run("UPDATE jobs SET paused = ? WHERE id = ?", HANDED_OVER, id);
    return { id, status: "present" };
  }
  insert(own, "jobs", JOB_NAMES, { ...there, paused: HANDED_OVER });
  return { id, status: "copied" };
}

async function tokensTo(shared: SharedRecords, own: Database): Promise<CopiedRecord[]> {
  const copied: CopiedRecord[] = [];
  for (const row of own.all<TokenRow>("SELECT * FROM tokens ORDER BY id")) {
    const known = await shared.token(row.id);
    if (!known) await shared.add("tokens", TOKEN_NAMES, row);
    else if (isRevokedOnly(row, known)) await shared.revoke(row);
    const there = await shared.token(row.id);
    if (!there || (!known && !isSameToken(row, there))) throw differs("token", row.id);
    copied.push(tokenReport(row, known));
  }
  return copied;
}

function tokenFrom(own: Database, there: TokenRow): CopiedRecord {
  const row = own.get<TokenRow>("SELECT * FROM tokens WHERE id = ?", there.id);
  if (!row) insert(own, "tokens", TOKEN_NAMES, there);
  else if (isRevokedOnly(there, row))
    own.run("UPDATE tokens SET revoked = ? WHERE id = ?", there.revoked, there.id);
  return tokenReport(there, row);
}

/** `known`: what the target had before. */
function tokenReport(from: TokenRow, known: TokenRow | undefined): CopiedRecord {
  const { id } = from;
  if (!known) return { id, status: "copied" };
  if (!isSameToken(from, known))
    return { id, status: "different", detail: `The token ${id} is another one there.` };
  return { id, status: isRevokedOnly(from, known) ? "copied" : "present" };
}

/** A revoked token is revoked on both sides; it never comes back. */
function isRevokedOnly(from: TokenRow, known: TokenRow): boolean {
  return isSameToken(from, known) && from.revoked !== null && known.revoked === null;
}

function isSameToken(one: TokenRow, other: TokenRow): boolean {
  const facts = ({ hash, name, scope, sessions, limits, parent, created, expires }: TokenRow): string =>
    JSON.stringify([hash, name, scope, sessions, limits, parent, created, expires]);
  return facts(one) === facts(other);
}

/** Its due time and what came of it change where it fires. */
function isSameJob(one: JobRow, other: JobRow): boolean {
  const facts = ({ agent, session, definition, created }: JobRow): string =>
    JSON.stringify([agent, session, definition, created]);
  return facts(one) === facts(other);
}

function insert(
  own: Database,
  table: "jobs" | "tokens",
  names: readonly string[],
  row: JobRow | TokenRow,
): void {
  const values = new Map<string, unknown>(Object.entries(row));
  own.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    ...names.map((name) => values.get(name) as string | number | null),
  );
}

function differs(kind: "job" | "token", id: string): PagurusError {
  return new PagurusError("store_write_failed", `The ${kind} ${id} differs after it was copied; try again.`, {
    details: { id },
  });
}
