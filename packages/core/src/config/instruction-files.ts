/** Files in which programs keep instructions for agents, by folder: which are read here, in which order, and why the others are not. */

export interface InstructionFile {
  /** Programs that have it. */
  of: string;
  /** Path in a folder; a folder of files ends in `/`. */
  path: string;
}

/** Of each folder the first group with text counts, all of its files. */
export const INSTRUCTION_GROUPS: readonly (readonly InstructionFile[])[] = [
  [{ of: "Codex", path: "AGENTS.override.md" }],
  [{ of: "Codex, opencode, Cursor, Copilot and others", path: "AGENTS.md" }],
  [
    { of: "Claude Code", path: "CLAUDE.md" },
    { of: "Claude Code", path: ".claude/CLAUDE.md" },
  ],
  [{ of: "Gemini CLI", path: "GEMINI.md" }],
  [{ of: "Copilot", path: ".github/copilot-instructions.md" }],
];

/** Read beside the group. */
export const LOCAL_INSTRUCTIONS: InstructionFile = { of: "Claude Code", path: "CLAUDE.local.md" };
/** Its files without `paths` in their front matter are read beside the group. */
export const RULES_FOLDER: InstructionFile = { of: "Claude Code", path: ".claude/rules/" };

/** Not read; named by a notice in a folder that has no other instructions. */
export const FOREIGN_INSTRUCTIONS: readonly InstructionFile[] = [
  { of: "Cline", path: ".clinerules" },
  { of: "Roo Code", path: ".roo/rules/" },
  { of: "Cursor", path: ".cursor/rules/" },
  { of: "Cursor", path: ".cursorrules" },
  { of: "Windsurf", path: ".windsurfrules" },
  { of: "Copilot", path: ".github/instructions/" },
];
