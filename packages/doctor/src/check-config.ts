import { isPagurusError, type PagurusError } from "@pagurus/contract/errors";
import { parseJson5 } from "@pagurus/core/config/json5";
import { formatKeyPath } from "@pagurus/core/config/key-path";
import { legacyFindings } from "@pagurus/importers/old-keys/findings";
import { ignoredPins } from "@pagurus/core/config/legacy/legacy-pins";
import type { LegacyFinding } from "@pagurus/importers/old-keys/ref-repair";
import { loadConfig, readConfigText } from "@pagurus/core/config/load-config";
import { configFile } from "@pagurus/core/config/config-paths";
import { TextPositions, type Position } from "@pagurus/core/config/position";
import type { Finding } from "./finding.ts";

/** Checks that the configuration file is readable and valid, without unknown or outdated keys. */
export function checkConfigFile(home: string, env: Readonly<Record<string, string | undefined>>): Finding[] {
  return [...checkFile(home), ...checkEnvironment(env)];
}

function checkFile(home: string): Finding[] {
  try {
    const { file, found, warnings } = loadConfig({ home });
    if (!found)
      return [{ level: "info", check: "config", detail: `There is no ${file}; the defaults apply.` }];
    const text = readConfigText(file) ?? "";
    const fix = "Correct or remove the key.";
    const legacy = legacyFindings(parseJson5(text, file));
    const others = warnings.filter((warning) => !legacy.some(({ path }) => isAbout(warning, path)));
    const positions = others.length + legacy.length > 0 ? new TextPositions(text, file) : undefined;
    return [
      { level: "ok", check: "config", detail: `${file} is valid.` },
      ...others.map((detail): Finding => ({
        level: "warn",
        check: "config",
        detail,
        fix,
        ...placed(file, positions?.ofSentence(detail)),
      })),
      ...legacy.map((each) => legacyFinding(each, file, positions)),
    ];
  } catch (error) {
    if (!isPagurusError(error)) throw error;
    return problemFindings(home, error);
  }
}

function isAbout(warning: string, path: LegacyFinding["path"]): boolean {
  return warning.startsWith(`${formatKeyPath(path)} `);
}

function legacyFinding(
  { path, what, advice, edits }: LegacyFinding,
  file: string,
  positions: TextPositions | undefined,
): Finding {
  const fix = edits ? "Run pagurus doctor --fix to have it rewritten." : (advice ?? "");
  return { level: "warn", check: "config", detail: what, fix, ...placed(file, positions?.of(path)) };
}

function placed(file: string, at: Position | undefined): Pick<Finding, "place"> {
  return at ? { place: { file, ...at } } : {};
}

/** Findings that refuse every run: an unreadable file, or invalid values. */
function problemFindings(home: string, error: PagurusError): Finding[] {
  const file = configFile(home);
  const { problems, line, column } = error.details;
  const fix = 'Correct it; "pagurus config schema" prints the schema of the file.';
  if (!Array.isArray(problems)) {
    const at = typeof line === "number" && typeof column === "number" ? { line, column } : undefined;
    return [{ level: "error", check: "config", detail: error.message, fix, ...placed(file, at) }];
  }
  const text = readConfigText(file) ?? "";
  const positions = new TextPositions(text, file);
  return [
    ...problems.map(String).map((detail): Finding => ({
      level: "error",
      check: "config",
      detail,
      fix,
      ...placed(file, positions.ofSentence(detail)),
    })),
    ...legacyFindings(parseJson5(text, file)).map((each) => legacyFinding(each, file, positions)),
  ];
}

function checkEnvironment(env: Readonly<Record<string, string | undefined>>): Finding[] {
  const fix = "Take the variable out of the environment.";
  return ignoredPins({}, env).map(({ what }) => ({ level: "warn", check: "config", detail: what, fix }));
}
