/** Chooses between the full terminal and plain lines. */
import { resolveHome } from "@pagurus/core/config/config-paths";
import { commandRows } from "@pagurus/host/command/host-command";
import type { Cli } from "../cli.ts";
import { turnSettings } from "../config/cli-settings.ts";
import { ChatScreen } from "./chat-screen.ts";
import type { ViewMaker, ViewSources } from "./chat-view.ts";

/** A person sits at a terminal that can move its cursor, and did not ask for lines with `PAGURUS_PLAIN=1`. */
export function isFullTerminal({ stdin, stdout, env }: Cli): boolean {
  const isTerminal = stdin === process.stdin && stdin.isTTY === true && stdout.isTTY === true;
  const plain = env["PAGURUS_PLAIN"] ?? "";
  return isTerminal && env["TERM"] !== "dumb" && (plain === "" || plain === "0");
}

/** `plain`: lines also on a full terminal. */
export async function viewFor(
  cli: Cli,
  { cwd, plain = false }: { cwd: string; plain?: boolean | undefined },
): Promise<ViewMaker> {
  const { notifyCompactions } = turnSettings(cli);
  const rows = async ({ pagurus, where }: ViewSources): Promise<Awaited<ReturnType<typeof commandRows>>> => {
    const host = pagurus();
    return host ? commandRows({ pagurus: host, ...where() }) : [];
  };
  if (plain || !isFullTerminal(cli)) {
    return (events, sources) =>
      new ChatScreen(cli, events, {
        notifyCompactions,
        outputs: sources.outputs,
        commands: async () => (await rows(sources)).map(({ name }) => `/${name}`),
      });
  }
  const { openTerminal } = await import("../terminal/open-terminal.ts");
  return openTerminal(cli, { cwd, home: resolveHome(cli.env), notifyCompactions, rows });
}
