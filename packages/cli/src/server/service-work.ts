/** `pagurus serve --install | --uninstall`: a service of the user that runs `pagurus serve` from their login on. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { launcher } from "../launcher.ts";
import type { ServeCommandOptions } from "./serve-work.ts";
import { shellWord } from "@pagurus/core/platform/shell-word";

const UNIT = "pagurus.service";
const LABEL = "dev.pagurus.serve";

interface Service {
  file: string;
  text: string;
  /** Commands of the user's shell. */
  start: string;
  stop: string;
}

function commandOf({ port, host }: ServeCommandOptions): string[] {
  const flags = [
    ...(port === undefined ? [] : ["--port", String(port)]),
    ...(host === undefined ? [] : ["--host", host]),
  ];
  return [process.execPath, launcher(), "serve", ...flags];
}

/** A word of a unit file: `%` and `$` are expanded in it, quotes and backslashes escape. */
function unitWord(word: string): string {
  const escaped = word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$");
  return `"${escaped}"`;
}

function systemdUnit(command: readonly string[], home: string): string {
  const setting = `PAGURUS_HOME=${home}`.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%");
  return `[Unit]
Description=Pagurus server

[Service]
ExecStart=${command.map(unitWord).join(" ")}
Environment="${setting}"
Restart=on-failure
RestartSec=5
TimeoutStopSec=45

[Install]
WantedBy=default.target
`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function launchdPlist(command: readonly string[], home: string): string {
  const words = command.map((word) => `    <string>${xml(word)}</string>`).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PAGURUS_HOME</key>
    <string>${xml(home)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
`;
}

/** Throws `usage_invalid` on a system without such services. */
function serviceOf(cli: Cli, options: ServeCommandOptions, platform: NodeJS.Platform): Service {
  const user = cli.env["HOME"] ?? homedir();
  const home = resolveHome(cli.env);
  if (platform === "darwin") {
    const file = join(user, "Library", "LaunchAgents", `${LABEL}.plist`);
    return {
      file,
      text: launchdPlist(commandOf(options), home),
      start: `launchctl bootstrap gui/$(id -u) ${shellWord(file)}`,
      stop: `launchctl bootout gui/$(id -u)/${LABEL}`,
    };
  }
  if (platform !== "linux")
    throw usageError(`There are no user services of ${platform} here; start pagurus serve by its own means.`);
  const config = cli.env["XDG_CONFIG_HOME"] || join(user, ".config");
  return {
    file: join(config, "systemd", "user", UNIT),
    text: systemdUnit(commandOf(options), home),
    start: `systemctl --user daemon-reload && systemctl --user enable --now ${UNIT}`,
    stop: `systemctl --user disable --now ${UNIT}`,
  };
}

/** Writes the service's file; starting it is the user's. Throws `usage_invalid` where one is installed. */
export function installService(
  cli: Cli,
  options: ServeCommandOptions,
  platform: NodeJS.Platform = process.platform,
): number {
  const { file, text, start } = serviceOf(cli, options, platform);
  if (existsSync(file))
    throw usageError(
      `The service is installed already, in ${file}; remove it first with pagurus serve --uninstall.`,
    );
  mkdirSync(dirname(file), { recursive: true });
  writeFileAtomic(file, text);
  printLine(cli.stdout, `Wrote ${file}. Start it, now and at each login:\n  ${start}`);
  return EXIT_DONE;
}

/** Throws `usage_invalid` where none is installed. */
export function uninstallService(cli: Cli, platform: NodeJS.Platform = process.platform): number {
  const { file, stop } = serviceOf(cli, {}, platform);
  if (!existsSync(file))
    throw usageError(`No service is installed in ${file}; pagurus serve --install writes one.`);
  rmSync(file);
  printLine(cli.stdout, `Removed ${file}. If it runs, stop it:\n  ${stop}`);
  return EXIT_DONE;
}
