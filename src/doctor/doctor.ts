/**
 * Checks what a run needs: nothing is sent anywhere, and nothing is changed unless a fix is asked for. Engines of
 * plugins are tried in folders of their own, with a model that is a canned answer.
 */
import { toPagurusError } from "../contract/errors.ts";
import { checkConfigFile } from "./config-check.ts";
import { checkEngines, type RegisteredParts } from "./engine-check.ts";
import type { Finding } from "./finding.ts";
import { checkHome } from "./home-check.ts";
import { checkPrograms } from "./programs-check.ts";
import { checkRuntimes, type RuntimesSeen } from "./runtimes-check.ts";
import { checkSessionPins } from "./session-pins.ts";
import { checkSkills, type SkillsSeen } from "./skills-check.ts";
import { checkStore } from "./store-check.ts";

export interface DoctorInput {
  home: string;
  env: Record<string, string | undefined>;
  /** Repairs what can be repaired without losing anything: file modes, a damaged index, pins of sessions. */
  fix?: boolean;
  /** Default: this process's. */
  nodeVersion?: string;
  /** What could serve a model, without asking a network; a name and where it was found, never a key. */
  findModels: () => Promise<readonly { id: string; source: string }[]>;
  /** What is registered; absent when the host could not be started. */
  registered?: RegisteredParts;
  /** Absent as `registered` is. */
  runtimes?: RuntimesSeen;
  /** Absent as `registered` is. */
  skills?: SkillsSeen;
}

/** Findings in the order of the checks. Never throws: a check that fails is a finding itself. */
export async function runDoctor(input: DoctorInput): Promise<Finding[]> {
  const checks: [string, () => Finding[] | Promise<Finding[]>][] = [
    ["node", () => [checkNode(input.nodeVersion ?? process.versions.node)]],
    ["config", () => checkConfigFile(input.home, input.env)],
    ["home", () => checkHome(input.home, input.fix ?? false)],
    ["store", () => checkStore(input.home, input.fix ?? false)],
    ["store", () => checkSessionPins(input.home, input.fix ?? false)],
    ["engine", () => checkEngines(input.registered)],
    ["models", () => checkModels(input.findModels)],
    ["programs", () => checkPrograms(input.env, undefined, programIds(input.runtimes))],
    ["runtimes", () => checkRuntimes(input.runtimes)],
    ["skills", () => checkSkills(input.skills)],
  ];
  const findings: Finding[] = [];
  for (const [check, run] of checks) {
    try {
      findings.push(...(await run()));
    } catch (error) {
      findings.push({
        level: "error",
        check,
        detail: `The check failed: ${toPagurusError(error).message}`,
      });
    }
  }
  return findings;
}

/** Runtimes whose programs the host has asked itself. */
function programIds(runtimes: RuntimesSeen | undefined): string[] {
  return (runtimes?.facts ?? []).filter(({ program }) => program !== undefined).map(({ id }) => id);
}

const NODE_MAJOR = 24;

function checkNode(version: string): Finding {
  if (Number.parseInt(version, 10) >= NODE_MAJOR) {
    return { level: "ok", check: "node", detail: `Node.js ${version}.` };
  }
  const fix = `Install Node.js ${NODE_MAJOR} or newer.`;
  return { level: "error", check: "node", detail: `Node.js ${version} is too old.`, fix };
}

async function checkModels(findModels: DoctorInput["findModels"]): Promise<Finding[]> {
  const found = await findModels();
  if (found.length === 0) {
    const detail = "No key, local server or agent was found; the built-in offline model answers.";
    const fix = "Set a key such as OPENAI_API_KEY, or configure models.providers.";
    return [{ level: "info", check: "models", detail, fix }];
  }
  return found.map(({ id, source }) => ({ level: "ok", check: "models", detail: `${id}, from ${source}.` }));
}
