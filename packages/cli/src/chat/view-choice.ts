/** Chooses between the full terminal and plain lines. */
import { resolveHome } from "@pagurus/core/config/config-paths";
import { commandRows } from "@pagurus/host/command/host-command";
import type { Cli } from "../cli.ts";
import { turnSettings } from "../config/cli-settings.ts";
import { ChatScreen } from "./chat-screen.ts";
import type { ViewMaker, ViewSources } from "./chat-view.ts";

/** Whether a person asked for lines: `PAGURUS_PLAIN=1`; `PAGURUS_PLAIN=0` counts more than the setting. */
export function asksForLines(env: Cli["env"], setting: boolean): boolean {
  const plain = env["PAGURUS_PLAIN"] ?? "";
  return plain === "" ? setting : plain !== "0";
}

/** A person sits at a terminal that can move its cursor, and did not ask for lines. `plain`: the setting of the configuration. */
export function isFullTerminal({ stdin, stdout, env }: Cli, plain = false): boolean {
  const isTerminal = stdin === process.stdin && stdin.isTTY === true && stdout.isTTY === true;
  return isTerminal && env["TERM"] !== "dumb" && !asksForLines(env, plain);
}

/** `plain`: lines also on a full terminal. */
export async function viewFor(
  cli: Cli,
  { cwd, plain = false }: { cwd: string; plain?: boolean | undefined },
): Promise<ViewMaker> {
  const { notifyCompactions, plain: setting } = turnSettings(cli);
  const rows = async ({ pagurus, where }: ViewSources): Promise<Awaited<ReturnType<typeof commandRows>>> => {
    const host = pagurus();
    return host ? commandRows({ pagurus: host, ...where() }) : [];
  };
  if (plain || !isFullTerminal(cli, setting)) {
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
