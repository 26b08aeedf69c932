/**
 * Skills of the package. No prompt lists them: only a turn whose input is about the subject of one names its file, so other turns pay
 * nothing for it. Source: agent runtimes, "This is the agent-facing decision tree".
 */
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { SkillFact } from "@pagurus/contract/host/skill";
import { documentPath } from "@pagurus/core/platform/document";

/** Absolute; next to the package's other documents. */
export const BUNDLED_SKILLS = documentPath("skills");

/** By the skill's name: words of an input that is about its subject. */
const SUBJECTS: Readonly<Record<string, RegExp>> = {
  "choose-runtime":
    /(?<![\p{L}\p{N}_/.-])(?:(?:acpx?|codex|claude[ -](?:code|cli)|gemini[ -]cli|qwen code|copilot cli|open ?code|cursor[ -](?:agent|cli)|(?:agent[ -]?)?runtimes?|agent harness(?:es)?)|(?-i:Cursor|Droid))(?![\p{L}\p{N}_/-]|\.\p{L})/iu,
};

/** A word that an input about one of them has. Most inputs have none, and V8 takes 2 ms to compile a pattern with Unicode classes. */
const MAY_BE_ABOUT = /acp|codex|claude|gemini|qwen|copilot|open ?code|cursor|droid|runtime|harness/i;

/** Whether an input is about the subject of a skill of the package. */
export function isAboutSkills(input: string): boolean {
  if (!MAY_BE_ABOUT.test(input)) return false;
  return Object.values(SUBJECTS).some((subject) => subject.test(input));
}

/** Additional context of a turn that names the skills its input is about; empty for most turns. */
export function skillHints(
  skills: readonly Pick<SkillFact, "name" | "path" | "description">[],
  input: string,
): AdditionalContext {
  const wanted = skills.filter(({ name }) => SUBJECTS[name]?.test(input));
  return Object.fromEntries(
    wanted.map(({ name, path, description }) => [
      `skill_${name.replaceAll("-", "_")}`,
      { value: `The skill ${name}: ${description} (${path})`, kind: "application" as const },
    ]),
  );
}
