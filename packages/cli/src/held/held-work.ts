import { strangeText } from "../strange-text.ts";
import { join } from "node:path";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { PagurusError } from "@pagurus/contract/errors";
import {
  dropHeld,
  heldRecord,
  heldRecords,
  takeHeld,
  type HeldRecord,
} from "@pagurus/host/tool/changes/held-area";
import { REASONS } from "@pagurus/host/tool/places/start-places";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED } from "../cli-failure.ts";

export interface HeldOptions {
  json?: boolean;
}

/** `pagurus held list`. */
export async function heldList(cli: Cli, options: HeldOptions): Promise<number> {
  const home = resolveHome(cli.env);
  const records = heldRecords(home);
  if (options.json === true) {
    printJson(cli, records);
    return EXIT_DONE;
  }
  if (records.length === 0) printLine(cli.stdout, "Nothing is held back.");
  for (const { id, at, root, command, places } of records) {
    printLine(cli.stdout, `${id}  ${at}  ${strangeText(root, 200)}  $ ${strangeText(command, 100)}`);
    for (const { shown, kind, file } of places)
      printLine(
        cli.stdout,
        `  ${strangeText(shown, 200)}: ${REASONS[kind]}${file === undefined ? "" : ` (${join(home, "held", id, file)})`}`,
      );
  }
  return EXIT_DONE;
}

function recordOf(home: string, id: string): HeldRecord {
  const record = heldRecord(home, id);
  if (record) return record;
  throw new PagurusError(
    "usage_invalid",
    `Nothing is held back as "${strangeText(id, 80)}"; \`pagurus held list\` shows what is.`,
  );
}

/** `pagurus held take <id>`. */
export async function heldTake(cli: Cli, id: string): Promise<number> {
  const home = resolveHome(cli.env);
  const record = recordOf(home, id);
  const problems = takeHeld(home, record);
  for (const problem of problems) printLine(cli.stderr, strangeText(problem, 500));
  const done = record.places.length - problems.length;
  printLine(
    cli.stdout,
    `Moved ${done} of ${record.places.length} places to ${strangeText(record.root, 200)}.`,
  );
  return problems.length === 0 ? EXIT_DONE : EXIT_FAILED;
}

/** `pagurus held drop <id>`. */
export async function heldDrop(cli: Cli, id: string): Promise<number> {
  const home = resolveHome(cli.env);
  dropHeld(home, recordOf(home, id));
  printLine(cli.stdout, "Deleted.");
  return EXIT_DONE;
}
