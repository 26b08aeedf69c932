import { JSON_OPTION } from "../shared-options.ts";
import { InvalidArgumentError, Option, type Command } from "commander";
import { SCOPES } from "@pagurus/contract/host/authority";
import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import type { Act, Cli } from "../cli.ts";
import { usageError } from "../cli-failure.ts";
import type { InspectCommandOptions } from "./inspect-work.ts";
import type { ReportOptions } from "./report-work.ts";
import type { ServeCommandOptions } from "./serve-work.ts";
import type { TokenCreateOptions } from "./token-work.ts";

const NOTES = `
Keeps a host open: turns are posted over HTTP, wait in an inbox that survives a crash, and are followed as events. One
server a home, on this machine only unless --host says otherwise. The API is described at /api/v1/openapi.json.

Examples:
  $ pagurus serve
  $ pagurus serve status
  $ pagurus serve --port 0
  $ pagurus token create --name phone --scope chat
  $ pagurus serve stop`;

interface ServeFlags extends ServeCommandOptions {
  install?: boolean;
  uninstall?: boolean;
}

interface InspectFlags extends InspectCommandOptions, ReportOptions {
  agent: string;
  export?: string;
}

function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError("It must be a port from 0 to 65535.");
}

/** `serve`, `token`, `inspect`, `open`. */
export function addServerCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./serve-work.ts");
  const serve = program
    .command("serve")
    .description("keep a host open, with an API for other programs")
    .option("--port <n>", "port (default: server.port, else 7117)", port)
    .option("--host <address>", "address to listen on (default: server.host, else 127.0.0.1)")
    .option("--install", "write a user service that runs it (systemd, launchd), and print how to start it")
    .addOption(new Option("--uninstall", "remove that service's file").conflicts("install"))
    .addHelpText("after", NOTES)
    .action(({ install, uninstall, ...options }: ServeFlags) =>
      act(async () => {
        if (install !== true && uninstall !== true) return (await load()).serve(cli, options);
        const service = await import("./service-work.ts");
        return install === true ? service.installService(cli, options) : service.uninstallService(cli);
      }),
    );
  serve
    .command("status")
    .description("whether a server of this home runs, and what it does")
    .option(...JSON_OPTION)
    .action((options: { json?: boolean }) => act(async () => (await load()).serveStatus(cli, options)));
  serve
    .command("stop")
    .description("end the server: what runs gets a moment, the rest stays in the inbox")
    .action(() => act(async () => (await load()).serveStop(cli)));
  serve
    .command("restart")
    .description(
      "start the server again, with the configuration and the plugins of now; what waits stays in the inbox",
    )
    .action(() => act(async () => (await load()).serveRestart(cli)));
  addTokenCommands(program, cli, act);
  program
    .command("inspect")
    .description("see in your browser what each model request held, and what it left out; read-only")
    .option("--session <key>", "session to open with (default: the list of sessions)")
    .option("--agent <id>", "agent of that session", "main")
    .option("--port <n>", "port, where no server of this home runs (default: a free one)", port)
    .option(
      "--export <file>",
      "write the session as one HTML file in place of opening it; secrets are masked",
    )
    .option(
      "--request <id>",
      "of the export: this request alone, by its id on the page or the number of its capture",
    )
    .option(
      "--redact <kinds>",
      "of the export: leave these out too (system, tools, user, assistant, results, summaries)",
    )
    .action(({ export: file, ...options }: InspectFlags) =>
      act(async () => {
        if (file === undefined && (options.request !== undefined || options.redact !== undefined))
          throw usageError("--request and --redact belong to an export; add --export <file>.");
        if (file === undefined) return (await import("./inspect-work.ts")).inspect(cli, options);
        return (await import("./report-work.ts")).writeReport(cli, file, options);
      }),
    );
  program
    .command("open")
    .description("open the server of this home in your browser, signed in")
    .option("--print", "print an address that signs in once, in place of opening a browser")
    .action((options: { print?: boolean }) =>
      act(async () => (await import("./open-work.ts")).openBrowser(cli, options)),
    );
}

function addTokenCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./token-work.ts");
  const token = program.command("token").description("tokens for clients of the server");
  token
    .command("create")
    .description("create a token and print it, once")
    .requiredOption("--name <name>", "who it is for")
    .addOption(
      new Option("--scope <scope>", "what it may do; each includes the ones before it")
        .choices(SCOPES)
        .default("chat"),
    )
    .option("--session <pattern>", "session keys it may use, with * for any characters", "*")
    .option("--agent <pattern>", "agents it may use, with * for any characters (default: all)")
    .addOption(
      new Option(
        "--mode <mode>",
        "most permissive mode of its turns; the configured mode is a second limit",
      ).choices(PERMISSION_MODES),
    )
    .option("--folder <folders...>", "folders it may name beside those of its sessions and agents")
    .option("--expires <when>", "a duration such as 30d or 12h, or a date (default: never)")
    .option(...JSON_OPTION)
    .action((options: TokenCreateOptions) => act(async () => (await load()).tokenCreate(cli, options)));
  token
    .command("list")
    .description("tokens, without their secrets")
    .option(...JSON_OPTION)
    .action((options: { json?: boolean }) => act(async () => (await load()).tokenList(cli, options)));
  token
    .command("revoke <name>")
    .description("revoke the token with this name or id; its open streams end")
    .action((name: string) => act(async () => (await load()).tokenRevoke(cli, name)));
}
