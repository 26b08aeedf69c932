import type { CustomCommandReport, SkillReport } from "@pagurus/contract/host/skill";
import type { Finding } from "./finding.ts";

/** Skills and command files of the doctor's folder. */
export interface SkillsSeen {
  skills: SkillReport;
  commands: CustomCommandReport;
}

/** Skills and commands that are not usable; none of it refuses a run. */
export function checkSkills(seen: SkillsSeen | undefined): Finding[] {
  if (!seen) return [];
  const { skills, commands } = seen;
  const findings: Finding[] = [...skills.problems, ...commands.problems].map((detail) => warned(detail));
  for (const { state, reason = "" } of [...skills.skills, ...commands.commands])
    if (state === "broken") findings.push(warned(reason));
  const unlisted = skills.skills.filter(({ state }) => state === "unlisted").length;
  if (unlisted > 0)
    findings.push({
      ...warned(`${unlisted} of the skills are not listed to the model, since the list is full.`),
      fix: "Turn off what is not needed: skills.entries.<name>.enabled. pagurus skills list shows them.",
    });
  const offered = skills.skills.filter(({ state }) => state === "offered").length;
  if (offered > 0 && findings.length === 0)
    findings.push({ level: "ok", check: "skills", detail: `${offered} listed to the model.` });
  return findings;
}

function warned(detail: string): Finding {
  return { level: "warn", check: "skills", detail };
}
