import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";

const NOTES = `
Channels are services where people talk to an agent while pagurus serve runs. They are in the configuration, under channels.

Examples:
  $ pagurus channels add home --kind xmpp --set jid=crab@example.org 'password=\${XMPP_PASSWORD}'
  $ pagurus channels test home
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
    .command("add <name>")
    .description("write a channel into the configuration, with a question for each key that --set leaves out")
    .option("--kind <kind>", "kind of service")
    .option("--set <key=value...>", "a key of the channel, such as jid=crab@example.org")
    .action((name: string, options: { kind?: string; set?: string[] }) =>
      act(async () => (await import("./channels-add.ts")).channelAdd(cli, name, options)),
    );
  channels
    .command("test [channel]")
    .description("connect, show what the channel promises, and close; no message is taken")
    .option(...JSON_OPTION)
    .action((channel: string | undefined, options: { json?: boolean }) =>
      act(async () => (await import("./channels-test.ts")).channelTest(cli, channel, options)),
    );
  channels
    .command("logs [channel]")
    .description("what happened to channels: connected, cut, missed, refused, lost, sent, held; no text")
    .option("-n, --count <count>", "events to show", "50")
    .option(...JSON_OPTION)
    .action((channel: string | undefined, options: { count: string; json?: boolean }) =>
      act(async () => (await load()).channelLogs(cli, channel, options)),
    );
  channels
    .command("list")
    .description("channels, what each promises, and who may speak or waits for it")
    .option(...JSON_OPTION)
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
