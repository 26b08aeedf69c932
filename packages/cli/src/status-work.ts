import { resolveHome } from "@pagurus/core/config/config-paths";
import { compactionText } from "@pagurus/host/command/session-commands";
import { statusConcerns, statusLabel, statusRows } from "@pagurus/host/command/status-text";
import {
  type Cli,
  printJson,
  printLine,
  sessionOf,
  type SessionOptions,
  styleFor,
  withPagurus,
} from "./cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED } from "./cli-failure.ts";
import { workspace } from "./cli-workspace.ts";
import { openDoorRows, openDoors } from "./open-doors.ts";
import { defined } from "@pagurus/core/data/defined";

export interface StatusOptions extends SessionOptions {
  cwd?: string;
  json?: boolean;
}
export type CompactOptions = StatusOptions;

/** `pagurus status`. */
export function status(cli: Cli, options: StatusOptions): Promise<number> {
  return withPagurus(
    cli,
    async (pagurus) => {
      const report = await pagurus.status({
        ...sessionOf(options),
        cwd: workspace(cli, options.cwd, options.agent),
      });
      // A server elsewhere has another home.
      const doors = report.home === resolveHome(cli.env) ? await openDoors(cli) : undefined;
      if (options.json === true) {
        printJson(cli, doors ? { ...report, open: doors } : report);
        return EXIT_DONE;
      }
      const style = styleFor(cli.stdout, cli.env);
      for (const row of [...statusRows(report), ...(doors ? openDoorRows(doors) : [])]) {
        printLine(cli.stdout, `${style("bold", statusLabel(row))}${row[1]}`);
      }
      for (const concern of statusConcerns(report)) printLine(cli.stdout, style("yellow", concern));
      return EXIT_DONE;
    },
    { onlyLook: true },
  );
}

/** `pagurus compact`. */
export async function compact(cli: Cli, focus: string | undefined, options: CompactOptions): Promise<number> {
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => {
    if (controller.signal.aborted) cli.exit(EXIT_INTERRUPTED);
    controller.abort();
  });
  try {
    return await withPagurus(cli, async (pagurus) => {
      // It may take a minute; a script only needs the result.
      if (cli.stderr.isTTY === true)
        printLine(cli.stderr, styleFor(cli.stderr, cli.env)("dim", "compacting…"));
      const result = await pagurus.compact({
        ...sessionOf(options),
        cwd: workspace(cli, options.cwd, options.agent),
        signal: controller.signal,
        ...defined({ focus }),
      });
      if (options.json === true) printJson(cli, result);
      else printLine(cli.stdout, compactionText(result));
      return result.compacted ? EXIT_DONE : EXIT_FAILED;
    });
  } finally {
    stop();
  }
}
