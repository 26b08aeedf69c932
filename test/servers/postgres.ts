/**
 * A throw-away PostgreSQL cluster with pgbouncer in transaction mode in front, in a temporary folder: Debian's programs, `fsync` on, a
 * unix socket and loopback ports. Every role has the same password, which has characters that a URL must escape.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { childrenOf } from "../../packages/testkit/src/processes.ts";
import { freePort } from "../server/serve-setting.ts";
import { postgresAccount, serverPrograms, type Account } from "./postgres-programs.ts";

const PASSWORD = "p:w/d @1";
const OWNER = "pagurus";
const DATABASE = "pagurus";
/** Time for a start or a stop on a busy machine, ms. */
const DEADLINE_MS = 120_000;
const POLL_MS = 25;

export interface PostgresServer {
  /** URL of the superuser `pagurus`, over loopback. */
  readonly url: string;
  /** The same through pgbouncer. */
  readonly pooledUrl: string;
  /** The password in every URL. */
  readonly password: string;
  /** Creates a role that may log in, and returns its two URLs. */
  createRole(name: string): Promise<{ url: string; pooledUrl: string }>;
  /** Runs one statement as the superuser, past pgbouncer. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Ends PostgreSQL; `kill` is `-9` for it and all its processes, without which it stops as for a restart. */
  stop(how?: "kill"): Promise<void>;
  /** Starts PostgreSQL again on the same port. */
  start(): Promise<void>;
  /** Ends both and removes the folder. */
  end(): Promise<void>;
}

class Cluster {
  readonly folder: string;
  readonly #account: Account | undefined = postgresAccount();
  readonly #programs = serverPrograms();
  readonly #roles = [OWNER];
  #ports = { postgres: 0, pgbouncer: 0 };
  #postgres: ChildProcess | undefined;
  #pgbouncer: ChildProcess | undefined;
  /** What both wrote, for the error of a failed start. */
  #log = "";

  constructor() {
    // The private temporary folder of a test run is closed to another account.
    this.folder = mkdtempSync(join(this.#account ? "/tmp" : tmpdir(), "pg-"));
    this.#own(this.folder);
    mkdirSync(join(this.folder, "s"));
    this.#own(join(this.folder, "s"));
    // For a test process that ends early.
    process.once("exit", this.abandon);
  }

  readonly abandon = (): void => {
    for (const child of [this.#pgbouncer, this.#postgres])
      if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        for (const pid of childrenOf(child.pid)) kill(pid);
        kill(child.pid);
      }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  };

  url(role: string, port: "postgres" | "pgbouncer" = "postgres"): string {
    return `postgres://${role}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.#ports[port]}/${DATABASE}`;
  }

  async create(): Promise<void> {
    this.#ports = { postgres: await freePort(), pgbouncer: await freePort() };
    const secret = this.#write("password", PASSWORD);
    const login = ["--username", OWNER, "--pwfile", secret, "--auth", "scram-sha-256"];
    const data = [
      "--pgdata",
      join(this.folder, "data"),
      "--no-sync",
      "--encoding",
      "UTF8",
      "--locale",
      "C.UTF-8",
    ];
    const child = this.#spawn(this.#programs.initdb, [...login, ...data]);
    if ((await ended(child)) !== 0) throw new Error(`initdb failed:\n${this.#log}`);
    await this.startPostgres();
    await this.query(`create database ${DATABASE}`, [], "postgres");
    await this.#startPgbouncer();
  }

  async startPostgres(): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: String(this.#ports.postgres),
      unix_socket_directories: join(this.folder, "s"),
      max_connections: "200",
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = this.#spawn(this.#programs.postgres, ["-D", join(this.folder, "data"), ...flags]);
    this.#postgres = child;
    await this.#answers(child, this.url(OWNER).replace(/[^/]*$/, "postgres"));
  }

  async #startPgbouncer(): Promise<void> {
    this.#writeRoles();
    const settings = {
      listen_addr: "127.0.0.1",
      listen_port: this.#ports.pgbouncer,
      unix_socket_dir: "",
      auth_type: "scram-sha-256",
      auth_file: join(this.folder, "roles"),
      pool_mode: "transaction",
      max_client_conn: 1000,
      default_pool_size: 20,
      ignore_startup_parameters: "extra_float_digits",
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const at = `host=127.0.0.1 port=${this.#ports.postgres}`;
    const file = this.#write(
      "pgbouncer.ini",
      ["[databases]", `* = ${at}`, "[pgbouncer]", ...lines, ""].join("\n"),
    );
    const child = this.#spawn(this.#programs.pgbouncer, [file]);
    this.#pgbouncer = child;
    await this.#answers(child, this.url(OWNER, "pgbouncer"));
  }

  async createRole(name: string): Promise<void> {
    await this.query(`create role ${pg.escapeIdentifier(name)} login password ${pg.escapeLiteral(PASSWORD)}`);
    this.#roles.push(name);
    this.#writeRoles();
    this.#pgbouncer?.kill("SIGHUP");
    await this.#answers(this.#pgbouncer, this.url(name, "pgbouncer"));
  }

  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[] = [],
    database = DATABASE,
  ): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url(OWNER).replace(/[^/]*$/, database) });
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  async stopPostgres(how?: "kill"): Promise<void> {
    const child = this.#postgres;
    this.#postgres = undefined;
    if (child?.pid === undefined) return;
    const end = ended(child);
    const backends = how === "kill" ? childrenOf(child.pid) : [];
    // SIGINT is PostgreSQL's fast shutdown: it ends the connections.
    child.kill(how === "kill" ? "SIGKILL" : "SIGINT");
    for (const pid of backends) kill(pid);
    await end;
  }

  async end(): Promise<void> {
    process.off("exit", this.abandon);
    const pgbouncer = this.#pgbouncer;
    if (pgbouncer) {
      const end = ended(pgbouncer);
      pgbouncer.kill("SIGKILL");
      await end;
    }
    await this.stopPostgres();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Waits until a login and a query succeed. Throws with the program's output once it has ended, or after the deadline. */
  async #answers(child: ChildProcess | undefined, url: string): Promise<void> {
    const end = performance.now() + DEADLINE_MS;
    for (;;) {
      const client = new pg.Client({ connectionString: url });
      // A connection that the server cuts while it starts is reported here as well.
      client.on("error", () => undefined);
      try {
        await client.connect();
        await client.query("select 1");
        await client.end();
        return;
      } catch (error) {
        await client.end().catch(() => undefined);
        const isOver = child === undefined || child.exitCode !== null || child.signalCode !== null;
        if (isOver || performance.now() > end)
          throw new Error(`The database server does not answer:\n${this.#log}`, { cause: error });
      }
      await pause(POLL_MS);
    }
  }

  #writeRoles(): void {
    this.#write("roles", this.#roles.map((name) => `"${name}" "${PASSWORD}"\n`).join(""));
  }

  #write(name: string, text: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    this.#own(file);
    return file;
  }

  #own(path: string): void {
    if (this.#account) chownSync(path, this.#account.uid, this.#account.gid);
  }

  #spawn(program: string, args: string[]): ChildProcess {
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C.UTF-8" };
    const child = spawn(program, args, {
      cwd: this.folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      ...this.#account,
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => {
        this.#log = (this.#log + part.toString("utf8")).slice(-10_000);
      });
    return child;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The exit code; undefined after a signal. */
function ended(child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode ?? undefined);
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? undefined));
  });
}

/** Starts both servers. Throws one sentence where a program is not installed. */
export async function startPostgres(): Promise<PostgresServer> {
  const cluster = new Cluster();
  try {
    await cluster.create();
  } catch (error) {
    cluster.abandon();
    throw error;
  }
  return {
    url: cluster.url(OWNER),
    pooledUrl: cluster.url(OWNER, "pgbouncer"),
    password: PASSWORD,
    createRole: async (name) => {
      await cluster.createRole(name);
      return { url: cluster.url(name), pooledUrl: cluster.url(name, "pgbouncer") };
    },
    query: (text, values) => cluster.query(text, values),
    stop: (how) => cluster.stopPostgres(how),
    start: () => cluster.startPostgres(),
    end: () => cluster.end(),
  };
}
