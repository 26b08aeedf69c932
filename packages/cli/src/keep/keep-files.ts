/** `keep files`, `keep restore`, `keep export`. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes, table, terminalSafe } from "@pagurus/host/command/layout";
import type { Archive, FileRow } from "@pagurus/keeper/archive/archive";
import { homesOf } from "@pagurus/keeper/keeper";
import { PROGRAMS } from "@pagurus/keeper/programs/all-programs";
import { walkHome } from "@pagurus/keeper/watch/walk";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { writeNewFile } from "../new-file.ts";
import { keptVersion, lookAtArchive } from "./keep-work.ts";

export interface FilesOptions {
  all?: boolean;
  json?: boolean;
}

export interface RestoreOptions {
  output: string;
  version?: number;
}

const TAKES: Readonly<Record<string, string>> = {
  words: "kept",
  raw: "kept",
  unknown: "kept",
  no: "not kept",
};

/** `keep files`: the inventory of what is there now. */
export async function keepFiles(cli: Cli, name: string | undefined, options: FilesOptions): Promise<number> {
  const programs = PROGRAMS.filter(({ id }) => name === undefined || id === name);
  if (programs.length === 0)
    throw usageError(
      `No program is named ${JSON.stringify(name)}; take ${PROGRAMS.map(({ id }) => id).join(", ")}.`,
    );
  const found = [];
  for (const { program, path } of homesOf(programs, cli.env)) {
    const { files } = await walkHome(program, path);
    found.push(
      ...files.map(({ take, what, path: file }) => ({ program: program.label, take, what, path: file })),
    );
  }
  if (options.json === true) {
    printJson(cli, found);
    return EXIT_DONE;
  }
  const rows =
    options.all === true
      ? found.map(({ program, take, what, path }) => [program, TAKES[take] ?? "", terminalSafe(path), what])
      : [...Map.groupBy(found, ({ program, take, what }) => `${program}\n${take}\n${what}`).values()].map(
          (group) => {
            const { program = "", take = "", what = "" } = group[0] ?? {};
            return [program, TAKES[take] ?? "", String(group.length), what];
          },
        );
  if (rows.length === 0) printLine(cli.stdout, "No home of such a program is on this machine.");
  else
    for (const line of table(["program", "", options.all ? "file" : "files", "what"], rows))
      printLine(cli.stdout, line);
  return EXIT_DONE;
}

function keptFile(archive: Archive, path: string): FileRow {
  const file = archive.fileAt(path);
  if (file) return file;
  throw usageError(`No file ${path} is kept; pagurus keep export writes all that are.`);
}

/** `keep restore`. */
export async function keepRestore(
  cli: Cli,
  path: string,
  { output, version }: RestoreOptions,
): Promise<number> {
  const archive = lookAtArchive(cli);
  try {
    const file = keptFile(archive, resolve(cli.cwd, path));
    const chosen = keptVersion(archive, file, version);
    const size = await writeNewFile(cli.cwd, output, chunks(archive, file.id, chosen));
    printLine(cli.stderr, `Wrote ${bytes(size)} to ${output}.`);
    return EXIT_DONE;
  } finally {
    archive.close();
  }
}

async function* chunks(archive: Archive, file: number, version: number): AsyncGenerator<Uint8Array> {
  yield* archive.read(file, version, 0, Number.MAX_SAFE_INTEGER);
}

/** `keep export`: `files/<number>/<version>-<name>`, and `manifest.jsonl` with what each is. */
export async function keepExport(cli: Cli, folder: string): Promise<number> {
  const archive = lookAtArchive(cli);
  try {
    const target = resolve(cli.cwd, folder);
    if (existsSync(target) && readdirSync(target).length > 0)
      throw usageError(`The folder ${folder} is not empty; choose another one.`);
    const manifest: string[] = [];
    let written = 0;
    for (const file of archive.files()) {
      const place = join("files", String(file.id));
      mkdirSync(join(target, place), { recursive: true, mode: 0o700 });
      for (const { version, at, shared, size } of archive.versions(file.id)) {
        const name = join(place, `${version}-${basename(file.path)}`);
        await writeNewFile(target, name, chunks(archive, file.id, version));
        const { agent, path, state } = file;
        manifest.push(
          JSON.stringify({
            file: name,
            agent,
            path,
            state,
            version,
            at: new Date(at).toISOString(),
            shared,
            size,
          }),
        );
        written += 1;
      }
    }
    for (const { at, kind, agent, path, bytes: lost } of archive.events())
      manifest.push(
        JSON.stringify({ event: kind, agent, path, bytes: lost, at: new Date(at).toISOString() }),
      );
    mkdirSync(target, { recursive: true, mode: 0o700 });
    await writeNewFile(target, "manifest.jsonl", textOf(manifest));
    printLine(
      cli.stdout,
      `Wrote ${plural(written, "version")} of ${plural(archive.files().length, "file")} to ${folder}.`,
    );
    return EXIT_DONE;
  } finally {
    archive.close();
  }
}

async function* textOf(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield Buffer.from(`${line}\n`);
}
