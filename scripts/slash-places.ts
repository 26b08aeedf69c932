/** Compares the slash commands with the answers of channels, with the guides and with the tests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commandsOf } from "../packages/host/src/command/host-command.ts";
import { filesUnder } from "./source-files.ts";

const ANSWERS = "packages/channels/src/chat-commands.ts";
/** Answered with the list itself, as is an unknown command. */
const ANSWERED_OTHERWISE = ["help"];

function textOf(root: string, files: readonly string[]): string {
  return files.map((file) => readFileSync(join(root, file), "utf8")).join("\n");
}

/** One sentence for each forgotten place. */
export function checkSlashPlaces(root: string): string[] {
  const answers = textOf(root, [ANSWERS]);
  const answered = [...answers.matchAll(/^ {4}case "(\w+)":/gm)].map(([, name = ""]) => name);
  const guides = textOf(root, ["README.md", ...filesUnder(root, "docs/guides", ".md")]);
  const tests = textOf(root, filesUnder(root, "test", ".ts"));
  const offered = commandsOf("channel").map(({ name }) => name);
  const names = (["terminal", "editor", "channel"] as const).flatMap((door) =>
    commandsOf(door).map(({ name }) => name),
  );
  return [
    ...offered
      .filter((name) => !answered.includes(name) && !ANSWERED_OTHERWISE.includes(name))
      .map((name) => `${ANSWERS} has no answer to /${name}, which channels offer`),
    ...answered
      .filter((name) => !offered.includes(name))
      .map((name) => `${ANSWERS} answers /${name}, which no list of slash commands offers to channels`),
    ...[...new Set(names)].flatMap((name) => [
      ...(new RegExp(`\`/${name}\\b`).test(guides) ? [] : [`no page of docs/guides names \`/${name}\``]),
      ...(new RegExp(`["'\`]/${name}\\b`).test(tests) ? [] : [`no test runs /${name}`]),
    ]),
  ];
}
