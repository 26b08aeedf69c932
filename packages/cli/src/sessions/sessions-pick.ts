import { createInterface } from "node:readline";
import { once } from "node:events";
import { type Cli, printLine, styleFor, withPagurus } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";
import { listWidth, sessionTable } from "./session-rows.ts";
import { defined } from "@pagurus/core/data/defined";

export interface PickOptions {
  agent?: string;
  all?: boolean;
}

/** Number of conversations offered at a time. */
const MOST_OFFERED = 30;

/**
 * `sessions pick`: a numbered list on standard error. On a terminal the chosen conversation opens as a chat; where standard
 * output is redirected its key is printed there.
 */
export async function pickSession(cli: Cli, options: PickOptions): Promise<number> {
  if (cli.stdin.isTTY !== true)
    throw usageError("sessions pick asks at a terminal; pagurus sessions list --json is for scripts.");
  const key = await withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions(options.agent);
    const agentId = options.agent ?? "main";
    const folder = store.find(pagurus.sessionKey({ agentId, cwd: cli.cwd }))?.folder;
    const here = options.all === true || folder === undefined ? [] : store.inFolder(folder);
    const records = (here.length > 0 ? here : store.list().filter(({ current }) => current))
      .filter(({ entryCount }) => entryCount > 0)
      .slice(0, MOST_OFFERED);
    if (records.length === 0) {
      printLine(cli.stderr, "No sessions yet; pagurus chat starts one.");
      return undefined;
    }
    const style = styleFor(cli.stderr, cli.env);
    const [head = "", ...rows] = sessionTable(records, {
      width: listWidth(cli.stderr),
      now: Date.now(),
      numbered: true,
    });
    printLine(cli.stderr, style("dim", head));
    for (const row of rows) printLine(cli.stderr, row);
    const answer = await asked(cli, "Number of the conversation (Enter: 1): ");
    return records[answer === "" ? 0 : Number(answer) - 1]?.sessionKey;
  });
  if (key === undefined) return EXIT_FAILED;
  if (cli.stdout.isTTY !== true) {
    printLine(cli.stdout, key);
    return EXIT_DONE;
  }
  const { agent } = options;
  const { chat } = await import("../chat/chat-loop.ts");
  return chat(cli, { session: key, ...defined({ agent }) });
}

async function asked(cli: Cli, question: string): Promise<string> {
  const lines = createInterface({ input: cli.stdin });
  try {
    cli.stderr.write(question);
    // A closed terminal selects nothing.
    const [line] = (await Promise.race([once(lines, "line"), once(lines, "close")])) as [string?];
    return line === undefined ? "0" : line.trim();
  } finally {
    lines.close();
  }
}
