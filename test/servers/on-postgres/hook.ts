/**
 * Loaded before a test with `--import`, in its programs and threads too: each home and each agent's folder that names no store of its own has its
 * sessions in tables of its own in the PostgreSQL of `PAGURUS_TEST_POSTGRES`, made when they are first used.
 */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

/** Modules that are replaced, for importers whose path from the root fits. */
const REPLACED: { module: string; by: string; for: RegExp }[] = [
  {
    module: "packages/core/src/config/load-config.ts",
    by: "load-config.ts",
    for: /^packages\/(?:app\/src\/app|cli\/src\/(?:server|lossless)\/.*)\.ts$/,
  },
  {
    module: "packages/postgres/src/connections.ts",
    by: "connections.ts",
    for: /^packages\/postgres\/src\//,
  },
  { module: "packages/host/src/stores/files/session-store.ts", by: "session-store.ts", for: /^test\// },
];

const pathOf = (url: string): string => (url.startsWith("file:") ? relative(ROOT, fileURLToPath(url)) : url);

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const found = REPLACED.find(({ module }) => pathOf(resolved.url) === module);
    const importer = pathOf(context.parentURL ?? "");
    if (!found?.for.test(importer) || importer.startsWith("test/servers/on-postgres/")) return resolved;
    return { ...resolved, url: new URL(found.by, import.meta.url).href };
  },
});
