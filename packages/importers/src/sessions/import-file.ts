/** `sessions import`: detects the program that wrote the file, and imports its conversations one by one. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { NativeHistory } from "@pagurus/contract/harness/native";
import type { Catalog } from "@pagurus/host/stores/files/index/session-catalog";
import { readFailure } from "@pagurus/host/stores/files/failures";
import type { SessionRow } from "@pagurus/host/stores/files/index/index-rows";
import type { ImportOptions } from "@pagurus/host/stores/files/session-store";
import { detectFormat } from "./detect.ts";
import { importExport } from "./import-export.ts";
import { importConversation, type ImportedSession } from "./import-foreign.ts";
import type { OpenFile } from "./jsonl-source.ts";
import type { LcmConversation } from "./lcm/lcm-database.ts";
import { FOREIGN_FORMATS, paced, type ForeignFormat, type ForeignSession } from "./foreign-source.ts";

const NAMES: Record<ForeignFormat, string> = {
  "claude-code": "Claude Code session",
  codex: "Codex session",
  pi: "pi session",
  lcm: "lossless-claw conversation",
};

/**
 * Imports a file of a known format (`auto`, `pagurus`, one of `FOREIGN_FORMATS`); returns the (first) new session. Throws `import_invalid`, `session_exists`, `store_read_failed`,
 * `store_write_failed`, `usage_invalid`.
 */
export async function importFile(
  catalog: Catalog,
  path: string,
  options: ImportOptions,
): Promise<SessionRow> {
  const file = openSourceFile(path);
  try {
    const format = formatOfFile(file, options.format ?? "auto");
    if (format === "pagurus") return await importExport(catalog, path, options.sessionKey);
    if (format === "lcm") return await importLcm(catalog, path, options);
    const imported = await importConversation(
      catalog,
      format,
      await openSource(format, file),
      options.sessionKey,
    );
    report(options, NAMES[format], imported);
    return imported.row;
  } finally {
    closeSync(file.fd);
  }
}

/** Imports the messages of a runtime's thread. Throws as `importFile`. */
export async function importNative(
  catalog: Catalog,
  history: NativeHistory,
  options: ImportOptions,
): Promise<SessionRow> {
  const { openNativeHistory } = await import("./native-history.ts");
  const source = openNativeHistory(history);
  const imported = await importConversation(catalog, history.runtime, source, options.sessionKey);
  report(options, `${history.runtime} thread`, imported);
  return imported.row;
}

function openSourceFile(path: string): OpenFile {
  let fd: number | undefined;
  try {
    fd = openSync(path, "r");
    const stats = fstatSync(fd);
    if (!stats.isFile())
      throw new PagurusError("store_read_failed", `Cannot read ${path}: it is no file; take a file.`);
    return { fd, size: stats.size, path };
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    throw readFailure(error, path);
  }
}

function formatOfFile(file: OpenFile, wanted: string): ForeignFormat | "pagurus" {
  const known = [...FOREIGN_FORMATS, "pagurus" as const].find((format) => format === wanted);
  if (!known && wanted !== "auto") {
    throw new PagurusError(
      "usage_invalid",
      `The format ${JSON.stringify(wanted)} is not known; take auto, pagurus, ${FOREIGN_FORMATS.join(", ")}.`,
    );
  }
  const found = detectFormat(file);
  // An unknown file is checked, and refused, as one of ours.
  if (!known) return found ?? "pagurus";
  if (found === undefined || found === known || known === "pagurus") return known;
  throw new PagurusError(
    "import_invalid",
    `${file.path} cannot be imported as ${known}: its lines are those of ${found}; leave --format out.`,
    { details: { file: file.path, found } },
  );
}

export async function openSource(
  format: Exclude<ForeignFormat, "lcm">,
  file: OpenFile,
): Promise<ForeignSession> {
  switch (format) {
    case "claude-code":
      return paced((await import("./claude-code.ts")).openClaudeCode(file));
    case "codex":
      return paced((await import("./codex-rollout.ts")).openCodex(file));
    case "pi":
      return paced((await import("./pi.ts")).openPi(file));
  }
}

function report({ tell: say }: ImportOptions, name: string, imported: ImportedSession): void {
  const [taken = "", ...more] = imported.tally.sentences();
  const { before, row } = imported;
  const what =
    before === undefined
      ? `Imported the ${name} ${imported.sourceId} as session "${row.key}"`
      : `Updated the session "${row.key}" from the ${name} ${imported.sourceId}, which has grown by ${row.entries - before} entries`;
  say?.(`${what}: ${taken}`);
  for (const sentence of more) say?.(sentence);
}

async function importLcm(catalog: Catalog, path: string, options: ImportOptions): Promise<SessionRow> {
  const { LcmDatabase, invalid } = await import("./lcm/lcm-database.ts");
  const { openLcm, lcmKey } = await import("./lcm/lcm.ts");
  const db = new LcmDatabase(path);
  try {
    const all = db.conversations();
    if (all.length === 0) throw invalid(path, "it holds no conversation");
    const { sessionKey } = options;
    const chosen =
      sessionKey === undefined ? all : all.filter((each) => isNamed(each, lcmKey(each), sessionKey));
    // A single conversation may get another key.
    const renamed = chosen.length === 0 && all.length === 1 ? sessionKey : undefined;
    if (chosen.length === 0 && renamed === undefined) throw noneNamed(path, all.map(lcmKey));
    return await importAll(catalog, renamed === undefined ? chosen : all, {
      open: (each) => paced(openLcm(db, each)),
      key: renamed,
      options,
    });
  } finally {
    db.close();
  }
}

function isNamed(conversation: LcmConversation, key: string, name: string): boolean {
  const { id, sessionId, sessionKey } = conversation;
  return name === key || name === sessionKey || name === sessionId || name === String(id);
}

function noneNamed(path: string, keys: string[]): PagurusError {
  const shown = keys.slice(0, 10).join(", ");
  const more = keys.length > 10 ? `, and ${keys.length - 10} more` : "";
  return new PagurusError(
    "usage_invalid",
    `No conversation of ${path} is named so; choose with --session one of: ${shown}${more}.`,
  );
}

/** Imports all; one that exists already is reported and does not stop the others. */
async function importAll(
  catalog: Catalog,
  conversations: readonly LcmConversation[],
  how: {
    open: (each: LcmConversation) => Promise<ForeignSession>;
    key: string | undefined;
    options: ImportOptions;
  },
): Promise<SessionRow> {
  let first: SessionRow | undefined;
  let refused: PagurusError | undefined;
  for (const conversation of conversations) {
    try {
      const imported = await importConversation(catalog, "lcm", await how.open(conversation), how.key);
      first ??= imported.row;
      report(how.options, NAMES.lcm, imported);
    } catch (error) {
      const known = isPagurusError(error) && ["session_exists", "import_invalid"].includes(error.code);
      if (!known) throw error;
      refused ??= error;
      if (conversations.length > 1) how.options.tell?.(`Not imported: ${error.message}`);
    }
  }
  if (first) return first;
  throw refused ?? new PagurusError("internal", "An import ended without a session.");
}
