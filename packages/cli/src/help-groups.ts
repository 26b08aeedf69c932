/** Groups of `pagurus --help`, by what a person wants. */
import { Command } from "commander";

/** In the order of the help; each command is in one, which a test demands. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Start:": ["setup", "chat", "run", "wire", "install", "uninstall", "migrate"],
  "Every day:": ["sessions", "keep", "rescue", "checkpoints", "status", "compact", "open", "codex"],
  "Look inside:": ["context", "requests", "inspect", "lossless"],
  "Keep running:": ["serve", "token", "jobs", "channels", "acp", "store"],
  "Extend:": ["plugins", "plugin", "mcp", "skills", "commands", "runtimes", "engines"],
  "Maintain:": ["config", "doctor", "trust", "held", "completion", "help"],
};

const PLACES = new Map(
  Object.entries(GROUPS)
    .flatMap(([heading, names]) => names.map((name) => ({ heading, name })))
    .map(({ heading, name }, place) => [name, { heading, place }]),
);

/** Lists the commands of the program's help in their groups. */
export function groupCommands(program: Command): void {
  const placeOf = (item: { name(): string }): { heading?: string; place: number } =>
    (item instanceof Command && PLACES.get(item.name())) || { place: PLACES.size };
  program.configureHelp({
    groupItems: (_all, visible, groupOf) =>
      Map.groupBy(
        visible.toSorted((a, b) => placeOf(a).place - placeOf(b).place),
        (item) => placeOf(item).heading ?? groupOf(item),
      ),
  });
}
