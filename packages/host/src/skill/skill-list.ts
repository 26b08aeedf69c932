/** Finds skills: folders with a `SKILL.md`, in the format that Claude Code and Codex share (agentskills.io). */
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expandPath } from "@pagurus/core/config/config-paths";
import type { SkillsConfig } from "@pagurus/core/config/config-types";
import type { SkillFact } from "@pagurus/contract/host/skill";
import { readFrontMatter } from "@pagurus/core/data/front-matter";
import { invocationOf } from "./invocation.ts";
import { flat, isPlain, listPlace, readWithin, type Place } from "./skill-places.ts";
import { defined } from "@pagurus/core/data/defined";

export interface SkillSearch {
  /** The workspace; absolute. */
  cwd: string;
  /** `~/.pagurus`; absolute. Relative paths of the configuration start there. */
  home: string;
  /** The user trusts the workspace: its skills and commands take precedence over the user's own. */
  trusted: boolean;
  config?: SkillsConfig | undefined;
  /** Folder of the package's own skills; absent: none. */
  bundled?: string | undefined;
}

/** A skill that may be offered to the model. */
export interface UsableSkill extends SkillFact {
  /** What must be readable for it: its folder, and its file where that is a link to another place. No symbolic links. */
  readable: string[];
}

export interface FoundSkills {
  /** All of them, `usable` included. */
  skills: SkillFact[];
  /** For the model's list. */
  usable: UsableSkill[];
  /** For the person alone. */
  manual: UsableSkill[];
  /** Of the package, for turns about their subject. */
  onDemand: UsableSkill[];
  problems: string[];
}

/** Limit for one place; a folder with more is most likely not meant as a place of skills. */
const MOST_FOLDERS = 200;
/** Bytes of a `SKILL.md` that are read for its front matter. */
const FRONT_MATTER_BYTES = 16 * 1024;
const MOST_SKILL_NAME = 64;
const MOST_DESCRIPTION = 1_024;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const FILE = "SKILL.md";

type SkillPlace = Place & { isBundled?: boolean };

/** Places of skills in order of precedence. */
function placesOf({ cwd, home, trusted, config, bundled }: SkillSearch): SkillPlace[] {
  const configured = (config?.paths ?? []).map((path) => expandPath(path, home));
  const project = [".pagurus", ".agents", ".claude"].map((name) => ({
    folder: join(cwd, name, "skills"),
    within: cwd,
  }));
  const own = [join(home, "skills"), ...configured].map((folder) => ({ folder, within: folder }));
  const ours = bundled === undefined ? [] : [{ folder: bundled, within: bundled, isBundled: true }];
  return [...(trusted ? [...project, ...own] : [...own, ...project]), ...ours];
}

/** Reads the places again. Never throws: an unusable skill is returned with its reason. */
export function findSkills(search: SkillSearch): FoundSkills {
  const found: FoundSkills = { skills: [], usable: [], manual: [], onDemand: [], problems: [] };
  const files = new Set<string>();
  for (const place of placesOf(search)) {
    const listed = listPlace(place);
    if (!listed) continue;
    if ("problem" in listed) {
      found.problems.push(listed.problem);
      continue;
    }
    // A configured path may be one skill itself.
    if (listed.entries.some(({ name }) => name === FILE)) {
      add(found, search, files, readSkill(place.folder, listed.within));
      continue;
    }
    const folders = listed.entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    if (folders.length > MOST_FOLDERS)
      found.problems.push(
        `${place.folder} has ${folders.length} folders; only the first ${MOST_FOLDERS} by name are read.`,
      );
    for (const { name } of folders.slice(0, MOST_FOLDERS))
      add(found, search, files, readSkill(join(place.folder, name), listed.within), place.isBundled);
  }
  return found;
}

type ReadSkill = SkillFact & { real?: string; manual?: string; isHidden?: boolean };

function add(
  { skills, usable, manual: forPerson, onDemand }: FoundSkills,
  { config }: SkillSearch,
  files: Set<string>,
  read: ReadSkill | undefined,
  isBundled = false,
): void {
  if (!read) return;
  const { real, manual, isHidden = false, ...skill } = read;
  // The same file by another path, as when one place is a link to another.
  if (real !== undefined && files.has(real)) return;
  if (real !== undefined) files.add(real);
  skills.push(skill);
  if (skill.state === "broken" || real === undefined) return;
  const first = skills.find(({ name, state }) => name === skill.name && state !== "broken");
  if (first && first !== skill) {
    skill.state = "shadowed";
    skill.reason = `${first.path} has the same name and takes precedence.`;
  } else if (config?.entries?.[skill.name]?.enabled === false) {
    skill.state = "disabled";
    skill.reason = `skills.entries.${skill.name}.enabled is false.`;
  } else if (manual !== undefined && isHidden) {
    skill.state = "disabled";
    skill.reason = `Neither you nor the model may start it: user-invocable is false, and ${manual}.`;
  } else {
    const found = Object.assign(skill, { readable: readableFor(skill.path, real) });
    if (isBundled) {
      skill.state = "on-demand";
      skill.reason = "Only a turn whose message is about its subject names it to the model.";
      onDemand.push(found);
    } else if (manual === undefined) usable.push(found);
    else {
      skill.state = "manual";
      skill.reason = `Only you start it, with /${skill.name}: ${manual}.`;
      forPerson.push(found);
    }
  }
}

/** Makes a linked file readable without opening the folder that contains its target. */
function readableFor(path: string, real: string): string[] {
  if (basename(real) === FILE) return [dirname(real)];
  try {
    return [realpathSync.native(dirname(path)), real];
  } catch {
    // Deleted since it was read.
    return [real];
  }
}

function readSkill(folder: string, within: string): ReadSkill | undefined {
  const path = join(folder, FILE);
  const read = readWithin(path, within, FRONT_MATTER_BYTES);
  if (!read) return undefined;
  const called = flat(basename(folder));
  const broken = (why: string): SkillFact => ({
    name: called,
    description: "",
    path,
    state: "broken",
    reason: `${flat(path)} is not used: ${why}.`,
    notes: [],
  });
  if ("problem" in read) return broken(read.problem);
  if (!isPlain(path)) return broken("its path has invisible characters");
  const matter = readFrontMatter(read.text);
  if (!matter) return broken("it does not begin with front matter (`---`, name, description, `---`)");
  if ("problem" in matter) {
    const beyond = read.bytes > FRONT_MATTER_BYTES ? ` within its first ${FRONT_MATTER_BYTES} bytes` : "";
    return broken(matter.problem + beyond);
  }
  const name = matter.fields.get("name") ?? "";
  const description = flat(matter.fields.get("description") ?? "");
  if (name === "") return broken("its front matter has no name");
  if (!NAME.test(name) || name.length > MOST_SKILL_NAME)
    return broken(`its name is not up to ${MOST_SKILL_NAME} lower case letters, digits and single "-"`);
  if (description === "") return broken("its front matter has no description");
  if (description.length > MOST_DESCRIPTION)
    return broken(`its description has ${description.length} characters; the limit is ${MOST_DESCRIPTION}`);
  const { manual, isHidden, notes } = invocationOf(matter.keys, matter.fields, path, within);
  if (name !== basename(folder)) notes.unshift(`Its folder is called "${called}", which is not its name.`);
  return {
    name,
    description,
    path,
    state: "offered",
    notes,
    real: read.real,
    isHidden,
    ...defined({ manual }),
  };
}
