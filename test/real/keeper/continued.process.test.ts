/** Kept conversations as sessions of other programs, which the real programs resume: each pair of four. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { wholeOf, type NativeSession, type Portable } from "../../../packages/keeper/src/native/portable.ts";
import { writeClaudeCode } from "../../../packages/keeper/src/native/write-claude-code.ts";
import { writeCodex } from "../../../packages/keeper/src/native/write-codex.ts";
import { writeOpenCode } from "../../../packages/keeper/src/native/write-opencode.ts";
import { writePi } from "../../../packages/keeper/src/native/write-pi.ts";
import { FULL } from "../../runner/short-form.ts";
import { inputOf } from "../../runner/child-input.ts";
import { startServer, type ModelServer, type RecordedRequest } from "../../servers/server.ts";
import { finish, makeSetting, type Setting } from "../../turn/setting.ts";
import { PROGRAM_CASES, type ProgramCase } from "../wire/programs-table.ts";
import { madeConversation, marksOf } from "./made-conversation.ts";

const TURNS = 200;
const COMPACTED_AT = 120;
const MODEL = { providerID: "mine", modelID: "m1" };
type Written = { id: string; file: string };

interface Kind {
  agent: "claude-code" | "codex" | "opencode" | "pi";
  id: ProgramCase["id"];
  write: (portable: Portable, now: number) => NativeSession;
  /** Its home, below the user's. */
  home: string;
  /** Arguments of the program, one start after the other. */
  resume: (session: Written, prompt: string) => string[][];
}

const KINDS: readonly Kind[] = [
  {
    agent: "claude-code",
    id: "claude",
    write: (portable, now) => writeClaudeCode(portable, { id: randomUUID(), now }),
    home: ".claude",
    resume: ({ id }, prompt) => [["-p", prompt, "--resume", id, "--allowedTools", "Bash"]],
  },
  {
    agent: "codex",
    id: "codex",
    write: (portable, now) => writeCodex(portable, { id: randomUUID(), now }),
    home: ".codex",
    resume: ({ id }, prompt) => [["exec", "--skip-git-repo-check", "resume", id, prompt]],
  },
  {
    agent: "opencode",
    id: "opencode",
    write: (portable, now) => writeOpenCode(portable, { now }, MODEL),
    home: ".local/share/opencode",
    resume: ({ id, file }, prompt) => [
      ["import", file],
      ["run", "--session", id, prompt],
    ],
  },
  {
    agent: "pi",
    id: "pi",
    write: (portable, now) => writePi(portable, { id: randomUUID(), now }),
    home: ".pi/agent",
    resume: ({ file }, prompt) => [["-p", "--session", file, prompt]],
  },
];

/** Each pair; in the short form each program once as the source and once as the target. */
const PAIRS = FULL
  ? KINDS.flatMap((source) => KINDS.map((target) => [source, target] as const))
  : KINDS.map((source, at) => [source, KINDS[(at + 1) % KINDS.length] ?? source] as const);
const WHOLE = FULL ? KINDS : KINDS.slice(0, 1);

/** One user's home with all four programs, each with a scripted model. */
class Continued {
  readonly setting: Setting = makeSetting();
  readonly servers: ModelServer[] = [];
  readonly mains = new Map<string, RecordedRequest[]>();
  #env: Record<string, string> = {};

  async open(): Promise<void> {
    const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    this.#env = { ...this.setting.env, PATH: path };
    for (const { agent, id } of KINDS) {
      const program = caseOf(id);
      const seen: RecordedRequest[] = [];
      this.mains.set(agent, seen);
      const script = (request: RecordedRequest): { text: string } => {
        if (!program.isMain(request)) return { text: "A title." };
        seen.push(request);
        return { text: `Answer of the real ${agent}.` };
      };
      const server = await startServer({ protocol: program.protocol, script });
      this.servers.push(server);
      Object.assign(this.#env, program.setUp({ home: this.setting.root, url: server.url }));
    }
    this.#takeImages();
  }

  /** The models of pi and OpenCode see images. */
  #takeImages(): void {
    const pi = join(this.setting.root, ".pi/agent/models.json");
    writeFileSync(pi, readFileSync(pi, "utf8").replace('["text"]', '["text","image"]'));
    const openCode = join(this.setting.root, ".config/opencode/opencode.json");
    const sees =
      '"attachment":true,"modalities":{"input":["text","image"],"output":["text"]},"tool_call":true';
    writeFileSync(openCode, readFileSync(openCode, "utf8").replace('"tool_call":true', sees));
  }

  async resume(kind: Kind, session: Written, prompt: string): Promise<RecordedRequest> {
    for (const argv of kind.resume(session, prompt)) {
      const running = promisify(execFile)(caseOf(kind.id).program(), argv, {
        cwd: this.setting.workspace,
        env: this.#env,
        timeout: 1_200_000,
      });
      inputOf(running.child).end();
      await running;
    }
    return this.mains.get(kind.agent)?.at(-1) ?? assert.fail(`${kind.agent} sent nothing`);
  }

  /** Writes a session where the program has it. */
  put(kind: Kind, portable: Portable): Written {
    const { id, place, name, content } = kind.write({ ...portable, cwd: this.setting.workspace }, Date.now());
    const file =
      place === undefined ? join(this.setting.root, name) : join(this.setting.root, kind.home, place);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return { id, file };
  }

  async pagurus(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await finish({ ...this.setting, env: this.#env }, args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  async end(): Promise<void> {
    for (const server of this.servers) await server.close();
    this.setting.remove();
  }
}

function caseOf(id: ProgramCase["id"]): ProgramCase {
  return PROGRAM_CASES.find((each) => each.id === id) ?? assert.fail(id);
}

/** Each mark of the turns is in the request once, and none of the others is. */
function assertOnce(request: RecordedRequest, turns: readonly number[], label: string): void {
  const body = JSON.stringify(request.body);
  const counts = new Map<string, number>();
  for (const [mark] of body.matchAll(/\b(?:ask|say|run|out)-\d+-mark\b/g))
    counts.set(mark, (counts.get(mark) ?? 0) + 1);
  const marks = turns.flatMap((turn) => marksOf(turn).words);
  const wrong = marks.filter((mark) => counts.get(mark) !== 1);
  assert.deepEqual(
    wrong.map((mark) => `${mark} ${counts.get(mark) ?? 0}`),
    [],
    label,
  );
  assert.deepEqual(
    [...counts.keys()].filter((mark) => !marks.includes(mark)),
    [],
    `${label}: no others`,
  );
  for (const image of turns.flatMap((turn) => marksOf(turn).images))
    assert.equal(body.split(image).length - 1, 1, `${label}: an image`);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

describe(
  "a kept conversation of 200 turns with tools, a compaction and images",
  { timeout: 3_000_000 },
  () => {
    const run = new Continued();
    const sources = new Map<string, string>();
    const made: Portable = { cwd: "", title: "The harbour", items: madeConversation(TURNS, COMPACTED_AT) };

    before(() => run.open());
    after(() => run.end());

    for (const source of KINDS)
      it(`is resumed by the real ${source.agent}`, async () => {
        const written = run.put(source, made);
        const request = await run.resume(source, written, `First prompt for ${source.agent}.`);
        assertOnce(request, range(COMPACTED_AT, TURNS), source.agent);
        assert.equal(request.text.split("the-summary-mark").length - 1, 1);
        sources.set(source.agent, written.id);
      });

    for (const [source, target] of PAIRS)
      it(`of ${source.agent} continues in ${target.agent}, which sends every word once`, async () => {
        await run.pagurus("keep", "once");
        const id = sources.get(source.agent) ?? assert.fail("no source");
        const json = await run.pagurus("keep", "continue", id, "--with", target.agent, "--json");
        const request = await run.resume(target, JSON.parse(json) as Written, "Second prompt.");
        assertOnce(request, range(COMPACTED_AT, TURNS), `${source.agent} to ${target.agent}`);
        for (const words of [
          "the-summary-mark",
          `First prompt for ${source.agent}.`,
          `Answer of the real ${source.agent}.`,
          "Second prompt.",
        ])
          assert.equal(request.text.split(words).length - 1, 1, words);
      });

    for (const target of WHOLE)
      it(`continues whole in ${target.agent}, without the summary`, async () => {
        const whole = run.put(target, { ...made, items: wholeOf(made.items) });
        const request = await run.resume(target, whole, "A prompt.");
        assertOnce(request, range(0, TURNS), `whole in ${target.agent}`);
        assert.ok(!request.text.includes("the-summary-mark"));
      });
  },
);
