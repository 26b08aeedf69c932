import { errorText } from "@pagurus/core/data/error-text";
import { TRIED, versionIn } from "@pagurus/core/data/tried-programs";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { findProgram, safePath } from "@pagurus/core/platform/executables";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { versionNote } from "@pagurus/core/platform/version-notes";
import { killGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import type { Finding } from "./finding.ts";
import { defined } from "@pagurus/core/data/defined";

const DEADLINE_MS = 5_000;
const OUTPUT_MAX_CHARS = 4_096;

/** Optional programs, and the effect of their absence. */
const CHECKED_PROGRAMS: readonly {
  name: string;
  without: string;
  only?: NodeJS.Platform;
  /** Id of the runtime that drives it, where that differs. */
  runtime?: string;
}[] = [
  { name: "rg", without: "the search tool uses its own, slower search" },
  { name: "bwrap", without: "shell commands run without a sandbox", only: "linux" },
  { name: "git", without: "Pagurus does not need it, but agents often do" },
  { name: "codex", without: "the codex runtime cannot be used" },
  { name: "claude", runtime: "claude-cli", without: "the claude-cli runtime cannot be used" },
];

/** Programs that `pagurus wire` wraps and agents that runtimes start: listed where they are installed. */
const OTHERS = Object.keys(TRIED).filter((id) => !CHECKED_PROGRAMS.some(({ name }) => name === id));

/** Queries the version of each program, all at once; `known` are runtimes that report their own. */
export async function checkPrograms(
  env: Record<string, string | undefined>,
  deadlineMs = DEADLINE_MS,
  known: readonly string[] = [],
  home = "",
): Promise<Finding[]> {
  const here = CHECKED_PROGRAMS.filter(
    ({ name, runtime = name, only }) =>
      !known.includes(runtime) && (only === undefined || only === process.platform),
  );
  const others = OTHERS.map((name) => checkOther(name, { env, deadlineMs, home }));
  const findings = here.map(async ({ name, without }): Promise<Finding> => {
    const { file, passedOver } = findProgram(name, { env });
    const [planted] = passedOver;
    if (planted !== undefined) {
      return {
        level: "warn",
        check: "programs",
        detail: `${planted} is passed over, since commands or other users can write there; ${file ?? `no other ${name}`} is used.`,
        fix: "Remove the folder from PATH, or name the program by its path in the configuration.",
      };
    }
    if (file === undefined) {
      return { level: "info", check: "programs", detail: `${name} is not installed: ${without}.` };
    }
    try {
      const version = await printedVersion(file, { ...env, PATH: safePath({ env }) }, deadlineMs);
      return { level: "ok", check: "programs", detail: `${name}: ${version} (${file}).` };
    } catch (error) {
      if (isPagurusError(error) && error.code === "deadline_exceeded") return lateFinding(file, deadlineMs);
      const detail = `${file} does not print its version: ${errorText(error)}`;
      return { level: "warn", check: "programs", detail, fix: `Without it, ${without}; reinstall it.` };
    }
  });
  return (await Promise.all([...findings, ...others])).flat();
}

/** Nothing about a program that is not installed. */
async function checkOther(
  name: string,
  { env, deadlineMs, home }: { env: Record<string, string | undefined>; deadlineMs: number; home: string },
): Promise<Finding[]> {
  const { file } = findProgram(name, { env });
  if (file === undefined) return [];
  try {
    const printed = await printedVersion(file, { ...env, PATH: safePath({ env }) }, deadlineMs);
    const version = versionIn(printed) ?? printed;
    const fix = versionNote(home, name, version);
    const detail = `${name}: ${version} (${file}).`;
    return [{ level: fix === undefined ? "ok" : "info", check: "programs", detail, ...defined({ fix }) }];
  } catch (error) {
    if (isPagurusError(error) && error.code === "deadline_exceeded") return [lateFinding(file, deadlineMs)];
    const detail = `${file} does not print its version: ${errorText(error)}`;
    return [{ level: "info", check: "programs", detail }];
  }
}

/** A timeout on a busy machine is not the program's fault. */
function lateFinding(file: string, deadlineMs: number): Finding {
  const detail = `${file} did not answer within ${deadlineMs / 1_000} s, so its version is not known.`;
  return {
    level: "info",
    check: "programs",
    detail,
    fix: "Run pagurus doctor again when the machine is idle.",
  };
}

/** First line of the output of `--version`. The whole process group ends at the deadline. */
function printedVersion(
  file: string,
  env: Record<string, string | undefined>,
  deadlineMs: number,
): Promise<string> {
  return withDeadline(
    (signal) =>
      new Promise<string>((resolve, reject) => {
        const child = spawnGroup(file, ["--version"], { env, stdio: ["ignore", "pipe", "ignore"] });
        let output = "";
        child.stdout?.setEncoding("utf8").on("data", (text: string) => {
          if (output.length < OUTPUT_MAX_CHARS) output += text;
        });
        signal.addEventListener("abort", () => killGroup(child, "SIGKILL"), { once: true });
        child.once("error", reject);
        child.once("close", (code) => {
          const line = output.trim().split("\n")[0]?.trim() ?? "";
          if (code === 0 && line !== "") resolve(line);
          else reject(new PagurusError("internal", `it ended with code ${code} and no answer.`));
        });
      }),
    { ms: deadlineMs, label: "The query" },
  );
}
