import type { CustomCommandReport, SkillReport } from "../contract/skill.ts";
import type { Finding } from "./finding.ts";

/** Skills and command files of the folder that the doctor is asked in. */
export interface SkillsSeen {
  skills: SkillReport;
  commands: CustomCommandReport;
}

/** What a person meant to be there and is not; none of it refuses a run. */
export function checkSkills(seen: SkillsSeen | undefined): Finding[] {
  if (!seen) return [];
  const { skills, commands } = seen;
  const findings: Finding[] = [...skills.problems, ...commands.problems].map((detail) => warned(detail));
  for (const { state, reason = "" } of [...skills.skills, ...commands.commands])
    if (state === "broken") findings.push(warned(reason));
  const unlisted = skills.skills.filter(({ state }) => state === "unlisted").length;
  if (unlisted > 0)
    findings.push({
      ...warned(`${unlisted} of the skills are not named to the model, for want of room.`),
      fix: "Turn off what is not needed: skills.entries.<name>.enabled. pagurus skills list shows them.",
    });
  const offered = skills.skills.filter(({ state }) => state === "offered").length;
  if (offered > 0 && findings.length === 0)
    findings.push({ level: "ok", check: "skills", detail: `${offered} named to the model.` });
  return findings;
}

function warned(detail: string): Finding {
  return { level: "warn", check: "skills", detail };
}
