/**
 * A hostile repository under `pagurus wire`: whatever its files say, no request, no key and no header of the user's programs is theirs
 * until the user trusts the folder, and then all works as each program has it.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { recordTrust } from "../../packages/core/src/config/folder-trust.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";
import { KEY, OWN, TRUST, WIRE_TRAPS, write, type Place, type WireTrap } from "./folder-traps.ts";

/** A program of the user's: sends one request where it is pointed to, with its key. */
const PROGRAM = `#!${process.execPath}
const { env } = process;
const route = () => {
  const pi = env.PAGURUS_WIRE_PI && JSON.parse(env.PAGURUS_WIRE_PI);
  if (pi) return { base: pi.baseUrl, headers: pi.headers, path: "/chat/completions" };
  const open = env.OPENCODE_CONFIG_CONTENT && JSON.parse(env.OPENCODE_CONFIG_CONTENT);
  if (open) return { base: Object.values(open.provider)[0].options.baseURL, headers: Object.values(open.provider)[0].options.headers, path: "/chat/completions" };
  const lines = (text = "") => Object.fromEntries(text.split("\\n").filter(Boolean).map((line) => line.split(": ")));
  if (env.COPILOT_PROVIDER_BASE_URL) return { base: env.COPILOT_PROVIDER_BASE_URL, headers: lines(env.COPILOT_PROVIDER_HEADERS), path: "/chat/completions" };
  if (env.GOOGLE_GEMINI_BASE_URL) return { base: env.GOOGLE_GEMINI_BASE_URL, path: "/v1beta/models/m1:generateContent" };
  if (env.OPENAI_HOST) return { base: env.OPENAI_HOST, path: "v1/chat/completions" };
  if (env.ANTHROPIC_BASE_URL) return { base: env.ANTHROPIC_BASE_URL, headers: lines(env.ANTHROPIC_CUSTOM_HEADERS), path: "/v1/messages" };
  return { base: env.OPENAI_BASE_URL, path: "/chat/completions" };
};
const { base, headers, path } = route();
const body = JSON.stringify({ model: "m1", max_tokens: 1, messages: [{ role: "user", content: "Hello." }] });
const key = { "x-api-key": "${KEY}", authorization: "Bearer ${KEY}", "content-type": "application/json" };
void fetch(base + path, { method: "POST", body, headers: { ...key, ...headers } }).then((answer) => answer.text());
`;

/** Records the heads of all requests. */
class Listener {
  readonly heads: IncomingMessage["headers"][] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      this.heads.push(request.headers);
      request.resume();
      request.on("end", () => response.writeHead(400, { "content-type": "application/json" }).end("{}"));
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

describe("a hostile repository under pagurus wire", () => {
  let root: string;
  let own: Listener;
  let trap: Listener;
  let place: Place;

  before(async () => {
    own = await new Listener().listen();
    trap = await new Listener().listen();
  });
  after(() => {
    own.close();
    trap.close();
  });
  beforeEach(() => {
    root = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-traps-")));
    own.heads.length = 0;
    trap.heads.length = 0;
    place = { home: join(root, "user"), repository: join(root, "cloned"), own: own.url, trap: trap.url };
    write(place.repository, { ".git/HEAD": "ref: refs/heads/main\n" });
    mkdirSync(join(root, "bin"));
    mkdirSync(place.home);
    for (const name of Object.keys(OWN)) writeFileSync(join(root, "bin", name), "", { mode: 0o755 });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** Runs the program in the repository, without a terminal. */
  async function run(trapped: WireTrap, ...options: string[]): Promise<{ code: number; cli: FakeCli }> {
    const { program, at = "" } = trapped;
    const env = {
      HOME: place.home,
      PATH: `${join(root, "bin")}:${process.env["PATH"] ?? ""}`,
      PAGURUS_HOME: join(root, "pagurus"),
      PAGURUS_NO_PROBE: "1",
      ...OWN[program]?.(place),
    };
    writeFileSync(join(root, "bin", program), PROGRAM, { mode: 0o755 });
    const cli = { ...fakeCli({ env, input: "", open: createPagurus }), cwd: join(place.repository, at) };
    const argv = ["wire", "--observe", ...options, ...(trapped.options ?? []), "--", program];
    return { code: await execute(argv, cli), cli };
  }

  function trust(trapped: WireTrap): void {
    const record = TRUST[trapped.program];
    if (record) record(place);
    else recordTrust(join(root, "pagurus"), place.repository, true);
  }

  for (const trapped of WIRE_TRAPS) {
    it(`gets nothing of ${trapped.program} where it ${trapped.tries}`, async () => {
      write(place.repository, trapped.files(place));
      const { code, cli } = await run(trapped);
      assert.equal(code === 0, trapped.isRefused !== true, cli.err());
      assert.equal(trap.heads.length, 0, "requests at the repository's server");
      assert.equal(existsSync(join(place.repository, "executed")), false);
      if (trapped.isRefused) {
        assert.match(cli.err(), /would load plugins of "\.opencode" in this folder, which you do not trust/);
        return;
      }
      assert.deepEqual(
        own.heads.map((head) => head["x-trap"]),
        [undefined],
        "the user's own provider is asked",
      );
      assert.ok(JSON.stringify(own.heads).includes(KEY), "with the user's key");
    });

    it(`is as ${trapped.program} has it once it is trusted, where it ${trapped.tries}`, async () => {
      write(place.repository, trapped.files(place));
      trust(trapped);
      const { code, cli } = await run(trapped);
      assert.equal(code, 0, cli.err());
      const asked = [trap.heads.length, own.heads.length];
      assert.deepEqual(asked, trapped.trusted === "trap" ? [1, 0] : [0, 1], cli.err());
      assert.equal(
        existsSync(join(place.repository, "executed")),
        false,
        "Pagurus itself runs nothing of it",
      );
    });
  }
});
