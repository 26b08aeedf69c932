import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import { Option, type Command } from "commander";
import type { AcpOptions } from "./serve-acp.ts";
import type { Act, Cli } from "../cli.ts";
import { parseDollars } from "../run/turn-command.ts";
import { documentPath } from "@pagurus/core/platform/document";

const NOTES = `
For editors and other clients of the Agent Client Protocol, which start it and talk to it over standard input and output.
They open ordinary sessions: pagurus sessions list shows them, and each of those can be opened in the editor.
Messages for people go to standard error, the log is in ~/.pagurus/logs. Editors:
${documentPath("guides/editors.md")}

Examples of what to set in an editor:
  pagurus acp
  pagurus acp --session work --permission auto`;

/** `acp`. */
export function addAcpCommand(program: Command, cli: Cli, act: Act): void {
  program
    .command("acp")
    .description("be an agent for an editor, over the Agent Client Protocol")
    .option("-s, --session <key>", "conversation that the first new session of the editor continues")
    .option("-a, --agent <id>", "agent of the configuration (default: main)")
    .option("-m, --model <ref>", "model as provider/model; the editor can choose another")
    .option("--runtime <id>", "agent runtime; the editor can choose another")
    .option("--trust", "let files of each session's folder decide (pagurus trust)")
    .addOption(
      new Option(
        "-p, --permission <mode>",
        "what tools may do without asking; the editor can choose another",
      ).choices(PERMISSION_MODES),
    )
    .option(
      "--max-cost <dollars>",
      "maximum cost of a turn, US dollars; a request that would exceed it is not sent",
      parseDollars,
    )
    .addHelpText("after", NOTES)
    .action((options: AcpOptions) => act(async () => (await import("./serve-acp.ts")).acp(cli, options)));
}
