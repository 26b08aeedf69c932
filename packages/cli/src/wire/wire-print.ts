/** Prints how a program is pointed to the gateway by hand, and serves it until the user stops it. */
import type { WrapLaunch, WrapRoute } from "@pagurus/contract/harness/wrap";
import { printLine, type Cli } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";

/** A word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The lines to paste into a shell: changed variables, then the command. They hold the route's secret. */
function settingLines({ command, args, env }: WrapLaunch, before: Cli["env"]): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(env)]);
  const lines = [...names].toSorted().flatMap((name) => {
    const value = env[name];
    if (value === before[name]) return [];
    return [value === undefined ? `unset ${name}` : `export ${name}=${quoted(value)}`];
  });
  return command === "" ? lines : [...lines, [command, ...args].map(quoted).join(" ")];
}

/** Resolves with the exit code at the user's interrupt. */
export async function printSetting(cli: Cli, launch: WrapLaunch, route: WrapRoute): Promise<number> {
  for (const line of settingLines(launch, cli.env)) printLine(cli.stdout, line);
  if (launch.command === "") {
    const headers = Object.entries(route.headers).map(([name, value]) => `${name}: ${value}`);
    printLine(cli.stdout, `# or the base URL ${route.baseUrl} with the header ${headers.join(", ")}`);
  }
  printLine(cli.stderr, "These lines hold the secret of this run. Serving until Ctrl-C.");
  await new Promise<void>((resolve) => {
    const stop = cli.onInterrupt(() => {
      stop();
      resolve();
    });
  });
  return EXIT_DONE;
}
