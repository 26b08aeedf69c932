/** Converts `openclaw.json` to `pagurus.json`. */
import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { hasBundledEntry } from "@pagurus/core/config/bundled";
import { checkConfig } from "@pagurus/core/config/config-problems";
import { normalizeText, parseJson5 } from "@pagurus/core/config/json5";
import { DEFAULT_CONTEXT_ENGINE, PLAIN_CONTEXT_ENGINE } from "@pagurus/core/config/defaults";
import { formatKeyPath, valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { repairText } from "../../old-keys/legacy-repair.ts";
import { readConfigText } from "@pagurus/core/config/load-config";
import { configFile, expandPath } from "@pagurus/core/config/config-paths";
import { isRecord } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { replaceWithBackup } from "@pagurus/core/config/replace-with-backup";
import { takeWorkspaces } from "./agent-workspaces.ts";
import { ConfigDraft, type NotTaken, type Renamed } from "./config-draft.ts";
import { mapConfig } from "./map-config.ts";
import { leavesOf, mergeInto, type Conflict } from "./merge-config.ts";
import { workspaceParts } from "./workspace-parts.ts";

export interface MigratedConfig {
  /** OpenClaw's file. */
  source: string;
  /** Ours. */
  file: string;
  /**
   * `absent`: OpenClaw has none; `failed`: it cannot be read, see `problem`; `made`, `merged` into an existing one,
   * `unchanged`: there is nothing to add.
   */
  state: "absent" | "failed" | "made" | "merged" | "unchanged";
  problem?: string;
  /** Paths that are added. */
  taken: string[];
  renamed: Renamed[];
  notTaken: NotTaken[];
  /** Values that `pagurus.json` has differently. */
  conflicts: Conflict[];
  /** Outdated settings that were converted; a sentence each. */
  mended: string[];
  /** Other notes; sentences. */
  notes: string[];
  /** Backup of the file. */
  backup?: string;
}

export interface ConfigOptions {
  /** OpenClaw's file. */
  source: string;
  /** Our home. */
  home: string;
  dryRun: boolean;
  /** Replaces our values with OpenClaw's, where both have one. */
  overwrite: boolean;
  now: () => Date;
}

/** Never throws for an invalid file; throws `store_write_failed` where ours cannot be written. */
export function migrateConfig(options: ConfigOptions): MigratedConfig {
  const { source, home } = options;
  const file = configFile(home);
  const report: MigratedConfig = {
    source,
    file,
    state: "absent",
    taken: [],
    renamed: [],
    notTaken: [],
    conflicts: [],
    mended: [],
    notes: [],
  };
  try {
    const stored = readConfigText(source);
    if (stored === undefined) return report;
    assertUtf8(source);
    const draft = drafted(stored, report);
    write(draft, options, report);
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "config_invalid") throw error;
    // None of the changes so far has been written.
    const nothing = { taken: [], renamed: [], notTaken: [], conflicts: [], mended: [], notes: [] };
    return { ...report, ...nothing, state: "failed", problem: error.message };
  }
  return report;
}

/** A file in another encoding was read with replaced characters. */
function assertUtf8(file: string): void {
  if (isUtf8(readFileSync(file))) return;
  throw new PagurusError("config_invalid", `${file} is not UTF-8; save it as UTF-8 and run this again.`, {
    details: { file },
  });
}

function drafted(stored: string, report: MigratedConfig): ConfigDraft {
  const { source } = report;
  let text = normalizeText(stored);
  if (!isRecord(parseJson5(text, source)))
    throw new PagurusError("config_invalid", `${source} holds no object, so nothing of it can be taken.`, {
      details: { file: source },
    });
  try {
    const repaired = repairText(stored, source);
    text = repaired.after;
    report.mended.push(...repaired.repairs);
  } catch (error) {
    parseJson5(text, source);
    report.notes.push(`Outdated settings are unchanged: ${toPagurusError(error).message}`);
  }
  const draft = new ConfigDraft(text, source);
  mapConfig(draft);
  takeWorkspaces(draft, dirname(source), parseJson5(text, source));
  takeWorkspaceParts(draft, report);
  report.renamed.push(...draft.renamed);
  report.notTaken.push(...draft.notTaken);
  if (existsSync(join(dirname(source), ".env")))
    report.notes.push(
      `Variables of ${join(dirname(source), ".env")} are not taken; set them in your environment.`,
    );
  const plugins = draft.keys(["plugins", "entries"]).filter((id) => !hasBundledEntry(id));
  if (plugins.length > 0)
    report.notes.push(
      `Settings of plugins are taken, their code is not: pagurus plugins install takes ${plugins.join(", ")}.`,
    );
  return draft;
}

/** Takes skill folders of the workspaces; other parts of them are reported. */
function takeWorkspaceParts(draft: ConfigDraft, report: MigratedConfig): void {
  const { skills, notes } = workspaceParts(dirname(report.source), draft.value);
  report.notes.push(...notes);
  const path: KeyPath = ["skills", "paths"];
  const named = draft.at(path);
  const before = Array.isArray(named) ? (named as unknown[]) : [];
  const added = skills.filter((folder) => !before.includes(folder));
  if (added.length > 0)
    draft.set(path, [...before, ...added], { path: added.join(", "), as: formatKeyPath(path) });
}

const SLOT: KeyPath = ["plugins", "slots", "contextEngine"];

/**
 * Writes the engine that a configuration used without naming it: OpenClaw uses legacy for a slot without a value, or with an
 * engine that does not run, and our default differs.
 */
function keepEngine(draft: ConfigDraft, source: string, report: MigratedConfig): void {
  const hadSettings = leavesOf(parseJson5(readConfigText(source) ?? "", source)).length > 0;
  if (!hadSettings || draft.at(SLOT) !== undefined || !draft.takes(SLOT)) return;
  const as = `"${PLAIN_CONTEXT_ENGINE}"`;
  draft.set(SLOT, PLAIN_CONTEXT_ENGINE, { path: formatKeyPath(SLOT), as });
  report.renamed.push({ path: formatKeyPath(SLOT), as });
  report.notes.push(
    `The engine there was ${PLAIN_CONTEXT_ENGINE}, so it is written into the slot. To use the engine that keeps everything: pagurus config set ${formatKeyPath(SLOT)} ${DEFAULT_CONTEXT_ENGINE}`,
  );
}

function write(draft: ConfigDraft, { dryRun, overwrite, now }: ConfigOptions, report: MigratedConfig): void {
  const { file, source } = report;
  const present = readConfigText(file);
  if (present === undefined) {
    keepEngine(draft, source, report);
    report.taken.push(...leavesOf(draft.value));
    report.state = "unchanged";
    if (report.taken.length === 0) return;
    assertValid(draft.text, file, "{}");
    report.state = "made";
    if (dryRun) return;
    ensurePrivateDir(dirname(file));
    writeFileAtomic(file, draft.text);
    return;
  }
  const before = normalizeText(present);
  const merged = mergeInto(before, file, draft.value, overwrite);
  report.taken.push(...merged.taken);
  report.conflicts.push(...merged.conflicts);
  report.state = merged.text === before ? "unchanged" : "merged";
  if (report.state === "unchanged") return;
  assertValid(merged.text, file, before);
  if (!dryRun) report.backup = replaceWithBackup(file, present, merged.text, now());
}

/** Refuses to write a file that a run would refuse, unless it was refused before. */
function assertValid(text: string, file: string, before: string): void {
  const old = new Set(checkConfig(parseJson5(before, file)).problems);
  const problem = checkConfig(parseJson5(text, file)).problems.find((each) => !old.has(each));
  if (problem === undefined) return;
  throw new PagurusError(
    "config_invalid",
    `${file} would be refused with what was taken (${problem.replace(/\.$/, "")}); it is unchanged.`,
    { details: { file } },
  );
}

/** Location of lossless-claw's database; `named`: its settings or the environment name it, it need not exist. */
export function lcmFileOf(
  source: string,
  folder: string,
  env: Record<string, string | undefined>,
): { file: string; named: boolean } {
  const own = env["LCM_DATABASE_PATH"] || lcmSetting(source);
  if (own === undefined) return { file: join(folder, "lcm.db"), named: false };
  const file = expandPath(own, folder);
  // A moved or copied home still names its old place, perhaps of another system.
  const beside = join(folder, own.split(/[/\\]/).at(-1) || "lcm.db");
  return { file: !existsSync(file) && existsSync(beside) ? beside : file, named: true };
}

function lcmSetting(source: string): string | undefined {
  try {
    const config = parseJson5(readConfigText(source) ?? "", source);
    const at = (key: string): unknown =>
      valueAt(config, ["plugins", "entries", "lossless-claw", "config", key]);
    const named = at("databasePath") ?? at("dbPath");
    return typeof named === "string" && named !== "" ? named : undefined;
  } catch {
    // The conversion of the configuration reports it.
    return undefined;
  }
}
