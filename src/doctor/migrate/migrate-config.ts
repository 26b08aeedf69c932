/** `openclaw.json` as `pagurus.json`. */
import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import { checkConfig } from "../../config/check.ts";
import { normalizeText, parseJson5 } from "../../config/json5.ts";
import { valueAt } from "../../config/key-path.ts";
import { isRecord } from "../../config/record.ts";
import { repairText } from "../../config/legacy/repair.ts";
import { readConfigText } from "../../config/load.ts";
import { configFile, expandPath } from "../../config/paths.ts";
import { ensurePrivateDir, writeFileAtomic } from "../../platform/files.ts";
import { replaceConfig } from "../config-repair.ts";
import { ConfigDraft, type NotTaken, type Renamed } from "./config-draft.ts";
import { mapConfig } from "./map-config.ts";
import { leavesOf, mergeInto, type Conflict } from "./merge-config.ts";

/** Their settings need no plugin. */
const BUNDLED = new Set(["lossless", "codex"]);

export interface MigratedConfig {
  /** OpenClaw's file. */
  source: string;
  /** Ours. */
  file: string;
  /**
   * `absent`: OpenClaw has none; `failed`: it cannot be read, `problem` says why; `made`, `merged` into one that is
   * there, `unchanged`: there is nothing to put in.
   */
  state: "absent" | "failed" | "made" | "merged" | "unchanged";
  problem?: string;
  /** Paths of what is put in. */
  taken: string[];
  renamed: Renamed[];
  notTaken: NotTaken[];
  /** What `pagurus.json` says otherwise. */
  conflicts: Conflict[];
  /** Words of earlier times that were said anew; a sentence each. */
  mended: string[];
  /** What else is to be known; sentences. */
  notes: string[];
  /** Copy of the file as it was. */
  backup?: string;
}

export interface ConfigOptions {
  /** OpenClaw's file. */
  source: string;
  /** Our home. */
  home: string;
  dryRun: boolean;
  /** OpenClaw's value in the place of ours, where both have one. */
  overwrite: boolean;
  now: () => Date;
}

/** Never throws for what is wrong with a file; throws `store_write_failed` where ours cannot be written. */
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
    if (!(error instanceof PagurusError) || error.code !== "config_invalid") throw error;
    // Nothing of what was found on the way has come about.
    const nothing = { taken: [], renamed: [], notTaken: [], conflicts: [], mended: [], notes: [] };
    return { ...report, ...nothing, state: "failed", problem: error.message };
  }
  return report;
}

/** What is in another encoding was read with its letters replaced. */
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
    report.mended.push(...repaired.mended);
  } catch (error) {
    parseJson5(text, source);
    report.notes.push(`Words of earlier times stay as they are: ${toPagurusError(error).message}`);
  }
  const draft = new ConfigDraft(text, source);
  mapConfig(draft);
  report.renamed.push(...draft.renamed);
  report.notTaken.push(...draft.notTaken);
  if (existsSync(join(dirname(source), ".env")))
    report.notes.push(
      `Variables of ${join(dirname(source), ".env")} are not taken; set them in your environment.`,
    );
  const plugins = draft.keys(["plugins", "entries"]).filter((id) => !BUNDLED.has(id));
  if (plugins.length > 0)
    report.notes.push(
      `Settings of plugins are taken, their code is not: pagurus plugins install takes ${plugins.join(", ")}.`,
    );
  const empty = leavesOf(draft.value).length === 0;
  if (!empty && valueAt(draft.value, ["plugins", "slots", "contextEngine"]) === undefined)
    report.notes.push(
      "No context engine is named in what was taken: a configuration file without one means legacy. To have the engine that keeps every word: pagurus config set plugins.slots.contextEngine lossless",
    );
  return draft;
}

function write(draft: ConfigDraft, { dryRun, overwrite, now }: ConfigOptions, report: MigratedConfig): void {
  const { file } = report;
  const present = readConfigText(file);
  if (present === undefined) {
    report.taken.push(...leavesOf(draft.value));
    // A file would say that the engine is legacy; a home without one has lossless.
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
  if (!dryRun) report.backup = replaceConfig(file, present, merged.text, now());
}

/** Nothing is written that a run would refuse, where it was not refused before. */
function assertValid(text: string, file: string, before: string): void {
  const old = new Set(checkConfig(parseJson5(before, file)).problems);
  const problem = checkConfig(parseJson5(text, file)).problems.find((each) => !old.has(each));
  if (problem === undefined) return;
  throw new PagurusError(
    "config_invalid",
    `${file} would be refused with what was taken (${problem.replace(/\.$/, "")}); it was left as it is.`,
    { details: { file } },
  );
}

/** Where lossless-claw keeps its database; `named`: its settings or the environment say so, it need not be there. */
export function lcmFileOf(
  source: string,
  folder: string,
  env: Record<string, string | undefined>,
): { file: string; named: boolean } {
  const own = env["LCM_DATABASE_PATH"] || lcmSetting(source);
  if (own === undefined) return { file: join(folder, "lcm.db"), named: false };
  const file = expandPath(own, folder);
  // A home that was moved or copied here still names its old place, perhaps of another system.
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
    // Told where the configuration is taken.
    return undefined;
  }
}
