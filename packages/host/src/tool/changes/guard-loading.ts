/** The check of files that commands leave in the workspace, loaded at the first command or the first look ahead of it. */
import { setImmediate as nextRound } from "node:timers/promises";
import type { ClosedPlaces } from "../places/closed-places.ts";
import type { Sandbox } from "../shell/sandbox.ts";
import type { ShellOptions } from "../shell/shell-tool.ts";
import type { Permissions } from "../tool-permission.ts";
import type { ChangeGuardOptions } from "./change-guard.ts";

interface Guarding extends Pick<ChangeGuardOptions, "root" | "env" | "home" | "cache"> {
  places(): ClosedPlaces;
  permissions(): Permissions;
  sandbox(): Promise<Sandbox>;
}

type CommandGuards = Pick<ShellOptions, "guard" | "takeBack"> & {
  /**
   * Does what the first command in a workspace needs, once: lists the workspace, searches the system for private places, loads the modules
   * of a command. Starts no process.
   */
  ahead(): Promise<void>;
};

/** Throws nothing itself; its functions reject when a module cannot be loaded. */
export function guarding({ root, env, home, cache, ...at }: Guarding): CommandGuards {
  const load = () => import("./change-guard.ts");
  let isBegun = false;
  return {
    async guard() {
      if (root === "/") return undefined;
      const { createChangeGuard } = await load();
      const { report } = await at.sandbox();
      const { closed: own, hidden } = at.places();
      // Without a sandbox a command can write there.
      const closed = report.kind === "none" ? own : [...own, ...hidden];
      const isAllowed = (path: string): boolean => at.permissions().allowsPlace(path);
      return createChangeGuard({ root, home, closed, env, isAllowed, cache });
    },
    async takeBack(held) {
      return (await load()).takeBack(home, held);
    },
    async ahead() {
      if (isBegun || root === "/" || cache.has(root)) return;
      isBegun = true;
      const { lookAhead } = await load();
      lookAhead({ root, closed: at.places().closed, env, cache });
      // Each in a round of its own, since an answer may be arriving.
      await nextRound();
      void at.places().hidden;
      await nextRound();
      await Promise.all([import("../shell/sandbox.ts"), import("../shell/shell-run.ts")]);
    },
  };
}
