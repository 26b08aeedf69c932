import { AGENT_OPTION, CWD_OPTION, JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { SkillOptions } from "./skills-work.ts";
import { documentPath } from "@pagurus/core/platform/document";

const SKILLS = `
A skill is a folder with a SKILL.md, which the model reads when a task needs it. Search paths:
${documentPath("guides/skills.md")}

Examples:
  $ pagurus skills list
  $ pagurus config set skills.entries.pdf-forms.enabled false`;

const COMMANDS = `
A command is a Markdown file: /name in a chat, or pagurus run "/name arguments", sends its text.

Examples:
  $ pagurus commands list
  $ pagurus run "/review packages/cli/src"`;

/** `skills …` and `commands …`. */
export function addSkillCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./skills-work.ts");
  program
    .command("skills")
    .description("list the skills offered to the agent, and why others are not")
    .addHelpText("after", SKILLS)
    .command("list")
    .description("every skill found, in order of precedence")
    .option(...AGENT_OPTION)
    .option(...CWD_OPTION)
    .option(...JSON_OPTION)
    .action((options: SkillOptions) => act(async () => (await load()).skillsList(cli, options)));
  program
    .command("commands")
    .description("list the custom slash commands of this folder and of the user")
    .addHelpText("after", COMMANDS)
    .command("list")
    .description("every command file found, in order of precedence")
    .option(...AGENT_OPTION)
    .option(...CWD_OPTION)
    .option(...JSON_OPTION)
    .action((options: SkillOptions) => act(async () => (await load()).commandsList(cli, options)));
}
