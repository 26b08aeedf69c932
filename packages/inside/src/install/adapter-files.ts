/** The files of an adapter as an installation writes them: JavaScript, also where the sources run without a build. */
import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

/** Folders of this package that run inside other programs. */
export const ADAPTER_FOLDERS = ["client", "node", "claude-code", "opencode", "pi", "openclaw"] as const;
type AdapterFolder = (typeof ADAPTER_FOLDERS)[number];

const OWN = fileURLToPath(import.meta.url);
/** `src` of this package, `dist/inside` in the build. */
const SOURCES = fileURLToPath(new URL("..", import.meta.url));

/** The JavaScript of a source, whose imports name JavaScript files too. */
function asJavaScript(source: string): string {
  return stripTypeScriptTypes(source).replaceAll(/(from\s+"\.[^"]+)\.ts"/g, '$1.js"');
}

/** Texts of the files of some folders, by their path, `client/host-client.js`. */
export function adapterFiles(folders: readonly AdapterFolder[]): Map<string, string> {
  const isSource = OWN.endsWith(".ts");
  const root = isSource ? SOURCES : join(SOURCES, "adapters");
  return new Map(
    folders.flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => name.endsWith(isSource ? ".ts" : ".js"))
        .toSorted()
        .map((name): [string, string] => {
          const text = readFileSync(join(root, folder, name), "utf8");
          return [`${folder}/${name.replace(/\.ts$/, ".js")}`, isSource ? asJavaScript(text) : text];
        }),
    ),
  );
}
