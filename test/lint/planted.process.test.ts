/** The lint of a copy of the project with one planted violation fails and names it. */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ROOT, runCommand } from "../../scripts/command.ts";

const COPIED = [
  "src",
  "package.json",
  "tsconfig.json",
  ".oxlintrc.json",
  ".oxfmtrc.json",
  ".dependency-cruiser.cjs",
  "knip.json",
];

/** Rooms and files that no other part of the project has, so that the rest of the tree does not matter. */
const PLANTS = {
  forbidden: {
    "src/tokens/planted.ts": `export { planted } from "../session/planted.ts";\n`,
    "src/session/planted.ts": "export const planted = 1;\n",
  },
  forbiddenType: {
    "src/tokens/planted.ts": `import type { Planted } from "../session/planted.ts";\nexport const planted: Planted = 1;\n`,
    "src/session/planted.ts": "export type Planted = number;\n",
  },
  long: {
    "src/tokens/planted.ts": Array.from(
      { length: 401 },
      (_, line) => `export const planted${line} = ${line};\n`,
    ).join(""),
  },
  prompt: {
    "src/tokens/planted.ts": `import type { PluginLogger } from "../contract/plugin.ts";\nexport function planted(log: PluginLogger, prompt: string): void {\n  log.info("A turn begins.", { prompt });\n}\n`,
  },
  cycle: {
    "src/tokens/planted.ts": `export { b as a } from "./planted-b.ts";\n`,
    "src/tokens/planted-b.ts": `export { a as b } from "./planted.ts";\n`,
  },
  typeCycle: {
    "src/tokens/planted.ts": `import type { B } from "./planted-b.ts";\nexport interface A {\n  b: B;\n}\n`,
    "src/tokens/planted-b.ts": `import type { A } from "./planted.ts";\nexport interface B {\n  a: A;\n}\n`,
  },
} satisfies Record<string, Record<string, string>>;

describe("npm run lint", () => {
  let copy = "";

  before(() => {
    copy = mkdtempSync(join(tmpdir(), "pagurus-lint-"));
    for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  async function lint(only: string, root = copy): Promise<{ code: number; text: string }> {
    const script = join(ROOT, "scripts/lint.ts");
    const result = await runCommand(process.execPath, [script, "--root", root, "--only", only]);
    return { code: result.code, text: result.stdout + result.stderr };
  }

  async function lintPlanted(
    plant: Record<string, string>,
    only: string,
  ): Promise<{ code: number; text: string }> {
    const made = Object.keys(plant).map((file) => join(copy, file));
    const folders = made.map((file) => dirname(file)).filter((folder) => !existsSync(folder));
    try {
      for (const [file, text] of Object.entries(plant)) {
        mkdirSync(dirname(join(copy, file)), { recursive: true });
        writeFileSync(join(copy, file), text);
      }
      return await lint(only);
    } finally {
      for (const path of [...made, ...folders]) rmSync(path, { recursive: true, force: true });
    }
  }

  it("passes on the project as it is", async () => {
    const { code, text } = await lint("oxlint,layers,logs,house");
    assert.equal(code, 0, text);
    assert.match(text, /[1-9]\d* modules cruised/);
  });

  for (const [name, plant] of [
    ["an import of a room that is not allowed", PLANTS.forbidden],
    ["such an import of a type alone", PLANTS.forbiddenType],
  ] as const) {
    it(`fails on ${name}, naming both files and the rule`, async () => {
      const { code, text } = await lintPlanted(plant, "layers");
      assert.equal(code, 1, text);
      assert.match(text, /tokens-imports: src\/tokens\/planted\.ts → src\/session\/planted\.ts/);
    });
  }

  it("fails on a file of 401 lines, naming it", async () => {
    const { code, text } = await lintPlanted(PLANTS.long, "oxlint");
    assert.equal(code, 1, text);
    assert.match(text, /src\/tokens\/planted\.ts:\S+ File has too many lines \(401\)\. .*max-lines/);
  });

  it("fails on a logged prompt, naming its line", async () => {
    const { code, text } = await lintPlanted(PLANTS.prompt, "logs");
    assert.equal(code, 1, text);
    assert.match(text, /src\/tokens\/planted\.ts:3: a log line would hold `prompt`/);
  });

  for (const [name, plant] of [
    ["an import loop", PLANTS.cycle],
    ["an import loop of types alone", PLANTS.typeCycle],
  ] as const) {
    it(`fails on ${name}, naming the way round`, async () => {
      const { code, text } = await lintPlanted(plant, "layers");
      assert.equal(code, 1, text);
      assert.match(text, /no-cycles: src\/tokens\/planted[^ ]* → src\/tokens\/planted/);
    });
  }

  it("fails when the layer check looked at nothing", async () => {
    const empty = mkdtempSync(join(tmpdir(), "pagurus-lint-empty-"));
    try {
      for (const name of COPIED.slice(1)) cpSync(join(ROOT, name), join(empty, name));
      mkdirSync(join(empty, "src"));
      symlinkSync(join(ROOT, "node_modules"), join(empty, "node_modules"));
      const { code, text } = await lint("layers", empty);
      assert.equal(code, 1, text);
      assert.match(text, /0 modules cruised/);
    } finally {
      rmSync(empty, { recursive: true, force: true });
    }
  });
});
