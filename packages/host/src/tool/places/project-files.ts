/** Project files of which only some parts make a program start another one: scripts, programs and plugins. */
import { parseJson5 } from "@pagurus/core/config/json5";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { COMPILER_DATA, COMPOSER_PARTS, PACKAGE_PARTS } from "./start-names.ts";

const COMPILER_SETTINGS = /^(?:ts|js)config(?:[.-][\w.-]+)?\.json$/;
/** A file of settings of the same project, which is such a place itself. */
const OWN_SETTINGS = /^\.\.?\/(?!.*node_modules)(?:[\w.-]+\/)*(?:ts|js)config(?:[.-][\w.-]+)?(?:\.json)?$/;

type Parts = Readonly<Record<string, unknown>>;

/** `name`: in lower case. */
export function isProjectFile(name: string): boolean {
  // Called for each name of a workspace.
  if (!name.endsWith(".json")) return false;
  return name === "package.json" || name === "composer.json" || COMPILER_SETTINGS.test(name);
}

/** What of compiler settings may load code. Members that only describe are known; any other one may. */
function compilerParts({ compilerOptions, extends: base, ...rest }: Parts): unknown[] {
  const { plugins = null } = recordOf(compilerOptions);
  const others = Object.entries(rest).filter(([name]) => !COMPILER_DATA.has(name));
  const bases = [base ?? []].flat().filter((each) => typeof each !== "string" || !OWN_SETTINGS.test(each));
  return [plugins, bases, others.toSorted(([one], [other]) => (one < other ? -1 : 1))];
}

function partsOf(name: string, text: string): string {
  const parsed = parseJson5(text, name);
  if (!isRecord(parsed)) return "";
  if (COMPILER_SETTINGS.test(name)) return JSON.stringify(compilerParts(parsed));
  const parts = name === "composer.json" ? COMPOSER_PARTS : PACKAGE_PARTS;
  return JSON.stringify(parts.map((part) => parsed[part] ?? null));
}

/** Whether two texts of a project file start the same programs. `before` is undefined for a new file. */
export function sameProjectFile(name: string, before: string | undefined, after: string): boolean {
  const plain = name.toLowerCase();
  try {
    return partsOf(plain, before ?? "{}") === partsOf(plain, after);
  } catch {
    // Text that is no JSON may be read in some other way.
    return false;
  }
}
