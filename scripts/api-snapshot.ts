/**
 * The public contract as declarations, committed under `docs/api/contract/`, so that a diff shows every change of
 * it. `node scripts/api-snapshot.ts --check | --write`.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, runCommand } from "./command.ts";
import { filesUnder } from "./source-files.ts";

const SNAPSHOT = "docs/api/contract";

/** Emits the declarations of `packages/contract/src`; file name to text. */
async function emitContract(root: string): Promise<Map<string, string>> {
  const out = mkdtempSync(join(tmpdir(), "pagurus-api-"));
  try {
    const config = join(out, "tsconfig.json");
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: {
          noEmit: false,
          emitDeclarationOnly: true,
          rootDir: join(root, "packages/contract/src"),
          outDir: join(out, "d"),
          typeRoots: [join(root, "node_modules/@types")],
        },
        include: [join(root, "packages/contract/src")],
      }),
    );
    const result = await runCommand(join(root, "node_modules/.bin/tsc"), ["-p", config], { cwd: root });
    if (result.code !== 0) throw new Error(`The contract does not compile:\n${result.stdout}`);
    const folder = `${out}/`;
    return new Map(
      filesUnder(folder, "d", ".d.ts").map((file) => [
        file.replace(/^d\//, ""),
        readFileSync(join(out, file), "utf8"),
      ]),
    );
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function committed(root: string): Map<string, string> {
  return new Map(
    filesUnder(root, SNAPSHOT, ".d.ts").map((file) => [
      file.slice(SNAPSHOT.length + 1),
      readFileSync(join(root, file), "utf8"),
    ]),
  );
}

/** Compares the committed snapshot with the sources. */
export async function checkApiSnapshot(root: string): Promise<{ ok: boolean; report: string }> {
  const now = await emitContract(root);
  const then = committed(root);
  const changed = [...new Set([...now.keys(), ...then.keys()])]
    .filter((name) => now.get(name) !== then.get(name))
    .toSorted();
  if (changed.length === 0) return { ok: true, report: "" };
  const report = [
    ...changed.map((name) => `${SNAPSHOT}/${name} differs from packages/contract/src`),
    "The public contract changed. When that is meant, run `node scripts/api-snapshot.ts --write`, read the diff",
    "and name the change in CHANGELOG.md.",
  ].join("\n");
  return { ok: false, report };
}

async function writeSnapshot(root: string): Promise<number> {
  const now = await emitContract(root);
  rmSync(join(root, SNAPSHOT), { recursive: true, force: true });
  mkdirSync(join(root, SNAPSHOT), { recursive: true });
  for (const [name, text] of now) {
    mkdirSync(dirname(join(root, SNAPSHOT, name)), { recursive: true });
    writeFileSync(join(root, SNAPSHOT, name), text);
  }
  return now.size;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, write: { type: "boolean" } } });
  if (values.write) {
    console.log(`${await writeSnapshot(ROOT)} declaration files written to ${SNAPSHOT}`);
  } else {
    const { ok, report } = await checkApiSnapshot(ROOT);
    console.log(ok ? "The API snapshot is up to date." : report);
    process.exitCode = ok ? 0 : 1;
  }
}
