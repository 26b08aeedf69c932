/** The section about skills in a turn's instructions. The same skills give the same bytes. */
import { join, relative, sep } from "node:path";
import { quoted } from "@pagurus/contract/fence";
import type { SkillReport } from "@pagurus/contract/host/skill";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { lies } from "./skill-places.ts";
import { findSkills, type SkillSearch, type UsableSkill } from "./skill-list.ts";
import { defined } from "@pagurus/core/data/defined";

/** Token budget; together with the host's own instructions and tools well below 3,000 tokens. */
const MOST_TOKENS = 1_000;
const MOST_LISTED = 40;
/** Length limit in characters; longer descriptions belong in the file. */
const MOST_SHOWN_DESCRIPTION = 240;

/** Around the list: descriptions are texts of files. */
const SKILLS_TAG = "skills";
const INTRODUCTION =
  "Skills: instructions for special tasks. When a task matches one, read its file before you start and follow it; paths in it are relative to its folder.";

export interface TurnSkills {
  /** Empty when there are no skills. */
  section: string;
  /** Folders and files that the reading tools may access, wherever they are; without symbolic links. */
  folders: string[];
  /** Skills of the package, which only a turn about their subject names. */
  onDemand: readonly UsableSkill[];
}

/** The skills of a turn; the runtime itself lists those in the workspace's `native` folders. Never throws. */
export function turnSkills(search: SkillSearch, native: readonly string[] = []): TurnSkills {
  const { cwd } = search;
  const { usable, manual, onDemand } = findSkills(search);
  const ours = usable.filter(({ path }) => !native.some((folder) => lies(path, join(cwd, folder))));
  return {
    section: sectionOf(ours, cwd).text,
    folders: [...usable, ...manual].flatMap(({ readable }) => readable),
    onDemand,
  };
}

/** The same for a person, including those that are not offered. Never throws. */
export function skillReport(search: SkillSearch): SkillReport {
  const { skills, usable, problems } = findSkills(search);
  const { text, unlisted } = sectionOf(usable, search.cwd);
  for (const skill of unlisted) {
    skill.state = "unlisted";
    skill.reason = `It does not fit into the list: the limits are ${MOST_LISTED} skills and ${MOST_TOKENS} tokens.`;
  }
  const facts = skills.map(({ name, description, path, state, reason, notes }) => ({
    name,
    description,
    path,
    state,
    ...defined({ reason }),
    notes,
  }));
  return { skills: facts, problems, tokens: text === "" ? 0 : estimateTokens(text) };
}

function sectionOf(usable: readonly UsableSkill[], cwd: string): { text: string; unlisted: UsableSkill[] } {
  if (usable.length === 0) return { text: "", unlisted: [] };
  const lines: string[] = [];
  const unlisted: UsableSkill[] = [];
  // Reserve for the last line, which says how many are left out.
  let tokens = estimateTokens(INTRODUCTION) + 45;
  for (const skill of usable) {
    const line = lineOf(skill, cwd);
    const more = estimateTokens(line) + 1;
    if (lines.length < MOST_LISTED && tokens + more <= MOST_TOKENS) {
      lines.push(line);
      tokens += more;
    } else unlisted.push(skill);
  }
  const listed = `${INTRODUCTION}\n<${SKILLS_TAG}>\n${quoted(lines.join("\n"), SKILLS_TAG)}\n</${SKILLS_TAG}>`;
  const more = `(${unlisted.length} more for want of room not named; \`pagurus skills list\` shows them.)`;
  const text = unlisted.length > 0 ? `${listed}\n${more}` : listed;
  return { text, unlisted };
}

function lineOf({ name, description, path }: UsableSkill, cwd: string): string {
  const characters = Array.from(description);
  const short =
    characters.length <= MOST_SHOWN_DESCRIPTION
      ? description
      : `${characters
          .slice(0, MOST_SHOWN_DESCRIPTION - 1)
          .join("")
          .trimEnd()}…`;
  const where = lies(path, cwd) ? relative(cwd, path).split(sep).join("/") : path;
  return `- ${name}: ${short} (${where})`;
}
