/** `pagurus open`: the user's browser, signed in to the server of this home by a code for one use. */
import { pathToFileURL } from "node:url";
import { createClient } from "@pagurus/client/index";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { localKey, requireServer } from "@pagurus/server/server-address";
import { opensBrowser } from "../browser.ts";
import { printLine, type Cli } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { writeSignInPage } from "./sign-in-page.ts";

const RETRY_MS = 1_000;

export interface ShownPage {
  /** Signs in once. */
  url: string;
  /** Address of the server. */
  server: string;
  /** Prints the address instead of opening a browser. */
  print?: boolean | undefined;
}

/** Opens an address that signs in to a server, or prints it if no browser can be opened. */
export async function showInBrowser(cli: Cli, { url, server, print }: ShownPage): Promise<void> {
  const home = resolveHome(cli.env);
  const page = (): string => pathToFileURL(writeSignInPage(home, url)).href;
  if (print !== true && (await opensBrowser(cli, page)))
    printLine(cli.stdout, `Opened ${server} in your browser.`);
  else printLine(cli.stdout, `Open this address in your browser within a minute; it signs in once:\n${url}`);
}

/** Throws `server_not_running`, `server_failed`. */
export async function openBrowser(cli: Cli, { print }: { print?: boolean } = {}): Promise<number> {
  const home = resolveHome(cli.env);
  const server = requireServer(home);
  const client = createClient({ url: server.url, token: localKey(home), retryMs: RETRY_MS });
  await showInBrowser(cli, { url: await client.browserCode({ scope: "admin" }), server: server.url, print });
  return EXIT_DONE;
}
