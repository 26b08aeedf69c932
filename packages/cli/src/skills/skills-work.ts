import { strangeText } from "../strange-text.ts";
import { count } from "@pagurus/core/data/plain-numbers";
import { table } from "@pagurus/host/command/layout";
import { customReport } from "@pagurus/host/command/host-command";
import { type Cli, printJson, printLine, withPagurus } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { workspace } from "../cli-workspace.ts";
import { documentPath } from "@pagurus/core/platform/document";

export interface SkillOptions {
  agent?: string;
  cwd?: string;
  json?: boolean;
}

/** Notes below the table: problems of folders, why something is not offered, warnings. */
interface Notes {
  problems: readonly string[];
  items: readonly { name: string; state: string; reason?: string; notes: readonly string[] }[];
}

function placeOf(cli: Cli, options: SkillOptions): { agentId: string; cwd: string } {
  return { agentId: options.agent ?? "main", cwd: workspace(cli, options.cwd, options.agent) };
}

function printNotes(cli: Cli, { problems, items }: Notes): void {
  for (const { name, state, reason, notes } of items) {
    const mark = state === "broken" ? "✗" : "·";
    for (const text of [...(reason === undefined ? [] : [reason]), ...notes])
      printLine(cli.stdout, `${mark} ${strangeText(name, 80)}: ${strangeText(text, 500)}`);
  }
  for (const problem of problems) printLine(cli.stdout, `✗ ${strangeText(problem, 500)}`);
}

/** `pagurus skills list`. */
export function skillsList(cli: Cli, options: SkillOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const report = await pagurus.skills(placeOf(cli, options));
    if (options.json === true) {
      printJson(cli, report);
      return EXIT_DONE;
    }
    const { skills, problems, tokens } = report;
    if (skills.length === 0)
      printLine(cli.stdout, `No skills; for the folders, see ${documentPath("guides/skills.md")}`);
    else {
      const rows = skills.map(({ name, state, description, path }) => [
        strangeText(name, 64),
        state,
        strangeText(description, 60),
        strangeText(path, 300),
      ]);
      for (const line of table(["name", "state", "description", "file"], rows)) printLine(cli.stdout, line);
      printLine(cli.stdout, `The list in a turn's instructions takes ${count(tokens)} tokens, estimated.`);
    }
    printNotes(cli, { problems, items: skills });
    return EXIT_DONE;
  });
}

/** `pagurus commands list`. */
export function commandsList(cli: Cli, options: SkillOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const report = await customReport({ pagurus, ...placeOf(cli, options) });
    if (options.json === true) {
      printJson(cli, report);
      return EXIT_DONE;
    }
    const { commands, problems } = report;
    if (commands.length === 0)
      printLine(cli.stdout, `No custom commands; for the folders, see ${documentPath("guides/skills.md")}`);
    else {
      const rows = commands.map(({ name, argumentHint, state, description, path }) => [
        strangeText(`/${name} ${argumentHint}`.trim(), 80),
        state,
        strangeText(description, 60),
        strangeText(path, 300),
      ]);
      for (const line of table(["command", "state", "description", "file"], rows))
        printLine(cli.stdout, line);
    }
    printNotes(cli, { problems, items: commands });
    return EXIT_DONE;
  });
}
