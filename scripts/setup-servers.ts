/**
 * `npm run setup:servers`: installs the Debian packages of the servers that tests of the PostgreSQL store and of channels start, where this account
 * may, and prints their versions. Elsewhere it ends with a sentence that names the packages. Does nothing where they are installed.
 */
import { missingPackages, serverPrograms } from "../test/servers/postgres-programs.ts";
import { missingNgircd } from "../test/servers/ngircd.ts";
import { missingMailServers } from "../test/servers/mail.ts";
import { missingProsody } from "../test/servers/prosody.ts";
import { runCommand } from "./command.ts";

const DEADLINE_MS = 10 * 60_000;

async function apt(...args: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { code, stdout, stderr } = await runCommand("apt-get", args, { env, deadlineMs: DEADLINE_MS });
  if (code !== 0) throw new Error(`apt-get ${args[0]} ended with code ${code}: ${(stderr || stdout).trim()}`);
}

async function hasApt(): Promise<boolean> {
  try {
    return (await runCommand("apt-get", ["--version"])).code === 0;
  } catch {
    return false;
  }
}

async function install(packages: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0 || !(await hasApt()))
    throw new Error(
      `install ${packages.join(" and ")}: that needs root and apt-get, which are not both here.`,
    );
  await apt("update", "-qq");
  await apt("install", "-y", "-qq", "--no-install-recommends", ...packages);
}

try {
  const packages = [...missingPackages(), ...missingProsody(), ...missingNgircd(), ...missingMailServers()];
  if (packages.length > 0) await install(packages);
  const { postgres, pgbouncer } = serverPrograms();
  for (const program of [postgres, pgbouncer])
    console.log((await runCommand(program, ["--version"])).stdout.split("\n")[0]);
} catch (error) {
  console.error(`setup:servers: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
