/** A home with an adapter installed, a scripted model, and the host that serves adapters. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import assert from "node:assert/strict";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { finish, makeSetting, type Setting } from "../../turn/setting.ts";
import { until } from "../../runner/until.ts";
import { PROGRAM_CASES, type ProgramCase } from "../wire/programs-table.ts";

export class InsideRun {
  readonly setting: Setting;
  readonly program: ProgramCase;
  readonly model: ModelServer;
  readonly env: Record<string, string>;
  /** Answers the model's requests; a test replaces it. */
  script: (request: RecordedRequest) => ReplyStep = () => ({ text: "Fine." });

  private constructor(setting: Setting, program: ProgramCase, protocolServer: ModelServer) {
    this.setting = setting;
    this.program = program;
    this.model = protocolServer;
    const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    this.env = { ...setting.env, PATH: path, ...program.setUp({ home: setting.root, url: this.model.url }) };
  }

  static async of(id: ProgramCase["id"]): Promise<InsideRun> {
    const program = PROGRAM_CASES.find((each) => each.id === id) ?? assert.fail();
    const setting = makeSetting({ plugins: { entries: { lossless: { config: { trigger: 12_000 } } } } });
    let run: InsideRun | undefined;
    const script = (request: RecordedRequest): ReplyStep => run?.script(request) ?? assert.fail();
    run = new InsideRun(setting, program, await startServer({ protocol: program.protocol, script }));
    return run;
  }

  /** Installs the adapter of a program, and starts the host as the adapter would, from `place`, below the user's home. */
  async install(id: string, place: string): Promise<void> {
    const installed = await finish(this.setting, ["install", id, "--yes"]);
    assert.equal(installed.code, 0, installed.stderr);
    const text = readFileSync(join(this.setting.root, place), "utf8");
    const { socket, wake } = JSON.parse(text) as { socket: string; wake: string[] };
    const [command = "", ...args] = wake;
    await promisify(execFile)(command, args, { env: this.setting.env });
    await until(() => existsSync(socket));
  }

  /** Lines of the messages that the home has of the program's only conversation, and its key. */
  async kept(id: string): Promise<{ key: string; messages: string[] }> {
    const listed = await finish(this.setting, ["sessions", "list", "--json"]);
    const keys = (JSON.parse(listed.stdout) as { sessionKey: string }[]).map(({ sessionKey }) => sessionKey);
    const key = keys.find((each) => each.startsWith(`inside/${id}/`)) ?? assert.fail(listed.stdout);
    const shown = await finish(this.setting, ["sessions", "show", key, "--json"]);
    const lines = shown.stdout.trim().split("\n");
    return {
      key,
      messages: lines.filter((line) => (JSON.parse(line) as { type: string }).type === "message"),
    };
  }

  async end(): Promise<void> {
    await finish(this.setting, ["serve", "stop"]);
    await this.model.close();
    this.setting.remove();
  }
}

/** Every file below a folder with its text. */
export function filesOf(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        return [file, readFileSync(file, "latin1")];
      }),
  );
}

/** `a0 a1 a2 …`. */
export function numbered(prefix: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`).join(" ");
}
