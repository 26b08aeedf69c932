/** `pagurus mcp login` and `logout`. */
import { createInterface } from "node:readline";
import type { McpServers } from "@pagurus/app/commands-own";
import { opensBrowser } from "../browser.ts";
import { type Cli, printLine } from "../cli.ts";
import { EXIT_DONE, EXIT_INTERRUPTED } from "../cli-failure.ts";
import { withServers } from "./mcp-work.ts";

export interface LoginOptions {
  device?: boolean;
  /** False with `--no-browser`. */
  browser?: boolean;
}

type Page = Parameters<Parameters<McpServers["logIn"]>[1]["show"]>[0];

/** Takes pasted addresses from the terminal; returns a function that ends it. */
function readPasted(cli: Cli, paste: (address: URL) => boolean): () => void {
  const lines = createInterface({ input: cli.stdin });
  lines.on("line", (line) => {
    const address = URL.parse(line.trim());
    if (!address || !paste(address)) printLine(cli.stderr, "This is not the address of this login.");
  });
  return () => lines.close();
}

async function showPage(cli: Cli, { address, issuer, code, paste }: Page, browser: boolean): Promise<void> {
  printLine(cli.stderr, `Authorization server: ${issuer}`);
  if (code !== undefined) {
    printLine(cli.stderr, `Open this address on any device and enter the code ${code}:\n${address.href}`);
    return;
  }
  if (browser && (await opensBrowser(cli, () => address.href))) {
    printLine(cli.stderr, "Opened the login page in your browser; if it does not appear, open this address:");
    printLine(cli.stderr, address.href);
    return;
  }
  printLine(cli.stderr, `Open this address in a browser:\n${address.href}`);
  if (paste && cli.stdin.isTTY === true)
    printLine(cli.stderr, "If the browser is on another machine, paste the address at which it ends:");
}

/** Throws `mcp_failed`, `usage_invalid`. */
export function mcpLogin(cli: Cli, name: string, options: LoginOptions): Promise<number> {
  return withServers(cli, async (servers) => {
    const stop = new AbortController();
    const release = cli.onInterrupt(() => {
      if (stop.signal.aborted) cli.exit(EXIT_INTERRUPTED);
      stop.abort();
    });
    let endPaste = (): void => undefined;
    try {
      const { issuer, scope } = await servers.logIn(name, {
        device: options.device === true,
        signal: stop.signal,
        show: (page) => {
          void showPage(cli, page, options.browser !== false);
          if (page.paste && cli.stdin.isTTY === true) endPaste = readPasted(cli, page.paste);
        },
      });
      const permissions = scope === undefined ? "" : ` with the permissions ${scope}`;
      printLine(cli.stdout, `Logged in to ${name} at ${issuer}${permissions}.`);
      return EXIT_DONE;
    } catch (error) {
      if (stop.signal.aborted) return EXIT_INTERRUPTED;
      throw error;
    } finally {
      endPaste();
      release();
    }
  });
}

/** Throws `usage_invalid`. */
export function mcpLogout(cli: Cli, name: string): Promise<number> {
  return withServers(cli, async (servers) => {
    const had = servers.logOut(name);
    printLine(cli.stdout, had ? `Logged out of ${name}.` : `There was no login to ${name}.`);
    return EXIT_DONE;
  });
}
