import { PagurusError } from "../contract/errors.ts";
import { loadConfig } from "../config/load.ts";
import type { Finding } from "./finding.ts";

/** The configuration file: readable, right, and without keys that nobody reads. */
export function checkConfigFile(home: string): Finding[] {
  try {
    const { file, found, warnings } = loadConfig({ home });
    if (!found)
      return [{ level: "info", check: "config", detail: `There is no ${file}; the defaults hold.` }];
    const fix = `Correct or remove the key in ${file}.`;
    return [
      { level: "ok", check: "config", detail: `${file} is valid.` },
      ...warnings.map((detail): Finding => ({ level: "warn", check: "config", detail, fix })),
    ];
  } catch (error) {
    if (!(error instanceof PagurusError)) throw error;
    const problems = error.details["problems"];
    const details = Array.isArray(problems) ? problems.map(String) : [error.message];
    const fix = 'Correct it; "pagurus config schema" prints what the file may hold.';
    return details.map((detail) => ({ level: "error", check: "config", detail, fix }));
  }
}
