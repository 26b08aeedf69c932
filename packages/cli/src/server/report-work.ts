/** `pagurus inspect --export`: a session, or one request of it, as an HTML file. */
import { bytes } from "@pagurus/host/command/layout";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { reportFile } from "@pagurus/server/report-file";
import { printLine, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { assertSession } from "./inspected-session.ts";
import { writeNewFile } from "../new-file.ts";

export interface ReportOptions {
  session?: string;
  agent: string;
  /** Id of a request, or the number of its capture. */
  request?: string;
  /** With commas between. */
  redact?: string;
}

/** Throws `usage_invalid`, `session_not_found`, `entry_not_found`, `store_read_failed`, `store_write_failed`. */
export function writeReport(
  cli: Cli,
  file: string,
  { session: sessionKey, agent: agentId, request, redact = "" }: ReportOptions,
): Promise<number> {
  if (sessionKey === undefined)
    throw usageError("An export needs --session <key>; pagurus sessions list has the keys.");
  const home = resolveHome(cli.env);
  return withPagurus(
    cli,
    async (pagurus) => {
      const store = pagurus.sessions(agentId);
      assertSession(store, sessionKey);
      const chunks = await reportFile({ home, env: cli.env, store, agentId, sessionKey, request, redact });
      const size = await writeNewFile(cli.cwd, file, chunks);
      printLine(cli.stderr, `Wrote ${bytes(size)} to ${file}.`);
      return EXIT_DONE;
    },
    { onlyLook: true },
  );
}
