/** "A provider's quirk" of CONTRIBUTING.md: LM Studio gets requests without `tool_choice`. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServer } from "../../test/servers/server.ts";
import { CHANGELOG_LINE, edit, newFile, type Change } from "./change.ts";

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveModel } from "../../packages/core/src/model/resolve.ts";
import { startServer } from "../servers/server.ts";
import { collect } from "./calling.ts";

test("LM Studio gets requests without tool_choice", async () => {
  const server = await startServer({ protocol: "openai-completions", script: [{ text: "ok" }] });
  try {
    const model = resolveModel("lmstudio/m", { models: { providers: { lmstudio: { baseUrl: server.url } } } }, {});
    await collect(model, { tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }] });
    const body = server.requests[0]?.body;
    assert.ok(Array.isArray(body?.["tools"]));
    assert.equal(body["tool_choice"], undefined);
  } finally {
    await server.close();
  }
});
`;

/** Adds a row to the table of the page, with the widths that it has. */
function addRow(root: string): void {
  const path = join(root, "docs/architecture/models.md");
  const page = readFileSync(path, "utf8");
  const row = "| LM Studio | `omitsToolChoice` |\n";
  assert.match(page, /\n\| Ollama +\|[^\n]*\n/);
  writeFileSync(path, page.replace(/(\n\| Ollama +\|[^\n]*\n)/, `$1${row}`));
}

async function toolChoiceOf(provider: string, run: Parameters<Change["use"]>[1]): Promise<unknown> {
  const server = await startServer({ protocol: "openai-completions", script: [{ text: "ok" }] });
  try {
    const settings = { api: "openai-completions", baseUrl: server.url, apiKey: "k", models: [{ id: "m" }] };
    const config = JSON.stringify(settings);
    await run(["config", "set", `models.providers.${provider}`, config]);
    const { code, stderr } = await run(["run", "--new", "-m", `${provider}/m`, "Hello"]);
    assert.equal(code, 0, stderr);
    assert.ok(Array.isArray(server.requests[0]?.body["tools"]));
    return server.requests[0]?.body["tool_choice"];
  } finally {
    await server.close();
  }
}

export const QUIRK_CHANGE: Change = {
  title: "a provider's quirk",
  places: [
    edit(
      "packages/core/src/model/quirks/quirk-kinds.ts",
      "  bindsThinking: boolean;\n",
      "  /** The server refuses `tool_choice`; its default is the value that we send. */\n  omitsToolChoice: boolean;\n",
      { by: "types", message: /omitsToolChoice/ },
    ),
    edit(
      "packages/core/src/model/quirks/quirk-table.ts",
      "  bindsThinking: false,\n",
      "  omitsToolChoice: false,\n",
      {
        by: "types",
        message: /quirk-table\.ts.*omitsToolChoice/s,
      },
    ),
    edit(
      "packages/core/src/model/quirks/compatible-quirks.ts",
      /missingModelAdvice:[^\n]*\n {4}\},\n {2}\},\n/,
      `  {\n    name: "LM Studio",\n    provider: "lmstudio",\n    // Source: its server's answer 400 to any value.\n    quirks: { omitsToolChoice: true },\n  },\n`,
      { by: "places", message: /no row of packages\/core\/src\/model\/quirks\/ sets omitsToolChoice/ },
    ),
    {
      file: "packages/core/src/model/protocols/completions.ts",
      make: (root) => {
        const path = join(root, "packages/core/src/model/protocols/completions.ts");
        const text = readFileSync(path, "utf8");
        const sent = `tool_choice: choiceOf(shape.toolChoice)`;
        assert.ok(text.includes(sent));
        writeFileSync(path, text.replace(sent, `...(quirks.omitsToolChoice ? {} : { ${sent} })`));
      },
      found: {
        by: "places",
        message: /nothing in packages\/core\/src\/model uses the quirk omitsToolChoice/,
      },
    },
    {
      file: "docs/architecture/models.md",
      make: addRow,
      found: { by: "places", message: /models\.md, "Quirks": lacks the row "LM Studio: omitsToolChoice"/ },
    },
    newFile("test/model/lmstudio.test.ts", TEST, {
      by: "places",
      message: /no test title in test\/model\/ names the quirks of LM Studio/,
    }),
    CHANGELOG_LINE,
  ],
  tests: ["test/model/"],
  use: async (_root, run) => {
    const [changed, other] = [await toolChoiceOf("lmstudio", run), await toolChoiceOf("local", run)];
    assert.deepEqual([changed, other], [undefined, "auto"]);
    return "a request to LM Studio has no tool_choice, one to another server has it";
  },
};
