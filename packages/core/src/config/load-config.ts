/** Loads the configuration of a home. */
import { noteSetAside } from "./set-aside.ts";
import { readFileSync } from "node:fs";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { checkConfig, type CheckResult } from "./config-problems.ts";
import { chosenEngine, defaultConfig, type SlotSource } from "./defaults.ts";
import { repeatedKeys } from "./repeated-keys.ts";
import { parseJson5 } from "./json5.ts";
import { formatKeyPath, valueAt } from "./key-path.ts";
import { readVerdict, writeVerdict, type Verdict } from "./marker.ts";
import { configFile } from "./config-paths.ts";
import type { PagurusConfig } from "./config-types.ts";

export interface LoadedConfig {
  /** The configuration in use: the file's values without ignored ones; unknown keys are kept. */
  config: PagurusConfig;
  file: string;
  found: boolean;
  /** One sentence each: unknown keys, ignored values. */
  warnings: string[];
  /** The engine of the slot. */
  contextEngine: string;
  slotSource: SlotSource;
}

/**
 * Reads `<home>/pagurus.json`. Without one the defaults apply. The schema library is loaded only when the file differs from the
 * last checked one. Throws `config_invalid`.
 */
export function loadConfig(options: { home: string }): LoadedConfig {
  const file = configFile(options.home);
  const text = readConfigText(file);
  if (text === undefined)
    return { config: defaultConfig(), file, found: false, warnings: [], ...chosenEngine({}, false) };
  const value = parseJson5(text, file);
  let verdict: Verdict | undefined = readVerdict(options.home, text);
  if (!verdict) {
    const { warnings, ignored } = accepted(value, file);
    verdict = { warnings: [...warnings, ...repeatedKeys(text, file)], ignored };
    writeVerdict(options.home, text, verdict);
  }
  return fromChecked(value, verdict, file, true);
}

/** The configuration of a host with these options. Throws `config_invalid`. */
export function loadFor(options: { config?: unknown; onlyLook?: boolean }, home: string): LoadedConfig {
  if (options.config !== undefined) return configFromValue(options.config, home);
  return options.onlyLook === true ? loadForLook(home) : loadConfig({ home });
}

/** As `loadConfig` for a read-only command: an unusable file is a warning, and the defaults apply. */
function loadForLook(home: string): LoadedConfig {
  try {
    return loadConfig({ home });
  } catch (error) {
    if (!isPagurusError(error)) throw error;
    const warning = `${error.message} No turn runs until then; the defaults are shown.`;
    return { ...configFromValue({}, home), found: true, warnings: [warning] };
  }
}

/** A caller's configuration instead of the file's, checked the same way. Throws `config_invalid`. */
export function configFromValue(value: unknown, home: string): LoadedConfig {
  const verdict = accepted(value, "The passed configuration");
  return fromChecked(structuredClone(value), verdict, configFile(home), false);
}

/** The text of a configuration file; undefined when there is none. Throws `config_invalid`. */
export function readConfigText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return undefined;
    throw new PagurusError(
      "config_invalid",
      `The configuration file ${file} cannot be read (${code ?? "unknown error"}); make it a file that you may read.`,
      { cause: error, details: { file, code } },
    );
  }
}

/** Checks a parsed file. Throws `config_invalid` with the first problem as message and all of them in `details`. */
function accepted(value: unknown, source: string): CheckResult {
  const result = checkConfig(value);
  const [first, ...others] = result.problems;
  if (first === undefined) return result;
  const more =
    others.length === 0 ? "" : ` (${others.length} more problem${others.length === 1 ? "" : "s"} in it)`;
  throw new PagurusError(
    "config_invalid",
    `${source}: ${first.replace(/\.$/, "")}${more}; correct it there.`,
    {
      details: { source, problems: result.problems },
    },
  );
}

function fromChecked(value: unknown, verdict: Verdict, file: string, found: boolean): LoadedConfig {
  // Backwards, so that earlier list elements keep their indexes.
  for (const path of verdict.ignored.toReversed()) {
    const parent = valueAt(value, path.slice(0, -1));
    const key = path.at(-1);
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else if (typeof parent === "object" && parent !== null) Reflect.deleteProperty(parent, key ?? "");
  }
  // The check has verified the type, apart from what was just removed.
  const config = value as PagurusConfig;
  noteSetAside(config, verdict);
  return { config, file, found, warnings: verdict.warnings, ...chosenEngine(config, true) };
}

/** The value of a key of the configuration in use. Throws `usage_invalid`, `config_key_unknown`. */
export function getConfigValue(config: PagurusConfig, path: readonly (string | number)[]): unknown {
  const value = valueAt(config, path);
  if (value !== undefined) return value;
  throw new PagurusError(
    "config_key_unknown",
    `The configuration holds no ${formatKeyPath(path)}; "pagurus config get" without a key shows all that it holds.`,
    { details: { path: formatKeyPath(path) } },
  );
}
