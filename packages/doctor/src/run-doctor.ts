/**
 * Checks the requirements of a run: sends nothing, and changes nothing unless a fix is requested. Engines of plugins are tested
 * in their own folders, with canned model answers.
 */
import { toPagurusError } from "@pagurus/contract/errors";
import { checkConfigFile } from "./check-config.ts";
import { checkEngines, type RegisteredParts } from "./check-engine.ts";
import type { Finding } from "./finding.ts";
import { checkHome } from "./home-check.ts";
import { checkInside } from "./inside-check.ts";
import { checkKeeper } from "./keeper-check.ts";
import { checkPrograms } from "./programs-check.ts";
import { checkRuntimes, type RuntimesSeen } from "./runtimes-check.ts";
import { checkSessionPins } from "./session-pins.ts";
import { checkSkills, type SkillsSeen } from "./skills-check.ts";
import { checkSurfaces } from "./surfaces-check.ts";
import { checkStore } from "./store-check.ts";

export interface DoctorInput {
  home: string;
  env: Record<string, string | undefined>;
  /** Fixes what is safe to fix without data loss: file modes, a damaged index, pins of sessions. */
  fix?: boolean;
  /** Default: this process's. */
  nodeVersion?: string;
  /** Possible model sources, found without network access; a name and its origin, never a key. */
  findModels: () => Promise<readonly { id: string; source: string }[]>;
  /** A run would be refused, so the offline model does not answer it. Default: false. */
  refused?: boolean;
  /** Registered parts; absent when the host could not be started. */
  registered?: RegisteredParts;
  /** Absent as `registered` is. */
  runtimes?: RuntimesSeen;
  /** Absent as `registered` is. */
  skills?: SkillsSeen;
}

/** Findings in the order of the checks. Never throws: a failing check is a finding itself. */
export async function runDoctor(input: DoctorInput): Promise<Finding[]> {
  const checks: [string, () => Finding[] | Promise<Finding[]>][] = [
    ["node", () => [checkNode(input.nodeVersion ?? process.versions.node)]],
    ["config", () => checkConfigFile(input.home, input.env)],
    ["home", () => checkHome(input.home, input.fix ?? false)],
    ["store", () => checkStore(input.home, input.fix ?? false)],
    ["store", () => checkSessionPins(input.home, input.fix ?? false)],
    ["engine", () => checkEngines(input.registered)],
    ["models", async () => [...(await checkModels(input)), ...checkSurfaces(input.home, input.env)]],
    ["programs", () => checkPrograms(input.env, undefined, programIds(input.runtimes), input.home)],
    ["programs", () => checkInside(input.home)],
    ["programs", () => checkKeeper(input.home)],
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

/** Ids of runtimes whose programs the host has queried itself. */
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

async function checkModels({ findModels, refused = false }: DoctorInput): Promise<Finding[]> {
  const found = await findModels();
  if (found.length === 0) {
    const offline = refused ? "" : "; the built-in offline model answers";
    const detail = `No key, local server or agent was found${offline}.`;
    const fix = "Set a key such as OPENAI_API_KEY, or configure models.providers.";
    return [{ level: "info", check: "models", detail, fix }];
  }
  return found.map(({ id, source }) => ({ level: "ok", check: "models", detail: `${id}, from ${source}.` }));
}
