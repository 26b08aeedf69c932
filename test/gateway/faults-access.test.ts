/** Access control: no request without a token of an open route is served, from any user of the machine. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { directUpstream } from "../../packages/gateway/src/upstream/direct.ts";
import { Captures } from "./capture/setting.ts";
import { assertFault, streamed, summing } from "./faults-setting.ts";
import {
  askRaw,
  requestBytes,
  setting,
  distinctive,
  withSetting,
  type RawAnswer,
  type RawRequest,
  type Setting,
} from "./passthrough-setting.ts";
import { APIS, atPort, eventsOf, sized, TURNS } from "./passthrough-traffic.ts";
import { say } from "./server/support.ts";
import { until } from "../runner/until.ts";

function request(made: Setting, token?: string, more: readonly string[] = []): RawRequest {
  const turn = atPort(TURNS[made.api], made.port);
  return sized({ ...turn, headers: [...turn.headers, ...more] }, token);
}

function assertRefused(made: Setting, answer: RawAnswer): void {
  assert.equal(answer.status, 401);
  assertFault(made.api, answer);
  assert.deepEqual([made.seenCalls.length, made.endpoint.asked.length, made.facts.length], [0, 0, 0]);
}

describe("a token", () => {
  for (const api of APIS)
    it(`of ${api} that is wrong, missing or nearly right is refused in the dialect's format`, async () => {
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: summing }, async (made) => {
        const { token, route } = made;
        assert.deepEqual(Object.keys(route.headers), ["x-pagurus-token"]);
        assert.match(token, /^[\w-]{43}$/);
        assert.ok(!route.baseUrl.includes(token));
        const almost = `${token.slice(0, -2)}${token.endsWith("AA") ? "BB" : "AA"}`;
        for (const wrong of [
          undefined,
          "",
          "wrong",
          almost,
          token.toUpperCase(),
          `${token} `.repeat(2),
          token.slice(0, -1),
        ])
          assertRefused(made, await askRaw(made, request(made, wrong)));
        const bearer = request(made, almost, ["Authorization", `Bearer ${token}`]);
        assertRefused(made, await askRaw(made, bearer));
        const other = request(made, token);
        const foreign = { ...other, headers: ["Host", "quay.example", ...other.headers.slice(2)] };
        assertRefused(made, await askRaw(made, foreign));
        assertRefused(
          made,
          await askRaw(made, { ...other, headers: [...other.headers, "Origin", "https://quay.example"] }),
        );
        assert.equal((await askRaw(made, other)).status, 200);
        made.log.assertWithout([token, almost, "quay.example"]);
      });
    });

  it("of a closed route is refused, while others continue", async () => {
    for (const api of APIS) {
      const made = await setting({ api, answer: streamed(eventsOf(api)), governor: summing });
      const { endpoint, gateway } = made;
      const other = await gateway.openRoute({
        api,
        sessionKey: "other",
        runtime: "test",
        governor: {
          main: async () => undefined,
          compaction: async () => undefined,
          upstream: () => directUpstream({ baseUrl: endpoint.baseUrl, label: "other" }),
          sent: () => undefined,
          answered: () => undefined,
        },
      });
      try {
        const bytes = request(made, made.token);
        assert.equal((await askRaw(made, bytes)).status, 200);
        await until(() => made.facts.length === 1);
        await made.route.close();
        const replayed = await askRaw(made, bytes);
        assert.equal(replayed.status, 401);
        assertFault(api, replayed);
        const inPath = request(made);
        assert.equal((await askRaw(made, { ...inPath, path: `/t/${made.token}${inPath.path}` })).status, 401);
        const [theirs = ""] = Object.values(other.headers);
        assert.equal((await askRaw(made, request(made, theirs))).status, 200, "the other route is open");
        assert.deepEqual([endpoint.asked.length, made.facts.length], [2, 1]);
        made.log.assertWithout([made.token, theirs]);
        await other.close();
        await assert.rejects(askRaw(made, bytes), "without a route nobody listens");
      } finally {
        await made.close();
      }
    }
  });
});

describe("a request's head", () => {
  it("of 10,000 bytes passes, and one that is too long is refused", async () => {
    for (const api of APIS)
      await withSetting({ api, answer: streamed(eventsOf(api)) }, async (made) => {
        const long = Array.from({ length: 100 }, (_, at) => [`X-Long-${at}`, "l".repeat(90)]).flat();
        const sent = request(made, made.token, long);
        const { body, ...rest } = sent;
        const head = requestBytes({ ...rest, body: Buffer.alloc(0) }).length;
        assert.ok(head > 10_000, `${head} bytes`);
        assert.equal((await askRaw(made, sent)).status, 200);
        assert.equal(
          made.endpoint.asked[0]?.headers.filter((name) => name.startsWith("X-Long-")).length,
          100,
        );
        assert.ok(made.endpoint.asked[0]?.body.equals(body));
        const refused = await askRaw(made, request(made, made.token, [...long, ...long, ...long]));
        assert.equal(refused.status, 431);
        assert.equal(made.endpoint.asked.length, 1);
        made.log.assertWithout([
          made.token,
          "llllllllll",
          ...distinctive(TURNS[api].headers.filter((_, at) => at % 2 === 1)),
        ]);
      });
  });

  it("that is no HTTP, or never ends, does no harm", async () => {
    await withSetting(
      { api: "openai-responses", answer: streamed(eventsOf("openai-responses")) },
      async (made) => {
        const { baseUrl } = made.route;
        for (const bytes of [
          "GARBAGE\r\n\r\n",
          "GET / HTTP/9.9\r\n\r\n",
          Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]),
          `POST ${"/".repeat(20_000)} HTTP/1.1\r\n\r\n`,
        ])
          assert.match(await say(baseUrl, bytes), /^$|^HTTP\/1\.1 4\d\d /);
        const idle = Array.from({ length: 50 }, () =>
          connect(made.port, "127.0.0.1").on("error", () => undefined),
        );
        for (const socket of idle) socket.write("POST /v1/responses HTTP/1.1\r\nHost:");
        assert.equal((await askRaw(made, request(made, made.token))).status, 200, "others are served beside");
        for (const socket of idle) socket.destroy();
        made.log.assertWithout([made.token, "GARBAGE"]);
      },
    );
  });
});

/** Searches for the gateway and for secrets, as a user without privileges; prints what it found. */
const INTRUDER = String.raw`
const { readFileSync, readdirSync } = require("node:fs");
const [pid, ...folders] = process.argv.slice(1);
const tried = (work) => { try { return work(); } catch (error) { return error.code; } };
const ports = readFileSync("/proc/net/tcp", "utf8").split("\n").flatMap((line) => {
  const [, local = "", , state] = line.trim().split(/\s+/);
  const [host, port = ""] = local.split(":");
  return host === "0100007F" && state === "0A" ? [parseInt(port, 16)] : [];
});
const ask = async (port) => {
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(60000);
  const sent = fetch("http://127.0.0.1:" + port + "/v1/responses", { method: "POST", headers, body: "{}", signal });
  return sent.then((response) => response.status, () => 0);
};
Promise.all(ports.map(async (port) => [port, await ask(port)])).then((asked) => console.log(JSON.stringify({
  uid: process.getuid(),
  asked: Object.fromEntries(asked),
  environ: tried(() => readFileSync("/proc/" + pid + "/environ", "latin1")),
  folders: folders.map((folder) => tried(() => readdirSync(folder).length)),
})));
`;

interface Tried {
  uid: number;
  asked: Record<string, number>;
  environ: string;
  folders: (string | number)[];
}

const UNPRIVILEGED = 65_534;

/** What another user of the machine can find; undefined if no process of another user can be started. */
async function intrude(pid: number, folders: readonly string[]): Promise<Tried | undefined> {
  const own = { uid: UNPRIVILEGED, gid: UNPRIVILEGED };
  if (process.getuid?.() !== 0 || spawnSync(process.execPath, ["-e", "0"], own).status !== 0)
    return undefined;
  const child = spawn(process.execPath, ["-e", INTRUDER, String(pid), ...folders], {
    ...own,
    cwd: "/",
    env: {},
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (piece: Buffer) => (output += piece.toString()));
  await once(child, "close");
  return JSON.parse(output) as Tried;
}

/** Simulated harness: a program with the token in its environment. */
async function harness(token: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000); console.log(1)"], {
    env: { PAGURUS_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

describe("another user of the machine", () => {
  it("finds the port and gets nothing there, and reads neither the harness's environment nor captures", async (t) => {
    if (!existsSync("/proc/net/tcp")) return t.skip("this system has no /proc");
    const captures = new Captures();
    const api = "openai-responses";
    const made = await setting({ api, answer: streamed(eventsOf(api)), capture: captures.log });
    const program = await harness(made.token);
    try {
      assert.equal((await askRaw(made, request(made, made.token))).status, 200);
      await until(() => made.facts.length === 1);
      await captures.log.settled();
      await until(() => captures.size() > 0);
      const { pid = 0 } = program;
      const folder = captures.folder();
      const tried = await intrude(pid, [captures.home, folder]);
      if (tried) {
        assert.equal(tried.uid, UNPRIVILEGED);
        assert.equal(tried.asked[made.port], 401, "found, and refused without a token");
        assert.equal(tried.environ, "EACCES");
        // The test's own temporary folder is closed to others; that of the captures must be too, wherever it is.
        assert.deepEqual(tried.folders, ["EACCES", "EACCES"]);
      }
      assert.equal(statSync(`/proc/${pid}/environ`).mode & 0o077, 0);
      for (const place of [folder, ...captures.files().map((file) => `${folder}/${file}`)])
        assert.equal(statSync(place).mode & 0o077, 0, `${place} is the user's own`);
      // The test's endpoint listens, too, and serves any client.
      assert.equal(made.facts.length, 1);
      made.log.assertWithout([made.token]);
      t.diagnostic(
        tried ? `a process of user ${tried.uid} tried` : "modes were looked at: no process of another user",
      );
    } finally {
      program.kill("SIGKILL");
      await made.close();
      captures.remove();
    }
  });
});
