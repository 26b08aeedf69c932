import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, it } from "node:test";
import { BUNDLED_CHANNELS } from "../../packages/core/src/config/bundled.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { ChannelEvents } from "../../packages/channels/src/channel-events.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { IrcService } from "../channels/irc-service.ts";
import { fakeCli } from "./fake-cli.ts";

describe("pagurus channels", () => {
  let home: string;
  let service: IrcService;
  let url: string;
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "pagurus-channels-"));
    service = new IrcService();
    url = await service.start();
  });
  afterEach(() => {
    service.close();
    rmSync(home, { recursive: true, force: true });
  });

  const config = (): string => readFileSync(join(home, "pagurus.json"), "utf8");

  async function run(argv: string[], typed?: string): Promise<{ code: number; out: string; err: string }> {
    const env = { PAGURUS_HOME: home, NO_COLOR: "1", IRC_PASSWORD: "secret", WRONG_PASSWORD: "x" };
    const cli = fakeCli({ env, input: "" });
    if (typed !== undefined) {
      cli.stdin = Object.assign(Readable.from([typed]), { isTTY: true });
      cli.stderr.isTTY = true;
    }
    const code = await execute(argv[0] === "doctor" ? argv : ["channels", ...argv], cli);
    return { code, out: cli.out(), err: cli.err() };
  }

  it("are added with flags, and the comments of the file stay", async () => {
    writeFileSync(join(home, "pagurus.json"), "{\n  // mine\n  channels: {},\n}\n", { mode: 0o600 });
    const { code, out } = await run(
      ["add", "harbour", "--kind", "irc", "--set", `service=${url}`, "nick=crab", "account=crab"].concat([
        "password=${IRC_PASSWORD}",
        "allow=account:ann, account:bob",
      ]),
    );
    assert.equal(code, 0);
    assert.match(out, /^The channel harbour is in .*pagurus channels test harbour checks it/);
    assert.match(config(), /\/\/ mine/);
    assert.match(config(), /"?password"?: "\$\{IRC_PASSWORD\}"/);
    assert.match(config(), /\[\s*"account:ann",\s*"account:bob"\s*\]/);
    const again = await run(["add", "harbour", "--kind", "irc"]);
    assert.match(again.err, /The channel harbour is configured already/);
  });

  it("need what their kind needs, which an error names", async () => {
    const { code, err } = await run(["add", "home", "--kind", "xmpp"]);
    assert.equal(code, 2);
    assert.match(err, /kind xmpp needs --set jid=… and --set password=…/);
    const { err: kinds } = await run(["add", "home"]);
    assert.ok(kinds.includes(`--kind: ${BUNDLED_CHANNELS.join(", ")}, or one of a plugin`), kinds);
    assert.match((await run(["add", "home", "--kind", "irc", "--set", "nick"])).err, /--set takes key=value/);
    const wrong = await run(["add", "home", "--kind", "irc", "--set", "service=http://x", "nick=crab"]);
    assert.match(wrong.err, /channels\.home\.service/);
  });

  it("are added with a question for each key, and a secret as the name of a variable", async () => {
    const answers = ["irc", url, "crab", "crab", "not a name", "IRC_PASSWORD", "", "#boats, #nets", ""];
    const { code, err } = await run(["add", "harbour"], `${answers.join("\n")}\n`);
    assert.equal(code, 0, err);
    assert.match(
      err,
      /Password of the account: the environment variable that has it, such as HARBOUR_PASSWORD/,
    );
    const { channels } = JSON.parse(config()) as { channels: unknown };
    assert.deepEqual(
      { channels },
      {
        channels: {
          harbour: {
            kind: "irc",
            service: url,
            nick: "crab",
            account: "crab",
            password: "${IRC_PASSWORD}",
            join: ["#boats", "#nets"],
          },
        },
      },
    );
  });

  it("of each kind ask for what it needs", async () => {
    const mail = ["mail", "email", "crab@example.org", "MAIL_PASSWORD", "imaps://mail.example.org"];
    const rest = ["smtps://mail.example.org", "mail.example.org", "", "ann@example.org"];
    const asked = await run(
      ["add", mail[0] ?? "", "--kind", mail[1] ?? ""],
      `${[...mail.slice(2), ...rest].join("\n")}\n`,
    );
    assert.equal(asked.code, 0, asked.err);
    const hub = await run(["add", "gh"], "github\nGH_TOKEN\n\nboats/harbour, boats/pier\n583231\n");
    assert.equal(hub.code, 0, hub.err);
    const { channels } = JSON.parse(config()) as { channels: unknown };
    assert.deepEqual(channels, {
      mail: {
        kind: "email",
        address: "crab@example.org",
        password: "${MAIL_PASSWORD}",
        imap: "imaps://mail.example.org",
        smtp: "smtps://mail.example.org",
        authserv: "mail.example.org",
        allow: ["ann@example.org"],
      },
      gh: {
        kind: "github",
        token: "${GH_TOKEN}",
        groups: { "boats/harbour": {}, "boats/pier": {} },
        allow: ["583231"],
      },
    });
  });

  it("are not written with a secret in clear, and a typed one becomes no name of a variable", async () => {
    const clear = await run([
      "add",
      "home",
      "--kind",
      "xmpp",
      "--set",
      "jid=crab@example.org",
      "password=hunter2",
    ]);
    assert.equal(clear.code, 2);
    assert.match(clear.err, /--set 'password=\$\{HOME_PASSWORD\}'/);
    assert.doesNotMatch(clear.err, /hunter2/);
    assert.equal(existsSync(join(home, "pagurus.json")), false);
    const answers = ["crab@example.org", "thepassword", "HOME_PASSWORD", "", ""];
    const typed = await run(["add", "home", "--kind", "xmpp"], `${answers.join("\n")}\n`);
    assert.equal(typed.code, 0, typed.err);
    assert.match(typed.err, /That is no environment variable here\. .*not the secret itself/);
    assert.match(typed.err, /warning: the environment variable HOME_PASSWORD, .* is not set here/);
    assert.doesNotMatch(`${typed.err}${typed.out}${config()}`, /thepassword/);
  });

  it("are not written where they could not start", async () => {
    const mail = [
      "add",
      "mail",
      "--kind",
      "email",
      "--set",
      "address=crab@example.org",
      "password=${MAIL_PASSWORD}",
    ];
    const servers = ["imap=imaps://mail.example.org", "smtp=smtps://mail.example.org"];
    const { code, err } = await run([...mail, ...servers]);
    assert.notEqual(code, 0);
    assert.match(err, /channels\.mail\.authserv is missing, so no sender could be believed/);
    assert.equal(existsSync(join(home, "pagurus.json")), false);
    assert.equal((await run([...mail, ...servers, "authserv=mail.example.org"])).code, 0);
  });

  it("of a kind that does not exist are not written", async () => {
    const { code, err } = await run(["add", "home", "--kind", "xmmp"]);
    assert.equal(code, 2);
    assert.match(err, /no kind of channel "xmmp"; use one of xmpp, email,/);
    assert.equal(existsSync(join(home, "pagurus.json")), false);
  });

  it("are tested without a message being taken", async () => {
    const login = ["account=crab", "password=${IRC_PASSWORD}"];
    await run(["add", "harbour", "--kind", "irc", "--set", `service=${url}`, "nick=crab", ...login]);
    await run([
      "add",
      "broken",
      "--kind",
      "irc",
      "--set",
      `service=${url}`,
      "nick=crab",
      "account=crab",
      "password=${WRONG_PASSWORD}",
    ]);
    const { code, out } = await run(["test"]);
    assert.equal(code, 1);
    assert.match(
      out,
      /^harbour \(irc\): works; receives at-most-once, sends at-most-once, messages of up to 4000 characters$/m,
    );
    assert.match(out, /^broken \(irc\): .*SASL authentication failed\. \[channel_failed\]$/m);
    assert.equal((await run(["test", "harbour"])).code, 0);
    assert.match((await run(["test", "other"])).err, /There is no channel "other"/);
    assert.match((await run(["list"])).out, /has not connected it yet/, "a test leaves nothing behind");
  });

  it("are checked by the doctor, which names what cannot be reached", async () => {
    const dead = new IrcService();
    const gone = await dead.start();
    dead.close();
    const password = "${IRC_PASSWORD}";
    const irc = { kind: "irc", nick: "crab", account: "crab", password };
    const channels = { harbour: { ...irc, service: url }, lost: { ...irc, service: gone } };
    writeFileSync(join(home, "pagurus.json"), JSON.stringify({ channels }), { mode: 0o600 });
    const { out } = await run(["doctor", "--json"]);
    const findings = JSON.parse(out) as { check: string; level: string; detail: string }[];
    const found = findings.filter(({ check }) => check === "channels");
    assert.deepEqual(
      found.map(({ level }) => level),
      ["ok", "warn"],
    );
    assert.match(found[0]?.detail ?? "", /^harbour \(irc\) connects; it receives at-most-once/);
    assert.match(found[1]?.detail ?? "", /^lost: The channel lost .*ECONNREFUSED/);
    assert.doesNotMatch(out, /secret/);
  });

  it("of another host's form, without a kind, are a warning of the doctor and no error", async () => {
    const channels = { telegram: { enabled: true } };
    writeFileSync(join(home, "pagurus.json"), JSON.stringify({ channels }), { mode: 0o600 });
    const { out } = await run(["doctor", "--json"]);
    const findings = JSON.parse(out) as { check: string; level: string; detail: string; fix?: string }[];
    const found = findings.filter(({ check }) => check === "channels");
    assert.deepEqual(
      found.map(({ level }) => level),
      ["warn"],
    );
    assert.match(found[0]?.detail ?? "", /^telegram: channels\.telegram has no kind.* to one of xmpp, /);
    assert.equal(found[0]?.fix, "Set its kind, or remove channels.telegram.");
  });

  it("have logs of ids and reasons, with repeats counted", async () => {
    assert.equal((await run(["logs"])).out, "Nothing has happened so far.\n");
    const db = openServerDatabase(home);
    const events = new ChannelEvents(db, () => Date.UTC(2026, 0, 2));
    events.note("home", "connected", "receives exactly-once, sends exactly-once");
    events.note("home", "sent", "t-1-0");
    for (let time = 0; time < 3; time += 1) events.note("home", "cut", "the connection was cut");
    events.note("other", "refused", "t-2-0: ann is not there");
    for (let time = 0; time < 600; time += 1) events.note("busy", "sent", `b-${time}`);
    assert.equal(events.last(1_000, "busy").length, 500);
    db.close();
    const at = "2026-01-02T00:00:00.000Z";
    assert.equal(
      (await run(["logs", "home"])).out,
      [
        `${at} home connected: receives exactly-once, sends exactly-once`,
        `${at} home sent: t-1-0`,
        `${at} home cut: the connection was cut (3 times)`,
        "",
      ].join("\n"),
    );
    assert.match((await run(["logs", "-n", "1"])).out, /^\S+ busy sent: b-599\n$/);
    assert.match((await run(["logs", "-n", "x"])).err, /--count takes a number/);
  });
});
