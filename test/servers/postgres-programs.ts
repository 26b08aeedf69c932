/** Where Debian installs PostgreSQL's and pgbouncer's programs, and the account that runs them. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const VERSIONS = "/usr/lib/postgresql";

export interface ServerPrograms {
  initdb: string;
  postgres: string;
  pgbouncer: string;
}

function inPath(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Of the newest installed version. */
function postgresProgram(name: string): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const newest = versions.toSorted((one, other) => Number(other) - Number(one));
  return (
    newest.map((version) => join(VERSIONS, version, "bin", name)).find((file) => existsSync(file)) ??
    inPath(name)
  );
}

/** Debian packages that are not installed. */
export function missingPackages(): string[] {
  const hasPostgres = postgresProgram("initdb") !== undefined && postgresProgram("postgres") !== undefined;
  return [
    ...(hasPostgres ? [] : ["postgresql"]),
    ...(inPath("pgbouncer") === undefined ? ["pgbouncer"] : []),
  ];
}

/** Throws one sentence that names the missing packages. */
export function serverPrograms(): ServerPrograms {
  const missing = missingPackages();
  if (missing.length > 0)
    throw new Error(
      `The tests of the PostgreSQL store need ${missing.join(" and ")}: run \`npm run setup:servers\`.`,
    );
  const found = (path: string | undefined): string => path ?? "";
  return {
    initdb: found(postgresProgram("initdb")),
    postgres: found(postgresProgram("postgres")),
    pgbouncer: found(inPath("pgbouncer")),
  };
}

export interface Account {
  uid: number;
  gid: number;
}

/** For root only, under which neither program runs: the account that the package `postgresql` creates. */
export function postgresAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const number = (flag: string): number =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim());
  return { uid: number("-u"), gid: number("-g") };
}
