/** "A command of the command line" of CONTRIBUTING.md: `pagurus about`. */
import assert from "node:assert/strict";
import { CHANGELOG_LINE, edit, insertAfter, newFile, type Change } from "./change.ts";

const WORK = `import { resolveHome } from "@pagurus/core/config/config-paths";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";

/** \`pagurus about\`. */
export function about(cli: Cli, { json = false }: { json?: boolean }): Promise<number> {
  const facts = { version: packageVersion(), home: resolveHome(cli.env) };
  if (json) printJson(cli, facts);
  else printLine(cli.stdout, \`Pagurus \${facts.version}, home \${facts.home}\`);
  return Promise.resolve(EXIT_DONE);
}
`;

const DECLARATION = `import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";

/** \`about\`. */
export function addAboutCommand(program: Command, cli: Cli, act: Act): void {
  program
    .command("about")
    .description("print the version and the home folder")
    .option("--json", "print JSON")
    .addHelpText("after", "\\nExamples:\\n  $ pagurus about")
    .action((options: { json?: boolean }) =>
      act(async () => (await import("./about-work.ts")).about(cli, options)),
    );
}
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { fakeCli } from "./fake-cli.ts";

test("pagurus about prints the version and the home folder", async () => {
  const cli = fakeCli({ env: { HOME: "/none", PAGURUS_HOME: "/none/home" } });
  assert.equal(await execute(["about"], cli), 0);
  assert.match(cli.out(), /^Pagurus \\d+\\.\\d+\\.\\d+, home \\/none\\/home\\n$/);
});
`;

export const COMMAND_CHANGE: Change = {
  title: "a command",
  places: [
    newFile("packages/cli/src/about/about-work.ts", WORK, { by: "types", message: /about-work/ }),
    newFile("packages/cli/src/about/about-command.ts", DECLARATION, {
      by: "types",
      message: /about-command/,
    }),
    {
      file: "packages/cli/src/other-commands.ts",
      make: (root) => {
        const path = "packages/cli/src/other-commands.ts";
        insertAfter(
          root,
          path,
          /import type \{ Command \}[^\n]*\n/,
          `import { addAboutCommand } from "./about/about-command.ts";\n`,
        );
        insertAfter(
          root,
          path,
          /export function addOtherCommands[^\n]*\n/,
          "  addAboutCommand(program, cli, act);\n",
        );
      },
      found: { by: "unused", message: /src\/cli\/about\/about-command\.ts|addAboutCommand/ },
    },
    newFile("test/cli/about.test.ts", TEST, { by: "places", message: /no test calls the command about/ }),
    edit(
      "README.md",
      /\n## Commands\n\n```sh\n/,
      "pagurus about                                     # version and home folder\n",
      {
        by: "places",
        message: /README\.md does not show the command about/,
      },
    ),
    CHANGELOG_LINE,
  ],
  tests: ["test/cli/about", "test/cli/completion"],
  use: async (_root, run) => {
    const { code, stdout, stderr } = await run(["about"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Pagurus \d+\.\d+\.\d+, home \//);
    const completion = await run(["completion", "bash"]);
    assert.match(completion.stdout, /\babout\b/);
    return `${stdout.trim()}; the completion has it`;
  },
};
