/** Follows changes of a home's configuration file. */
import { watch } from "node:fs";
import { basename } from "node:path";
import { configFile } from "@pagurus/core/config/config-paths";
import { readConfigText } from "@pagurus/core/config/load-config";
import { toPagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import type { Logger } from "@pagurus/core/platform/log";

/** An editor writes a file in several steps, ms. */
const SETTLED_MS = 100;

/** Keys that a running server has read at its start: the first part of their paths. */
export const AT_START: ReadonlySet<string> = new Set(["server", "channels", "store", "telemetry", "logging"]);

/**
 * Calls `apply` after each change, one call at a time. One that throws is logged, and the configuration of before stays in use. Returns
 * a function that ends it.
 */
export function watchConfig(home: string, logger: Logger, apply: () => Promise<void>): () => void {
  const file = configFile(home);
  const read = (): string | undefined => attempt(() => readConfigText(file));
  let known = read();
  let last: Promise<void> = Promise.resolve();
  /** A call that has not begun takes later changes, too. */
  let isQueued = false;
  let timer: NodeJS.Timeout | undefined;
  const changed = (): void => {
    const text = read();
    if (text === known) return;
    known = text;
    if (isQueued) return;
    isQueued = true;
    const begin = (): Promise<void> => {
      isQueued = false;
      return apply();
    };
    last = last.then(begin).then(
      () => logger.info("the changed configuration is in use", {}),
      (error: unknown) => logger.warn("changed configuration not used", { code: toPagurusError(error).code }),
    );
  };
  const watcher = attempt(() =>
    watch(home, { persistent: false }, (_event, name) => {
      if (name !== null && name !== basename(file)) return;
      clearTimeout(timer);
      timer = setTimeout(changed, SETTLED_MS).unref();
    }),
  );
  watcher?.on("error", () => watcher.close());
  return () => {
    clearTimeout(timer);
    watcher?.close();
  };
}
