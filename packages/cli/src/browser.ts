/** The user's web browser. */
import { namedProgram, safePath } from "@pagurus/core/platform/executables";
import { startForUser } from "@pagurus/core/platform/start-program";
import type { Cli } from "./cli.ts";

/** The program that opens an address, and its arguments; undefined without a screen. */
function opener(env: Cli["env"]): [program: string, args: string[]] | undefined {
  if (env["BROWSER"]) return [env["BROWSER"], []];
  if (process.platform === "darwin") return ["open", []];
  if (process.platform === "win32") return ["rundll32", ["url.dll,FileProtocolHandler"]];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open", []] : undefined;
}

/** Opens a page in the user's browser; `page` is called once one is found. False if there is none, or it cannot be started. */
export function opensBrowser(cli: Cli, page: () => string): Promise<boolean> {
  const found = opener(cli.env);
  if (!found) return Promise.resolve(false);
  const [name, args] = found;
  const { file } = namedProgram(name, { env: cli.env });
  if (file === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = startForUser(file, [...args, page()], {
      stdio: "ignore",
      // It is often a script that finds browsers by their names.
      env: { ...cli.env, PATH: safePath({ env: cli.env }) },
    });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
