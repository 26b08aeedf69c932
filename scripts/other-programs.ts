/**
 * The tables of docs/guides/other-programs.md: files and keys of other programs, and what they mean here. Instruction files and keys of
 * skills come from the code that reads them. `node scripts/other-programs.ts --check | --write`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  FOREIGN_INSTRUCTIONS,
  INSTRUCTION_GROUPS,
  LOCAL_INSTRUCTIONS,
  RULES_FOLDER,
} from "../packages/core/src/config/instruction-files.ts";
import { UNUSED_SKILL_KEYS } from "../packages/host/src/skill/invocation.ts";
import { ROOT } from "./command.ts";

const FILE = "docs/guides/other-programs.md";

/** What it is, whose, and what it means here; `no` at the beginning: not read. */
type Row = readonly [what: string, of: string, here: string];

const IMPORTS: Row = [
  "`@path` in an instruction file",
  "Claude Code, Gemini CLI",
  "read: adds that file, five levels deep, inside the repository (else the folder) alone; not in code spans and blocks",
];

function instructionRows(): Row[] {
  const groups = INSTRUCTION_GROUPS.flatMap((group, at) =>
    group.map(({ of, path }): Row => [
      `\`${path}\``,
      of,
      at === 0
        ? "read, in place of the files below"
        : "read, if the folder has none of the files above with text",
    ]),
  );
  return [
    ...groups,
    [`\`${LOCAL_INSTRUCTIONS.path}\``, LOCAL_INSTRUCTIONS.of, "read, beside the others"],
    [
      `\`${RULES_FOLDER.path}*.md\``,
      RULES_FOLDER.of,
      "read, beside the others; a rule with `paths` joins the result of the first call of the host's tools `read`, `write` and `edit` in a turn whose file it matches, again after a compaction, and costs nothing before; patterns begin in the folder of `.claude`, a folder's name is for the files in it, and a notice names a rule whose `paths` cannot be read, which then counts for all files. Runtimes with file tools of their own (Codex, ACP agents) do not get it from here",
    ],
    IMPORTS,
    ...FOREIGN_INSTRUCTIONS.map(({ path, of }): Row => [
      `\`${path}\``,
      of,
      "not read; a notice names it in a folder without other instructions. Put its rules into `AGENTS.md`",
    ]),
    [
      "`~/.claude/CLAUDE.md`, `~/.codex/AGENTS.md`, `~/.gemini/GEMINI.md`",
      "each",
      "not read: they are yours for that program",
    ],
  ];
}

const SKILL_ROWS: readonly Row[] = [
  [
    "`.agents/skills`, `.claude/skills`",
    "Codex, Claude Code and others",
    "read, with `.pagurus/skills` first",
  ],
  ["`name`, `description`", "all", "read"],
  [
    "`disable-model-invocation: true`",
    "Claude Code, Copilot",
    "read: not in the model's list; you start it as `/name`",
  ],
  ["`policy.allow_implicit_invocation: false` in `agents/openai.yaml`", "Codex", "the same"],
  [
    "`user-invocable: false`",
    "Claude Code",
    "read: no command either if the model may not start it, as no other skill is one",
  ],
  ...Object.entries(UNUSED_SKILL_KEYS).map(([key, why]): Row => [
    `\`${key}\``,
    "Claude Code",
    `not used, and named by \`pagurus skills list\`: ${why}`,
  ]),
  [
    "`.claude/commands/*.md`",
    "Claude Code",
    "read as [commands](skills.md#custom-commands), with `.pagurus/commands`",
  ],
  [
    "`.claude/agents`, `.opencode/agent`, `.gemini/commands`, `.github/prompts`",
    "each",
    "not read: other formats",
  ],
];

const SERVER_ROWS: readonly Row[] = [
  [
    "`mcpServers` of `.mcp.json`, `.cursor/mcp.json`, `.vscode/mcp.json`, `.gemini/settings.json`",
    "each",
    "not read: no file of a folder starts a program. Copy its entries into `mcp.servers`; `mcpServers` there is refused by name",
  ],
  [
    "`command`, `args`, `env`, `cwd`, `url`, `headers`, `type`",
    "all",
    "the same, with `${NAME}` and `${NAME:-default}`",
  ],
  ["`disabled: true`", "Cline, Roo Code, Windsurf, Copilot", "the same: not started, no tools"],
  ["`enabled: false`", "Codex, opencode", "the same"],
  ["`includeTools`, `enabled_tools`", "Gemini CLI, Codex", "the same as `tools.allow`"],
  [
    "`excludeTools`, `disabled_tools`, `disabledTools`",
    "Gemini CLI, Codex, Roo Code",
    "added to `tools.deny`",
  ],
  [
    "`oauth.clientId`, `oauth.clientSecret`, `oauth.callbackPort`, `oauth: false`",
    "Claude Code, opencode",
    "the same",
  ],
  ["`timeout` in ms", "Claude Code, Gemini CLI", "the same as `timeoutMs`"],
  [
    "`alwaysAllow`, `autoApprove`, `trust`",
    "Cline, Roo Code, Gemini CLI",
    'not used, and named: `permission: "allow"` or a rule skips the question',
  ],
  ["`httpUrl`, `serverUrl`", "Gemini CLI, Windsurf", "refused, since the entry has no `url`"],
  ['`command` as a list, `environment`, `type: "local"`', "opencode", "refused, with the key"],
];

const SETTING_ROWS: readonly Row[] = [
  [
    "`.claude/settings.json`, `.claude/settings.local.json`",
    "Claude Code",
    "not read: permissions, hooks and the environment are yours to set",
  ],
  [
    "`.codex/config.toml`, `.codex/hooks.json`",
    "Codex",
    "not read by our loop; Codex itself reads them as [trust](trust.md) allows",
  ],
  [
    "`opencode.json`, `.opencode/`",
    "opencode",
    "not read; put files of its `instructions` into `AGENTS.md` as imports",
  ],
  ["`contextFileName` of `.gemini/settings.json`", "Gemini CLI", "not read: `GEMINI.md` alone is"],
  [
    "`.aiignore`, `.geminiignore`, `.cursorignore`, `.clineignore`",
    "each",
    "not read: a `deny` rule of the permissions closes a file",
  ],
];

const TABLES: Readonly<Record<string, () => readonly Row[]>> = {
  instructions: instructionRows,
  skills: () => SKILL_ROWS,
  servers: () => SERVER_ROWS,
  settings: () => SETTING_ROWS,
};

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return ["| there | of | here |", "| --- | --- | --- |", ...lines].join("\n");
}

/** The page with the tables of the declarations. Throws for a missing mark. */
export function otherProgramsPage(page: string): string {
  let made = page;
  for (const [name, rows] of Object.entries(TABLES)) {
    const [from, to] = [`<!-- table: ${name} -->`, "<!-- /table -->"];
    const start = made.indexOf(from) + from.length;
    const end = made.indexOf(to, start);
    if (start < from.length || end < 0) throw new RangeError(`${FILE} has no mark ${from}.`);
    made = `${made.slice(0, start)}\n\n${tableOf(rows())}\n\n${made.slice(end)}`;
  }
  return made;
}

/** Without the padding of the formatter. */
function bare(page: string): string {
  return page.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
}

export function isCurrent(page: string): boolean {
  return bare(page) === bare(otherProgramsPage(page));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, write: { type: "boolean" } } });
  const file = join(ROOT, FILE);
  const page = readFileSync(file, "utf8");
  if (values.write === true) writeFileSync(file, otherProgramsPage(page));
  else if (!isCurrent(page)) {
    console.error(`${FILE} differs from the code; run node scripts/other-programs.ts --write and oxfmt.`);
    process.exitCode = 1;
  }
}
