/** Checkpoints around turns of our own loop, and the commands that bring words and files back. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { CheckpointStore } from "../../packages/host/src/checkpoints/checkpoint-store.ts";
import type { CommandContext } from "../../packages/host/src/command/command-types.ts";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import type { ReplyStep } from "../servers/server.ts";
import { Bench, words } from "./in-process.ts";
import { modelConfig } from "./setting.ts";

const call = (name: string, args: Record<string, unknown>): NonNullable<ReplyStep["toolCalls"]>[number] => ({
  id: `call_${Object.values(args).join("_").replaceAll(/\W/g, "").slice(0, 20)}`,
  name,
  arguments: args,
});

describe("an undo of words and files", () => {
  let bench: Bench;
  let folder: string;
  afterEach(() => bench.end());

  /** A host with a folder of its own; the model answers with these steps in order. */
  async function begin(steps: ReplyStep[], checkpoints?: { enabled?: boolean }, trustFolders = true) {
    bench = await Bench.with((_, index) => steps[index] ?? { text: "Done." });
    folder = join(realpathSync(bench.root), "work");
    mkdirSync(folder);
    write("plan.txt", "first");
    const config = {
      ...modelConfig("openai-completions", bench.server.url),
      logging: { level: "silent" },
      ...(checkpoints ? { checkpoints } : {}),
    };
    return bench.host({ more: { config, trustFolders } });
  }

  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const read = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : undefined;
  const ask = (pagurus: Pagurus, prompt: string, sessionKey = "main") =>
    bench.ask(pagurus, prompt, { cwd: folder, sessionKey });

  function command(pagurus: Pagurus, line: string, more: Partial<CommandContext> = {}) {
    return runCommand(line, { pagurus, sessionKey: "main", agentId: "main", cwd: folder, ...more });
  }

  async function texts(pagurus: Pagurus): Promise<string[]> {
    const reader = pagurus.sessions().openReader("main");
    const found: string[] = [];
    for await (const entry of reader.cursor.forward())
      if (entry.type === "message" && entry.message.role === "user") found.push(words(entry.message));
    reader.close();
    return found;
  }

  const change = (): ReplyStep[] => [
    {
      toolCalls: [
        call("write", { path: "new.txt", content: "made" }),
        call("shell", {
          command: "printf second > plan.txt; mkdir sub; mv plan.txt sub/moved.txt; printf x > plan.txt",
        }),
      ],
    },
    { text: "Changed." },
  ];

  it("brings back what tools and commands changed, and /redo does it again, as often as one likes", async () => {
    const pagurus = await begin(change());
    await ask(pagurus, "Change the plan");
    const changed = [read("plan.txt"), read("new.txt"), read("sub/moved.txt")];
    assert.deepEqual(changed, ["x", "made", "second"]);
    for (let round = 0; round < 2; round += 1) {
      const undone = await command(pagurus, "/undo");
      assert.match(undone.text, /^Undone: "Change the plan"\. \d files changed back/);
      assert.deepEqual(undone.effects, [{ type: "rewound", text: "Change the plan" }]);
      assert.deepEqual(
        [read("plan.txt"), read("new.txt"), existsSync(join(folder, "sub"))],
        ["first", undefined, false],
      );
      assert.deepEqual(await texts(pagurus), []);
      const again = await command(pagurus, "/redo");
      assert.match(again.text, /^Done again\. \d files restored/);
      assert.deepEqual([read("plan.txt"), read("new.txt"), read("sub/moved.txt")], changed);
      assert.deepEqual(await texts(pagurus), ["Change the plan"]);
    }
    assert.match((await command(pagurus, "/redo")).text, /^Nothing was undone/);
  });

  it("goes back turn by turn, and forward again", async () => {
    const step = (text: string): ReplyStep[] => [
      { toolCalls: [call("write", { path: "plan.txt", content: text })] },
      { text },
    ];
    const pagurus = await begin([...step("second"), ...step("third")]);
    await ask(pagurus, "Two");
    await ask(pagurus, "Three");
    await command(pagurus, "/undo");
    assert.equal(read("plan.txt"), "second");
    await command(pagurus, "/undo");
    assert.equal(read("plan.txt"), "first");
    await command(pagurus, "/redo");
    assert.equal(read("plan.txt"), "second");
    await command(pagurus, "/redo");
    assert.equal(read("plan.txt"), "third");
    assert.deepEqual(await texts(pagurus), ["Two", "Three"]);
    await command(pagurus, "/rewind start");
    assert.equal(read("plan.txt"), "first");
    assert.deepEqual(await texts(pagurus), []);
  });

  it("keeps and names what the user changed since, until a yes", async () => {
    const pagurus = await begin(change());
    await ask(pagurus, "Change the plan");
    // The end of the turn is kept before a later request.
    await command(pagurus, "/undo preview");
    write("new.txt", "mine");
    const { text } = await command(pagurus, "/undo files");
    assert.match(text, /new\.txt: you or another conversation changed it since/);
    assert.match(text, /overwrite/);
    assert.deepEqual([read("new.txt"), read("plan.txt")], ["mine", "first"]);
    assert.deepEqual(await texts(pagurus), ["Change the plan"], "the words stay");
    const titles: string[] = [];
    const pick = (title: string, choices: readonly { value: string }[]): Promise<string | undefined> => {
      titles.push(title);
      return Promise.resolve(choices.at(-1)?.value);
    };
    await command(pagurus, "/undo", { pick });
    assert.match(titles.join(), /new\.txt/);
    assert.equal(read("new.txt"), undefined);
    await command(pagurus, "/redo");
    assert.equal(read("new.txt"), "mine");
  });

  it("shows the changed lines before, and changes nothing then", async () => {
    const pagurus = await begin(change());
    await ask(pagurus, "Change the plan");
    const { text, effects } = await command(pagurus, "/undo preview");
    assert.match(text, /D new\.txt\n[^]*-made/);
    assert.match(text, /M plan\.txt\n[^]*-x\n\+first/);
    assert.deepEqual(effects, []);
    assert.equal(read("new.txt"), "made");
    assert.deepEqual(await texts(pagurus), ["Change the plan"]);
  });

  it("lets a person choose words, files or both in /rewind", async () => {
    const pagurus = await begin(change());
    await ask(pagurus, "Change the plan");
    const answers = ["0", "words"];
    const titles: string[] = [];
    const pick = (title: string): Promise<string | undefined> => {
      titles.push(title);
      return Promise.resolve(answers.shift());
    };
    await command(pagurus, "/rewind", { pick });
    assert.deepEqual(titles, ["Go back to before which message?", "Rewind what?"]);
    assert.deepEqual([await texts(pagurus), read("new.txt")], [[], "made"]);
    await command(pagurus, "/redo");
    assert.deepEqual(await texts(pagurus), ["Change the plan"]);
    answers.push("0", "files");
    await command(pagurus, "/rewind", { pick });
    assert.deepEqual([await texts(pagurus), read("new.txt")], [["Change the plan"], undefined]);
  });

  it("reports to the model once which files were changed back", async () => {
    const pagurus = await begin(change());
    await ask(pagurus, "Change the plan");
    await command(pagurus, "/undo files");
    await ask(pagurus, "And now?");
    await ask(pagurus, "And then?");
    const notes = [2, 3].map(
      (index) => JSON.stringify(bench.body(index).messages).split("back to an earlier state").length - 1,
    );
    assert.deepEqual(notes, [1, 1], "with the next input, and not again");
    assert.match(JSON.stringify(bench.body(2).messages), /new\.txt/);
  });

  it("names the calls whose effects remain", async () => {
    const pagurus = await begin([
      { toolCalls: [call("shell", { command: "curl -s http://127.0.0.1:1/ ; printf y > plan.txt" })] },
      { text: "Sent." },
    ]);
    await ask(pagurus, "Send it");
    const { text } = await command(pagurus, "/undo");
    assert.match(text, /Effects outside of the folder remain: shell curl -s/);
    assert.equal(read("plan.txt"), "first");
  });

  it("keeps what a turn of another conversation changed since", async () => {
    const pagurus = await begin([
      ...change(),
      { toolCalls: [call("write", { path: "new.txt", content: "of the other" })] },
      { text: "Other." },
    ]);
    await ask(pagurus, "Change the plan");
    await ask(pagurus, "Another one", "other");
    const { text } = await command(pagurus, "/undo");
    assert.match(text, /new\.txt: you or another conversation changed it since/);
    assert.deepEqual([read("new.txt"), read("plan.txt")], ["of the other", "first"]);
  });

  it("makes no checkpoint in a folder that is not trusted, in the home, or where it is turned off", async () => {
    for (const { checkpoints, trustFolders, at } of [
      { checkpoints: undefined, trustFolders: false, at: "work" },
      { checkpoints: { enabled: false }, trustFolders: true, at: "work" },
      { checkpoints: { enabled: true }, trustFolders: true, at: "." },
    ]) {
      const pagurus = await begin(change(), checkpoints, trustFolders);
      await bench.ask(pagurus, "Change the plan", { cwd: join(bench.root, at), sessionKey: "main" });
      await pagurus.close();
      assert.equal(existsSync(join(bench.root, "home", "checkpoints")), false, JSON.stringify(checkpoints));
      if (at === "work") await bench.end();
    }
  });

  it("says why files stay where there is no checkpoint", async () => {
    const pagurus = await begin(change(), { enabled: false });
    await ask(pagurus, "Change the plan");
    const files = await command(pagurus, "/undo files");
    assert.match(files.text, /^Files are unchanged: there are no checkpoints of this folder\./);
    const { text } = await command(pagurus, "/undo");
    assert.match(
      text,
      /^Undone: "Change the plan"\. Files are unchanged: only the conversation was rewound\./,
    );
    assert.equal(read("new.txt"), "made");
    assert.deepEqual(await texts(pagurus), []);
    assert.equal(existsSync(join(bench.root, "home", "checkpoints")), false);
  });

  it("has all checkpoints of a turn when the host has closed", async () => {
    const pagurus = await begin(change());
    await ask(pagurus, "Change the plan");
    const { checkpoints } = await pagurus.status({ cwd: folder, sessionKey: "main" });
    assert.ok(checkpoints && checkpoints.folder > 0 && checkpoints.all === checkpoints.folder);
    await pagurus.close();
    const store = new CheckpointStore(join(bench.root, "home"), folder);
    const kinds = store.list().map(({ kind }) => kind);
    store.close();
    assert.deepEqual(kinds, ["after", "now"]);
  });
});
