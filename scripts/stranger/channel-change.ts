/** "A channel", into this package, of CONTRIBUTING.md: `slot`, a server that keeps messages by number and answers by id. */
import assert from "node:assert/strict";
import { CHANGELOG_LINE, edit, newFile, type Change } from "./change.ts";
import { runCommand } from "../command.ts";

const CHANNEL = `/**
 * A slot: \`GET /messages?after=NUMBER\` waits for messages and returns them in order, \`PUT /answers/ID\` takes an answer once. The server
 * keeps both, so a message is received and sent exactly once.
 */
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import type { Channel, ChannelConnection, ChannelPort, OutgoingMessage } from "@pagurus/contract/channel/channel";
import { PagurusError } from "@pagurus/contract/errors";
import { channelFailure } from "../channel-failure.ts";

interface SlotMessage {
  number: number;
  from: string;
  text: string;
}

/** Throws \`config_invalid\`, \`credential_missing\`. */
export function createSlotChannel(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
): Channel {
  const { url } = config;
  if (url === undefined)
    throw new PagurusError("config_invalid", \`channels.\${id}.url is missing; set it to the address of the slot.\`);
  const token = withVariables(config.token ?? "", \`channels.\${id}.token\`, env);
  const headers = { authorization: \`Bearer \${token}\`, "content-type": "application/json" };
  return { id, kind: "slot", connect: (port, signal) => open({ id, url, headers, port, signal }) };
}

interface Slot {
  id: string;
  url: string;
  headers: Record<string, string>;
  port: ChannelPort;
  signal: AbortSignal;
}

async function open({ id, url, headers, port, signal }: Slot): Promise<ChannelConnection> {
  const gone = new AbortController();
  const ends = AbortSignal.any([signal, gone.signal]);
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    try {
      const response = await fetch(\`\${url}\${path}\`, { ...init, headers, signal: ends });
      if (!response.ok && response.status !== 404) throw new Error(\`it answers \${response.status}\`);
      return response;
    } catch (cause) {
      gone.abort(cause);
      throw channelFailure(id, "does not answer", cause);
    }
  };
  const messagesAfter = async (place: string): Promise<SlotMessage[]> =>
    (await (await ask(\`/messages?after=\${place}\`)).json()) as SlotMessage[];
  let after = port.cursor;
  if (after === undefined) {
    after = String((await messagesAfter("-1")).at(-1)?.number ?? 0);
    await port.receive(undefined, after);
  } else await ask("/state");
  const receive = async (from: string): Promise<string> => {
    let place = from;
    try {
      for (;;)
        for (const { number, ...message } of await messagesAfter(place)) {
          place = String(number);
          await port.receive({ id: place, ...message }, place);
        }
    } catch (error) {
      gone.abort(error);
      return error instanceof Error ? error.message : "it was closed";
    }
  };
  const ended = receive(after);
  return {
    capabilities: { inbound: "exactly-once", outbound: "exactly-once", maxChars: 10_000 },
    ended,
    send: async ({ id: answer, to, text }: OutgoingMessage) => {
      await ask(\`/answers/\${answer}\`, { method: "PUT", body: JSON.stringify({ to, text }) });
    },
    wasSent: async ({ id: answer }: OutgoingMessage) => (await ask(\`/answers/\${answer}\`)).ok,
    close: async () => {
      gone.abort(new Error("it was closed"));
      await ended;
    },
  };
}
`;

const TEST = `/** The suite of channels at a slot. */
import { createSlotChannel } from "../../packages/channels/src/slot/slot-channel.ts";
import { testChannel, type ChannelService } from "../../packages/testkit/src/index.ts";
import { LocalService, type Call, type Reply } from "./chat-sdk/local-service.ts";

class SlotServer extends LocalService {
  readonly #messages: { number: number; from: string; text: string }[] = [];
  readonly #answers = new Map<string, { to: string; text: string }>();
  #arrived = Promise.withResolvers<void>();

  say(from: string, text: string): void {
    this.#messages.push({ number: this.#messages.length + 1, from, text });
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  got(person: string): string[] {
    return [...this.#answers.values()].filter(({ to }) => to === person).map(({ text }) => text);
  }

  protected override async answer({ method, path, body }: Call, isGone: Promise<void>): Promise<Reply> {
    if (method === "PUT") {
      this.#answers.set(path, JSON.parse(body.toString()) as { to: string; text: string });
      return { status: 200, body: {} };
    }
    if (path.startsWith("/answers/")) return { status: this.#answers.has(path) ? 200 : 404, body: {} };
    const [, after] = /after=(-?[0-9]+)/.exec(path) ?? [];
    if (after === undefined || after === "-1") return { status: 200, body: this.#messages };
    const newer = (): unknown[] => this.#messages.filter(({ number }) => number > Number(after));
    if (newer().length === 0) await Promise.race([this.#arrived.promise, isGone]);
    return { status: 200, body: newer() };
  }
}

async function open(): Promise<ChannelService> {
  const server = new SlotServer();
  await server.start();
  return {
    channel: () => {
      server.connectAgain();
      return createSlotChannel("slot", { kind: "slot", url: server.url }, {});
    },
    addressOf: (peer) => peer,
    say: (peer, text) => Promise.resolve(server.say(peer, text)),
    got: (peer) => Promise.resolve(server.got(peer)),
    cut: () => Promise.resolve(server.cut()),
    stop: () => server.stop(),
    start: () => server.start(),
    end: () => server.stop(),
  };
}

testChannel("Slot", { open, deadlineMs: 60_000, gapDeadlineMs: 1_000 });
`;

/** Where a forgotten place keeps it from running, the page stays as it is, and types report the place. */
async function writePage(root: string): Promise<void> {
  await runCommand(process.execPath, ["scripts/configuration-page.ts", "--write"], { cwd: root });
}

export const CHANNEL_CHANGE: Change = {
  title: "a channel in the package",
  places: [
    newFile("packages/channels/src/slot/slot-channel.ts", CHANNEL, { by: "types", message: /slot-channel/ }),
    edit(
      "packages/channels/src/create-channel.ts",
      /\n {2}webhook: async [^\n]*\n/,
      `  slot: async () => (await import("./slot/slot-channel.ts")).createSlotChannel,\n`,
      { by: "types", message: /create-channel\.ts.*slot/s },
    ),
    edit("packages/core/src/config/bundled.ts", `  "webhook",\n`, `  "slot",\n`, {
      by: "types",
      message: /slot/,
    }),
    edit(
      "packages/cli/src/channels/channels-add.ts",
      /\n {2}telegram: \[[^\n]*\n/,
      `  slot: [{ key: "url", question: "Address of the slot", isRequired: true }],\n`,
      { by: "types", message: /channels-add\.ts.*slot/s },
    ),
    newFile("test/channels/slot.test.ts", TEST, {
      by: "places",
      message: /no test runs the suite of channels for slot/,
    }),
    edit("docs/guides/channels.md", /\n\| Webhooks [^\n]*\n/, "| Slot | exactly-once | exactly-once |\n", {
      by: "places",
      message: /channels\.md, "What is promised": no row of slot/,
    }),
    {
      file: "docs/configuration.md",
      make: writePage,
      found: { by: "configuration", message: /docs\/configuration\.md differs from the schema/ },
    },
    CHANGELOG_LINE,
  ],
  tests: ["test/channels/slot", "test/cli/channels", "test/docs/links"],
  use: async (_root, run) => {
    const added = await run(["channels", "add", "shed", "--kind", "slot", "--set", "url=http://127.0.0.1:9"]);
    assert.equal(added.code, 0, added.stderr);
    const listed = await run(["channels", "test", "shed"]);
    assert.match(listed.stdout + listed.stderr, /does not answer/);
    return "added by pagurus channels add, and its test says that no one answers";
  },
};
