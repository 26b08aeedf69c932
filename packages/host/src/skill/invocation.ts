/** Who starts a skill, and which keys of other programs it has: from its front matter, and from Codex's `agents/openai.yaml`. */
import { dirname, join } from "node:path";
import { readWithin } from "./skill-places.ts";

/** Keys of Claude Code without a meaning here, with the reason. */
export const UNUSED_SKILL_KEYS: Readonly<Record<string, string>> = {
  "allowed-tools": "the permission rules decide",
  "disallowed-tools": "a deny rule of the permissions does this",
  model: "the turn's model is used",
  effort: "the turn's reasoning effort is used",
  context: "the model reads it in the conversation itself",
  agent: "the model reads it in the conversation itself",
  hooks: "hooks are plugins here",
  shell: "no command in it is run by the host",
  paths: "it is listed for every task",
};

const OPENAI_BYTES = 16 * 1024;

function isTrue(text: string | undefined): boolean {
  return text !== undefined && /^(?:true|yes|on|1)$/i.test(text.trim());
}

export interface Invocation {
  /** Why only the person starts it, the end of a sentence; undefined if the model may, too. */
  manual: string | undefined;
  /** Whether it is no command of the person either. */
  isHidden: boolean;
  /** Sentences about keys that have no effect. */
  notes: string[];
}

/** `within` bounds the places of links. */
export function invocationOf(
  keys: ReadonlySet<string>,
  fields: ReadonlyMap<string, string>,
  path: string,
  within: string,
): Invocation {
  const notes = Object.entries(UNUSED_SKILL_KEYS)
    .filter(([key]) => keys.has(key))
    .map(([key, why]) => `Its ${key} has no effect: ${why}.`);
  const isHidden = /^(?:false|no|off|0)$/i.test(fields.get("user-invocable")?.trim() ?? "");
  if (isTrue(fields.get("disable-model-invocation")))
    return { manual: "its front matter has disable-model-invocation: true", isHidden, notes };
  const file = join(dirname(path), "agents", "openai.yaml");
  const codex = readWithin(file, within, OPENAI_BYTES);
  const isOff =
    codex !== undefined &&
    "text" in codex &&
    /^\s+allow_implicit_invocation:\s*false\s*(?:#.*)?$/m.test(codex.text);
  const manual = isOff ? "its agents/openai.yaml has allow_implicit_invocation: false" : undefined;
  return { manual, isHidden, notes };
}
