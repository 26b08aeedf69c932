/** "A slash command" of CONTRIBUTING.md: `/where` names the conversation, in every door. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { CHANGELOG_LINE, edit, insertAfter, type Change, type Place } from "./change.ts";

const LIST = "packages/host/src/command/look-commands.ts";
const ANSWERS = "packages/channels/src/chat-commands.ts";

const TEST = `
test("/where names the conversation", async () => {
  assert.equal((await runCommand("/where", context())).text, "This is the conversation main of the agent main.");
});
`;

const entry: Place = {
  file: LIST,
  make: (root) => {
    insertAfter(
      root,
      LIST,
      /\nasync function status\([^]*?\n\}\n/,
      `
function where(_args: string, { sessionKey, agentId }: CommandContext): Promise<CommandResult> {
  return Promise.resolve(say(\`This is the conversation \${sessionKey} of the agent \${agentId}.\`));
}
`,
    );
    insertAfter(
      root,
      LIST,
      "export const lookCommands: readonly SlashCommand[] = [\n",
      `  { name: "where", doors: EVERY_DOOR, usage: "", summary: "Name the conversation and its agent.", run: where },\n`,
    );
  },
  found: { by: "places", message: /answers \/where, which no list of slash commands offers/ },
};

export const SLASH_CHANGE: Change = {
  title: "a slash command",
  places: [
    entry,
    edit(
      ANSWERS,
      "  switch (name) {\n",
      `    case "where":\n      return { text: \`This is the conversation \${where.sessionKey} of the agent \${where.agentId}.\` };\n`,
      { by: "places", message: /has no answer to \/where, which channels offer/ },
    ),
    edit("test/command/slash.test.ts", /\n\}\n\ntest\("a command is[^]*?\n\}\);\n/, TEST, {
      by: "places",
      message: /no test runs \/where/,
    }),
    edit("docs/guides/terminal.md", "`/help` lists them", ", `/where` names the conversation", {
      by: "places",
      message: /no page of docs\/guides names `\/where`/,
    }),
    CHANGELOG_LINE,
  ],
  tests: ["test/command/slash", "test/channels/chat-commands", "test/acp-server/"],
  use: async (root, run) => {
    const script = `
      import { commandsOf } from ${JSON.stringify(join(root, "packages/host/src/command/host-command.ts"))};
      import { runCommand } from ${JSON.stringify(join(root, ANSWERS))};
      const parts = { pagurus: { commands: () => [] } };
      const place = { agentId: "main", sessionKey: "quay", cwd: "/" };
      console.log((await runCommand(parts, place, { name: "where", rest: "" })).text);
      console.log(commandsOf("editor").some(({ name }) => name === "where"));
    `;
    const { code, stdout, stderr } = await run.node(["--input-type=module", "--eval", script]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "This is the conversation quay of the agent main.\ntrue\n");
    return "a channel answers it, editors and the terminal list it";
  },
};
