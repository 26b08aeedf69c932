/** `keep continue`: a kept conversation as a new session of a program, which that program resumes. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { plural } from "@pagurus/core/data/plain-numbers";
import { shellWord } from "@pagurus/core/platform/shell-word";
import { keeperPlace } from "@pagurus/keeper/keeper-place";
import { programLabel } from "@pagurus/keeper/loss-words";
import { wholeOf, type NativeSession, type Portable } from "@pagurus/keeper/native/portable";
import { newestModel } from "@pagurus/keeper/native/read-opencode";
import { writeClaudeCode } from "@pagurus/keeper/native/write-claude-code";
import { writeCodex } from "@pagurus/keeper/native/write-codex";
import { writeOpenCode, type OpenCodeModel } from "@pagurus/keeper/native/write-opencode";
import { writePi } from "@pagurus/keeper/native/write-pi";
import { PROGRAMS } from "@pagurus/keeper/programs/all-programs";
import type { KeptWords } from "@pagurus/keeper/words/kept-words";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { writeNewFile } from "../new-file.ts";
import { foundConversation, withWords } from "./keep-look.ts";
import { keptPortable } from "./kept-portable.ts";

export interface ContinueOptions {
  with: string;
  output?: string;
  folder?: string;
  version?: number;
  whole?: boolean;
  model?: string;
  json?: boolean;
}

interface Target {
  write: (portable: Portable, now: number) => NativeSession;
  /** Commands that continue the session. */
  commands: (session: NativeSession, file: string) => string[];
}

const TARGETS = ["claude-code", "codex", "opencode", "pi"] as const;

/** The original is only read. */
export function keepContinue(cli: Cli, name: string, options: ContinueOptions): Promise<number> {
  return withWords(cli, async (words) => {
    const conversation = foundConversation(words, name);
    const { copies } = keeperPlace(resolveHome(cli.env));
    const { version } = options;
    const kept = await keptPortable({ words, conversation, env: cli.env, version, copies });
    const cwd = options.folder === undefined ? kept.cwd || cli.cwd : resolve(cli.cwd, options.folder);
    const items = options.whole === true ? wholeOf(kept.items) : kept.items;
    const target = targetOf(cli, words, options);
    const session = target.write({ ...kept, cwd, items }, Date.now());
    const file = fileOf(cli, session, options);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    await writeNewFile(cli.cwd, file, contentOf(session));
    const commands = target.commands(session, file);
    const messages = wholeOf(items).length;
    if (options.json === true) {
      printJson(cli, { id: session.id, file, folder: cwd, messages, thoughts: session.thoughts, commands });
      return EXIT_DONE;
    }
    printLine(cli.stdout, `Wrote ${plural(messages, "message")} to ${file}; the original is as it was.`);
    if (session.thoughts > 0)
      printLine(
        cli.stdout,
        `${plural(session.thoughts, "thought")} of the model left out: they are signed for it.`,
      );
    printLine(cli.stdout, `Continue in ${cwd} with: ${commands.join(" && ")}`);
    return EXIT_DONE;
  });
}

async function* contentOf({ content }: NativeSession): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

function fileOf(cli: Cli, { name, place }: NativeSession, options: ContinueOptions): string {
  if (options.output !== undefined) return resolve(cli.cwd, options.output);
  const [home] = PROGRAMS.find(({ id }) => id === options.with)?.homes(cli.env) ?? [];
  return place === undefined || home === undefined ? resolve(cli.cwd, name) : join(home, place);
}

function targetOf(cli: Cli, words: KeptWords, { with: name, model }: ContinueOptions): Target {
  switch (name) {
    case "claude-code":
      return {
        write: (portable, now) => writeClaudeCode(portable, { id: randomUUID(), now }),
        commands: ({ id }) => [`claude --resume ${id}`],
      };
    case "codex":
      return {
        write: (portable, now) => writeCodex(portable, { id: randomUUID(), now }),
        commands: ({ id }) => [`codex resume ${id}`],
      };
    case "pi":
      return {
        write: (portable, now) => writePi(portable, { id: randomUUID(), now }),
        commands: (_session, file) => [`pi --session ${shellWord(file)}`],
      };
    case "opencode":
      return {
        write: (portable, now) => writeOpenCode(portable, { now }, openCodeModel(cli, words, model)),
        commands: ({ id }, file) => [`opencode import ${shellWord(file)}`, `opencode --session ${id}`],
      };
    default:
      throw usageError(
        `No session of ${JSON.stringify(name)} can be written; take ${TARGETS.map((each) => `${each} (${programLabel(each)})`).join(", ")}.`,
      );
  }
}

/** The model with which OpenCode continues: it takes that of the last message. */
function openCodeModel(cli: Cli, words: KeptWords, name: string | undefined): OpenCodeModel {
  if (name === undefined) {
    const { copies } = keeperPlace(resolveHome(cli.env));
    const known = newestModel(words.archive, join(copies, `models-${process.pid}`));
    if (known) return known;
  }
  const [, providerID = "", modelID = ""] = /^([^/]+)\/(.+)$/.exec(name ?? "") ?? [];
  if (modelID === "")
    throw usageError("Name the model with which OpenCode continues: --model <provider>/<model>.");
  return { providerID, modelID };
}
