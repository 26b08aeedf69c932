/** The lint of a copy of the project with planted violations fails and names each. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, it } from "node:test";
import { ROOT, runCommand } from "../../scripts/command.ts";
import { linkModules } from "../../scripts/linked-modules.ts";
import { FULL } from "../runner/short-form.ts";
import { longSuite } from "../runner/long-tests.ts";

/** Source folders that the planted files import from; the whole tree is linted in the long form. */
const FOLDERS = FULL
  ? ["packages"]
  : [
      "packages/contract",
      "packages/core/package.json",
      "packages/core/src/platform",
      "packages/core/src/tokens",
    ];
const SETTINGS = [
  "package.json",
  "tsconfig.json",
  ".oxlintrc.json",
  ".oxfmtrc.json",
  ".dependency-cruiser.cjs",
  "knip.ts",
];

/** Folders and files used nowhere else in the project, so the rest of the tree does not matter. */
const PLANTS: Record<string, string> = {
  "packages/core/src/tokens/planted-import.ts": `export { planted } from "../model/planted.ts";\n`,
  "packages/core/src/model/planted.ts": "export const planted = 1;\n",
  "packages/core/src/tokens/planted-import-type.ts": `import type { Planted } from "../model/planted-type.ts";\nexport const planted: Planted = 1;\n`,
  "packages/core/src/model/planted-type.ts": "export type Planted = number;\n",
  "packages/core/src/tokens/planted-long.ts": Array.from(
    { length: 401 },
    (_, line) => `export const planted${line} = ${line};\n`,
  ).join(""),
  "packages/core/src/tokens/planted-prompt.ts": `import type { PluginLogger } from "@pagurus/contract/host/plugin";\nexport function planted(log: PluginLogger, prompt: string): void {\n  log.info("A turn begins.", { prompt });\n}\n`,
  "packages/core/src/tokens/planted-a.ts": `export { b as a } from "./planted-b.ts";\n`,
  "packages/core/src/tokens/planted-b.ts": `export { a as b } from "./planted-a.ts";\n`,
  "packages/core/src/tokens/planted-type-a.ts": `import type { B } from "./planted-type-b.ts";\nexport interface A {\n  b: B;\n}\n`,
  "packages/host/src/turn/admit/planted-stage.ts": `export { planted } from "../run/planted.ts";\n`,
  "packages/host/src/turn/run/planted.ts": "export const planted = 1;\n",
  "packages/host/src/turn/context/planted-layer.ts": `import type { Planted } from "../state/planted-type.ts";\nexport const planted: Planted = 1;\n`,
  "packages/host/src/turn/state/planted-type.ts": "export type Planted = number;\n",
  "packages/host/src/turn/sessions/planted-top.ts": `export { planted } from "../planted.ts";\n`,
  "packages/host/src/turn/planted.ts": "export const planted = 1;\n",
  "packages/core/src/tokens/planted-type-b.ts": `import type { A } from "./planted-type-a.ts";\nexport interface B {\n  a: A;\n}\n`,
};

interface Linted {
  code: number;
  text: string;
}

async function lint(only: string, root: string): Promise<Linted> {
  const script = join(ROOT, "scripts/lint.ts");
  const result = await runCommand(process.execPath, [script, "--root", root, "--only", only]);
  return { code: result.code, text: result.stdout + result.stderr };
}

longSuite("npm run lint", () => {
  let copy = "";
  /** Results for the copy as it is, and with all planted violations. */
  let sound: Linted;
  let planted: Linted;

  before(async () => {
    copy = mkdtempSync(join(tmpdir(), "pagurus-lint-"));
    for (const name of [...FOLDERS, ...SETTINGS])
      cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    linkModules(copy);
    sound = await lint(FULL ? "oxlint,layers,logs,house" : "layers,logs", copy);
    for (const [file, text] of Object.entries(PLANTS)) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      writeFileSync(join(copy, file), text);
    }
    planted = await lint("oxlint,layers,logs", copy);
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  it("passes on the project as it is", () => {
    assert.equal(sound.code, 0, sound.text);
    assert.match(sound.text, /[1-9]\d* modules cruised/);
    assert.equal(planted.code, 1, planted.text);
  });

  for (const [name, file, imported] of [
    ["an import of a folder that is not allowed", "planted-import", "planted"],
    ["such an import of a type alone", "planted-import-type", "planted-type"],
  ] as const) {
    it(`fails on ${name}, naming both files and the rule`, () => {
      const line = `core-tokens-imports: packages/core/src/tokens/${file}.ts → packages/core/src/model/${imported}.ts`;
      assert.ok(planted.text.includes(line), planted.text);
    });
  }

  for (const [name, line] of [
    [
      "a stage of the turn that imports another",
      "host-turn-admit-imports: packages/host/src/turn/admit/planted-stage.ts → packages/host/src/turn/run/planted.ts",
    ],
    [
      "a layer of the turn that imports a type of a higher one",
      "host-turn-context-imports: packages/host/src/turn/context/planted-layer.ts → packages/host/src/turn/state/planted-type.ts",
    ],
    [
      "a folder of the turn that imports a file beside it",
      "host-turn-sessions-imports: packages/host/src/turn/sessions/planted-top.ts → packages/host/src/turn/planted.ts",
    ],
  ] as const) {
    it(`fails on ${name}, naming both files and the rule`, () => {
      assert.ok(planted.text.includes(line), planted.text);
    });
  }

  it("fails on a file of 401 lines, naming it", () => {
    assert.match(
      planted.text,
      /src\/tokens\/planted-long\.ts:\S+ File has too many lines \(401\)\. .*max-lines/,
    );
  });

  it("fails on a logged prompt, naming its line", () => {
    assert.match(planted.text, /src\/tokens\/planted-prompt\.ts:3: a log line would hold `prompt`/);
  });

  for (const [name, file] of [
    ["an import loop", "planted-"],
    ["an import loop of types alone", "planted-type-"],
  ] as const) {
    it(`fails on ${name}, naming the cycle`, () => {
      const loop = new RegExp(
        `no-cycles: packages/core/src/tokens/${file}[ab]\\.ts → packages/core/src/tokens/${file}[ab]\\.ts`,
      );
      assert.match(planted.text, loop);
    });
  }

  it("fails when the layer check cruised no modules", async () => {
    const empty = mkdtempSync(join(tmpdir(), "pagurus-lint-empty-"));
    try {
      for (const name of SETTINGS) cpSync(join(ROOT, name), join(empty, name));
      mkdirSync(join(empty, "packages/core/src"), { recursive: true });
      linkModules(empty);
      const { code, text } = await lint("layers", empty);
      assert.equal(code, 1, text);
      assert.match(text, /0 modules cruised/);
    } finally {
      rmSync(empty, { recursive: true, force: true });
    }
  });
});
