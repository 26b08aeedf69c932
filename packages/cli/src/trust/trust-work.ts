import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { resolve } from "node:path";
import { forgetTrust, recordTrust, trustKey, trustRecords } from "@pagurus/core/config/folder-trust";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { oneLine, table } from "@pagurus/host/command/layout";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { printJson, printLine, type Cli } from "../cli.ts";
import { folderTrust } from "./folder-question.ts";

export interface TrustListOptions {
  json?: boolean;
}

/** `pagurus trust list`. */
export function trustList(cli: Cli, { json }: TrustListOptions): Promise<number> {
  const home = resolveHome(cli.env);
  const records = trustRecords(home);
  const patterns = loadConfig({ home }).config.trust?.folders ?? [];
  if (json === true) {
    printJson(cli, { folders: records, patterns });
    return Promise.resolve(EXIT_DONE);
  }
  const rows = [
    ...records.map(({ folder, trusted, at }) => [shown(folder), trusted ? "yes" : "no", at.slice(0, 10)]),
    ...patterns.map((pattern) => [shown(pattern), "yes", "trust.folders"]),
  ];
  if (rows.length === 0) printLine(cli.stdout, "No folder is trusted yet.");
  else for (const line of table(["folder", "trusted", "since"], rows)) printLine(cli.stdout, line);
  const here = folderTrust(cli, undefined).answer(cli.cwd);
  const word = here === undefined ? "not yet asked about" : here ? "trusted" : "not trusted";
  printLine(cli.stdout, `This folder (${shown(trustKey(cli.cwd))}) is ${word}.`);
  return Promise.resolve(EXIT_DONE);
}

/** `pagurus trust add [folder]`. */
export function trustAdd(cli: Cli, folder = "."): Promise<number> {
  const key = recordTrust(resolveHome(cli.env), resolve(cli.cwd, folder), true);
  printLine(cli.stdout, `Trusted: ${shown(key)}`);
  return Promise.resolve(EXIT_DONE);
}

/** `pagurus trust remove [folder]`. */
export function trustRemove(cli: Cli, folder = "."): Promise<number> {
  const key = forgetTrust(resolveHome(cli.env), resolve(cli.cwd, folder));
  if (key === undefined)
    throw usageError(`There is no answer about the folder "${folder}"; pagurus trust list shows all.`);
  printLine(cli.stdout, `Forgotten: ${shown(key)}`);
  return Promise.resolve(EXIT_DONE);
}

function shown(text: string): string {
  return escapedUnseen(oneLine(text, 300));
}
