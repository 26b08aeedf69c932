/** `pagurus inspect`: the user's browser on a page that shows what models saw; it can read and nothing else. */
import { defined } from "@pagurus/core/data/defined";
import { createClient } from "@pagurus/client/index";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { keepServerHeapSmall } from "@pagurus/core/platform/heap-growth";
import { createFileLogger } from "@pagurus/core/platform/log";
import { localKey, runningServer } from "@pagurus/server/server-address";
import { printLine, withPagurus, type Cli } from "../cli.ts";
import { assertSession } from "./inspected-session.ts";
import { openHost } from "../open-host.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { showInBrowser } from "./open-work.ts";
import { sweepSignInPages } from "./sign-in-page.ts";
import { onceInterrupted } from "./once-interrupted.ts";

export interface InspectCommandOptions {
  session?: string;
  agent: string;
  port?: number;
}

const RETRY_MS = 1_000;

/** Uses the server of this home where one runs, else one of its own until an interrupt. Throws `server_failed`. */
export async function inspect(
  cli: Cli,
  { session: key, agent, port }: InspectCommandOptions,
): Promise<number> {
  const home = resolveHome(cli.env);
  const session = key === undefined ? undefined : { key, agent };
  if (session)
    await withPagurus(cli, async (pagurus) => assertSession(pagurus.sessions(agent), session.key), {
      onlyLook: true,
    });
  const running = runningServer(home);
  if (running) {
    const client = createClient({ url: running.url, token: localKey(home), retryMs: RETRY_MS });
    const url = await client.browserCode({ scope: "read", ...defined({ session }) });
    await showInBrowser(cli, { url, server: running.url });
    return EXIT_DONE;
  }
  keepServerHeapSmall();
  const { startInspectServer } = await import("@pagurus/server/inspect-server");
  const server = await startInspectServer({
    home,
    version: packageVersion(),
    env: cli.env,
    logger: createFileLogger(home),
    port: port ?? 0,
    open: openHost,
  });
  const { interrupted, forget } = onceInterrupted(cli);
  await showInBrowser(cli, { url: server.signIn(session), server: server.url });
  printLine(cli.stdout, "It only reads. Stop it: Ctrl-C");
  await interrupted;
  await server.close();
  sweepSignInPages(home, 0);
  forget();
  return EXIT_DONE;
}
