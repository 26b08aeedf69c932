import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";

const NOTES = `
Channels are services where people talk to an agent while pagurus serve runs. They are in the configuration, under channels.

Examples:
  $ pagurus config set channels.home '{"kind": "xmpp", "jid": "crab@example.org", "password": "\${XMPP_PASSWORD}"}'
  $ pagurus channels list
  $ pagurus channels approve K7WQ2MPA`;

/** `channels`. */
export function addChannelCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./channels-work.ts");
  const channels = program
    .command("channels")
    .description("services where people talk to an agent, and who may")
    .addHelpText("after", NOTES);
  channels
    .command("list")
    .description("channels, what each promises, and who may speak or waits for it")
    .option("--json", "print JSON")
    .action((options: { json?: boolean }) => act(async () => (await load()).channelList(cli, options)));
  channels
    .command("approve <code>")
    .description("let a person speak who got this code")
    .action((code: string) => act(async () => (await load()).channelApprove(cli, code)));
  channels
    .command("remove <channel> <address>")
    .description("let a person no longer speak")
    .action((channel: string, address: string) =>
      act(async () => (await load()).channelRemove(cli, channel, address)),
    );
}
