/** Runs the compiler over the kit's types, in the checkout or in a copy with a planted drift. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "../../../scripts/command.ts";
import { linkModules } from "../../../scripts/linked-modules.ts";

const DEADLINE_MS = 120_000;
const TYPES = "test/real/openclaw/types";
const PACKAGE = "test/real/openclaw/node_modules/openclaw";
const COPIED = ["package.json", "tsconfig.json", "packages", TYPES];

/** Differences by name, a line each, with the compiler's own words; empty where nothing does. `root`: a copy of the checkout. */
export async function driftOf(root: string = ROOT): Promise<string> {
  const compiler = join(ROOT, "node_modules/.bin/tsc");
  const args = ["-p", join(root, TYPES), "--noErrorTruncation"];
  const { code, stdout, stderr } = await runCommand(compiler, args, { deadlineMs: DEADLINE_MS });
  const text = (stdout + stderr).replaceAll("\\n", "\n").trim();
  return code === 0 || text !== "" ? text : `tsc ended with code ${code}`;
}

export interface Plant {
  /** Of the checkout; or `openclaw`, `openclaw hooks`: the package's declarations of its plugin api, of its hooks. */
  file: string;
  /** Text from which on the next two are looked for. */
  after?: string;
  from: string;
  to: string;
}

/** A copy of what the kit reads, in an empty folder, with one text replaced. Throws where the text is not there. */
export function plantedRoot(folder: string, { file, after = "", from, to }: Plant): string {
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  linkModules(folder);
  cpSync(join(ROOT, PACKAGE), join(folder, PACKAGE), { recursive: true });
  const path = join(folder, file.startsWith("openclaw") ? join(PACKAGE, declarations(folder, file)) : file);
  const text = readFileSync(path, "utf8");
  const start = text.indexOf(after);
  const at = text.indexOf(from, start);
  if (start === -1 || at === -1) throw new Error(`${path} has no ${from}`);
  writeFileSync(path, text.slice(0, at) + to + text.slice(at + from.length));
  return folder;
}

/** The package's declarations that its plugin api, or the hooks of that, come from. */
function declarations(folder: string, file: string): string {
  const dist = join(folder, PACKAGE, "dist");
  const sourceOf = (name: string, at: string): string => {
    const text = readFileSync(join(dist, at), "utf8");
    const from = new RegExp(`\\b${name}\\b[^}]*\\} from "\\.{1,2}/([^"]+)\\.js"`).exec(text)?.[1];
    if (from === undefined) throw new Error(`${at} of the package imports no ${name}.`);
    return `${from}.d.ts`;
  };
  const api = sourceOf("OpenClawPluginApi", "plugin-sdk/plugin-entry.d.ts");
  return join("dist", file === "openclaw" ? api : sourceOf("PluginHookHandlerMap", api));
}
