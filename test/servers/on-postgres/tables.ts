/** Which tables a folder has. */
import { hash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The PostgreSQL in which the tests keep sessions; undefined: in files. */
export const POSTGRES = process.env["PAGURUS_TEST_POSTGRES"];

/** Variables for programs that tests start with an environment of their own. */
export const ON_POSTGRES: { PAGURUS_TEST_POSTGRES?: string; NODE_OPTIONS?: string } =
  POSTGRES === undefined
    ? {}
    : { PAGURUS_TEST_POSTGRES: POSTGRES, NODE_OPTIONS: process.env["NODE_OPTIONS"] ?? "" };

const KEPT = ".tables";

function schemaOf(folder: string): string {
  return `home_${hash("sha256", folder, "hex").slice(0, 16)}`;
}

/** Lets copies of a folder, also of an agent's, have its tables. */
export function keepTables(folder: string): void {
  if (POSTGRES !== undefined) writeFileSync(join(folder, KEPT), tablesOf(folder).schema);
}

/** Settings of a home, also by the folder of one of its agents. Throws outside of a run on PostgreSQL. */
export function tablesOf(folder: string): { kind: "postgres"; url: string; schema: string } {
  if (POSTGRES === undefined) throw new Error("PAGURUS_TEST_POSTGRES is not set");
  const home = resolve(folder).replace(/\/agents\/[^/]+$/, "");
  const kept = join(home, KEPT);
  return {
    kind: "postgres",
    url: POSTGRES,
    schema: existsSync(kept) ? readFileSync(kept, "utf8") : schemaOf(home),
  };
}
