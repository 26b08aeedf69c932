import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import { CWD_OPTION, JSON_OPTION } from "../shared-options.ts";
import type { CheckpointOptions, RestoreCommandOptions, TakeCommandOptions } from "./checkpoints-work.ts";

const CHECKPOINTS = `
A checkpoint has the files of a folder as they were. Dependencies, caches, git's own folder and files over 16 MB are left out.
A restore first makes a checkpoint of the folder as it is, so that it can be taken back. In trusted folders turns make checkpoints by
themselves; for another agent take one before its turn and, with --of-turn, one after, or let its hook do it.

Examples:
  $ pagurus checkpoints take
  $ pagurus checkpoints take --of-turn
  $ pagurus checkpoints list
  $ pagurus checkpoints diff 12
  $ pagurus checkpoints restore 12 --dry-run
  $ pagurus checkpoints restore 12`;

const ID = "number, as `checkpoints list` shows it";

/** `checkpoints …`. */
export function addCheckpointCommands(program: Command, cli: Cli, act: Act): void {
  const checkpoints = program
    .command("checkpoints")
    .description("list, compare and restore the files of a folder as they were")
    .addHelpText("after", CHECKPOINTS);
  const load = () => import("./checkpoints-work.ts");
  const declare = (name: string, description: string): Command =>
    checkpoints
      .command(name)
      .description(description)
      .option(...CWD_OPTION)
      .option(...JSON_OPTION);
  declare("list", "checkpoints of the folder, newest first").action((options: CheckpointOptions) =>
    act(async () => (await load()).checkpointsList(cli, options)),
  );
  declare("take", "keep the folder as it is now")
    .option("--of-turn", "what changed since the last checkpoint is an agent's work, not yours")
    .action((options: TakeCommandOptions) => act(async () => (await load()).checkpointsTake(cli, options)));
  declare("show", "what changed between a checkpoint and the one before it, and what it left out")
    .argument("<id>", ID)
    .action((id: string, options: CheckpointOptions) =>
      act(async () => (await load()).checkpointsShow(cli, id, options)),
    );
  declare("diff", "changed lines from a checkpoint to another one, or to the folder as it is")
    .argument("<id>", ID)
    .argument("[other]", "number of the other checkpoint")
    .action((id: string, other: string | undefined, options: CheckpointOptions) =>
      act(async () => (await load()).checkpointsDiff(cli, [id, other], options)),
    );
  declare("restore", "give the folder the files of a checkpoint; what you changed since is kept")
    .argument("<id>", ID)
    .option("--dry-run", "only say what would change")
    .option("--overwrite", "restore over what you changed since, too")
    .action((id: string, options: RestoreCommandOptions) =>
      act(async () => (await load()).checkpointsRestore(cli, id, options)),
    );
}
