/**
 * A program's own login under `pagurus wire --login`: credentials and identity reach the program's own host as without Pagurus, no
 * other host, and no file, log, capture or command line.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Protocol, RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";
import { WrapRun, type Ended } from "./wrap-bench.ts";

const SECRET = "s3cr3t-0f-this-run-9417";
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const JWT = `${part({ alg: "none" })}.${part({
  exp: 4_000_000_000,
  email: "user@example.test",
  "https://api.openai.com/auth": { chatgpt_plan_type: "pro", chatgpt_account_id: "acct-17" },
})}.${SECRET}`;
const OAUTH = `sk-ant-oat01-${SECRET}`;

/** Paths of requests to a model; a program has others of its own. */
const MODEL = /\/(?:messages|responses)/;

/** The program's own back end: records the heads, and passes to the scripted server under another path. */
class BackEnd {
  readonly heads: IncomingMessage["headers"][] = [];
  readonly paths: string[] = [];
  /** Answers requests to a model with a redirect to this address. */
  redirect: string | undefined;
  readonly #server: Server;

  constructor(target: string, path: { from: string; to: string }) {
    this.#server = createServer((incoming, response) => {
      this.heads.push(incoming.headers);
      this.paths.push(incoming.url ?? "");
      if (this.redirect !== undefined && MODEL.test(incoming.url ?? "")) {
        response.writeHead(307, { location: this.redirect }).end();
        return;
      }
      const url = new URL((incoming.url ?? "").replace(path.from, path.to), target);
      const headers = { ...incoming.headers, host: url.host };
      const passed = httpRequest(url, { method: incoming.method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      passed.on("error", () => response.destroy());
      incoming.pipe(passed);
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Heads of the requests to a model. */
  models(): IncomingMessage["headers"][] {
    return this.heads.filter((_head, index) => MODEL.test(this.paths[index] ?? ""));
  }

  clear(): void {
    this.heads.length = 0;
    this.paths.length = 0;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesUnder(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Files of the run that hold the secret, without the program's own. */
function leaks(root: string, own: string): string[] {
  return filesUnder(root).filter(
    (path) =>
      !path.startsWith(own) && statSync(path).size < 64_000_000 && readFileSync(path).includes(SECRET),
  );
}

/** Command lines of all processes that hold the secret. */
function onCommandLines(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return line.includes(SECRET) ? [line] : [];
      } catch {
        return [];
      }
    });
}

interface Login {
  name: string;
  protocol: Protocol;
  path: { from: string; to: string };
  /** Folder of the program's own files. */
  own: string;
  setUp(run: WrapRun, url: string): Record<string, string>;
  words: string[];
  /** Arguments of a run without Pagurus, without transports that the back end of the test lacks. */
  alone(url: string): string[];
  credentials(head: IncomingMessage["headers"]): unknown;
  wanted: unknown;
  /** Headers by which the provider knows the program. */
  identity: RegExp;
  /** First part of its rules. */
  firstRules(request: RecordedRequest): unknown;
}

const LOGINS: readonly Login[] = [
  {
    name: "Claude Code",
    protocol: "anthropic-messages",
    path: { from: "/v1/", to: "/v1/" },
    own: "claude",
    setUp: (run, url) => {
      const claudeAiOauth = {
        accessToken: OAUTH,
        refreshToken: SECRET,
        expiresAt: 4e12,
        scopes: ["user:inference"],
      };
      writeFileSync(
        join(run.root, "claude", ".credentials.json"),
        JSON.stringify({ claudeAiOauth: { ...claudeAiOauth, subscriptionType: "pro" } }),
      );
      return { ANTHROPIC_BASE_URL: url };
    },
    words: [claudeBinary(), "-p", "Which berth is free?"],
    alone: () => ["-p", "Which berth is free?"],
    credentials: ({ authorization }) => authorization,
    wanted: `Bearer ${OAUTH}`,
    identity: /^(?:user-agent|x-app|anthropic-beta|anthropic-version|anthropic-dangerous)/,
    firstRules: ({ body }) => (body["system"] as unknown[])[0],
  },
  {
    name: "Codex",
    protocol: "openai-responses",
    path: { from: "/backend-api/codex/", to: "/v1/" },
    own: "codex",
    setUp: (run, url) => {
      run.setCodex(`chatgpt_base_url = "${url}/backend-api/"`);
      const tokens = { id_token: JWT, access_token: JWT, refresh_token: SECRET, account_id: "acct-17" };
      writeFileSync(
        join(run.root, "codex", "auth.json"),
        JSON.stringify({ auth_mode: "chatgpt", tokens, last_refresh: new Date().toISOString() }),
      );
      return {};
    },
    words: [
      codexBinary(),
      "exec",
      "--skip-git-repo-check",
      "-c",
      "model_provider=openai",
      "Which berth is free?",
    ],
    alone: (url) => [
      "exec",
      "--skip-git-repo-check",
      "-c",
      `model_providers.alone={name="alone",base_url="${url}/backend-api/codex",wire_api="responses",requires_openai_auth=true,supports_websockets=false}`,
      "-c",
      "model_provider=alone",
      "Which berth is free?",
    ],
    credentials: (head) => [head.authorization, head["chatgpt-account-id"]],
    wanted: [`Bearer ${JWT}`, "acct-17"],
    identity: /^(?:user-agent|originator|version)/,
    firstRules: ({ body }) => body["instructions"],
  },
];

for (const login of LOGINS)
  describe(`the own login of ${login.name} under pagurus wire --login`, () => {
    let run: WrapRun;
    let back: BackEnd;
    let elsewhere: BackEnd;
    let env: Record<string, string>;
    let lines: string[] = [];

    before(async () => {
      run = await WrapRun.with(login.protocol, (): ReplyStep => {
        lines.push(...onCommandLines());
        return { text: "Berth 9 is free." };
      });
      back = await new BackEnd(run.server.url, login.path).listen();
      elsewhere = await new BackEnd(run.server.url, login.path).listen();
      mkdirSync(run.home, { recursive: true });
      hosts([back.url, elsewhere.url]);
      env = login.setUp(run, back.url);
    });
    after(async () => {
      back.close();
      elsewhere.close();
      await run.end();
    });
    beforeEach(() => {
      lines = [];
      back.clear();
      back.redirect = undefined;
    });

    const start = (...options: Parameters<WrapRun["run"]>): Promise<Ended> => run.run(...options);
    const identityOf = (head: IncomingMessage["headers"] | undefined): unknown =>
      Object.entries(head ?? {})
        .filter(([name]) => login.identity.test(name))
        .map(([name, value]) => `${name}: ${String(value)}`)
        .toSorted();

    const hosts = (urls: readonly string[]): void => {
      const loginHosts = urls.map((url) => new URL(url).host);
      writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ wire: { loginHosts } }));
    };

    it("reaches no host but its maker's and those that the configuration names (finding 2.2)", async () => {
      hosts([elsewhere.url]);
      for (const options of [{ login: true }, { observe: true }]) {
        const ended = await start(options, env, ...login.words);
        assert.equal(ended.code, 2);
        assert.match(ended.stderr, /127\.0\.0\.1:\d+, which is no host of that login/);
      }
      assert.deepEqual([...back.models(), ...elsewhere.models()], []);
      hosts([back.url, elsewhere.url]);
    });

    it("reaches its own host with the credentials and the identity of a run without Pagurus", async () => {
      const [command = ""] = login.words;
      const child = spawn(command, login.alone(back.url), {
        cwd: run.cwd,
        env: run.env(env),
        stdio: "ignore",
      });
      assert.equal(await new Promise((resolve) => child.on("close", resolve)), 0);
      const alone = back.models().at(-1);
      const aloneRequest = run.server.requests.at(-1);
      back.clear();
      const ended = await start({ login: true, session: "own", capture: true }, env, ...login.words);
      assert.equal(ended.code, 0, ended.stderr);
      const request = run.server.requests.at(-1);
      assert.ok(alone && aloneRequest && request);
      const head = back.models().at(-1);
      assert.deepEqual(head && login.credentials(head), login.wanted);
      assert.deepEqual(head && login.credentials(alone), login.wanted);
      assert.deepEqual(identityOf(head), identityOf(alone));
      assert.ok(back.heads.every((each) => each["x-pagurus-token"] === undefined));
      assert.deepEqual(login.firstRules(request), login.firstRules(aloneRequest), "byte for byte");
    });

    it("is governed: the next start continues the session", async () => {
      const ended = await start({ login: true, session: "own" }, env, ...login.words);
      assert.equal(ended.code, 0, ended.stderr);
      assert.match(run.server.requests.at(-1)?.text ?? "", /Berth 9 is free\./);
      assert.equal((await run.transcript("own")).length, 4);
      const [receipt] = await run.receipts("own");
      assert.equal(receipt?.engine, "lossless");
    });

    it("is in no file, log or capture of Pagurus, and on no command line", async () => {
      const ended = await start({ login: true, session: "kept", capture: true }, env, ...login.words);
      assert.equal(ended.code, 0, ended.stderr);
      assert.deepEqual(lines, []);
      assert.deepEqual(leaks(run.root, join(run.root, login.own)), []);
      assert.doesNotMatch(ended.stdout + ended.stderr, new RegExp(SECRET));
      const captures = filesUnder(join(run.home, "captures"));
      assert.ok(captures.length > 0, "requests were captured");
    });

    it("is not sent where its host redirects to", async () => {
      back.redirect = `${elsewhere.url}${login.path.from}messages`;
      const options = { login: true, session: "moved" };
      const short = { ...env, CLAUDE_CODE_MAX_RETRIES: "0" };
      const ended = await start(options, short, ...login.words);
      assert.notEqual(ended.code, 0);
      assert.ok(back.models().length > 0);
      assert.deepEqual(elsewhere.models(), [], "no request to a model");
      assert.ok(elsewhere.heads.every(({ authorization }) => authorization === undefined));
    });

    it("is refused without the user's word, and the sentence names the switch", async () => {
      const ended = await start({ session: "no" }, env, ...login.words);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, /pass --login \(or set wire\.ownLogin\) if your terms allow this/);
      assert.deepEqual(back.models(), []);
    });
  });
