/** A server that speaks as much of Slack's Web API as the channel uses, and posts events as Slack does: again until they are taken. */
import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { LocalService, type Call, type Reply } from "./local-service.ts";

const OWN = "U0CRAB";

export class SlackApi extends LocalService {
  static readonly token = "xoxb-test-token";
  static readonly secret = "8f742231b10e8888abcd99yyyzzz85a5";
  readonly sent: { channel: string; ts: string; thread: string | null; texts: string[] }[] = [];
  /** Answers of these methods, once each, instead of the real one. */
  readonly failing = new Map<string, Reply>();
  /** Paths of the requests so far. */
  readonly paths: string[] = [];
  /** Where events are posted. */
  hook: (headers: Record<string, string>, body: string) => Promise<number> = () => Promise.resolve(503);
  #next = 100;
  #events: Promise<void> = Promise.resolve();
  #isEnded = false;

  static async open(): Promise<SlackApi> {
    const made = new SlackApi();
    await made.start();
    return made;
  }

  /** A message to the bot, or with a `channel` one that mentions it; resolves at once. */
  say(user: string, text: string, more: Record<string, unknown> = {}): void {
    const isMention = more["channel"] !== undefined;
    const event = {
      type: isMention ? "app_mention" : "message",
      ...(!isMention && { channel: `D${user.slice(1)}`, channel_type: "im" }),
      user,
      text: text.replaceAll("&", "&amp;").replaceAll("<b>", "&lt;b&gt;"),
      ts: this.#time(),
      team: "T1",
      ...more,
    };
    const body = JSON.stringify({ type: "event_callback", team_id: "T1", event_id: `Ev${event.ts}`, event });
    this.#events = this.#events.then(async () => {
      while (!this.#isEnded && (await this.hook(SlackApi.signed(body), body)) !== 200) await pause(20);
    });
  }

  static signed(
    body: string,
    secret = SlackApi.secret,
    seconds = Math.floor(Date.now() / 1_000),
  ): Record<string, string> {
    const signature = createHmac("sha256", secret).update(`v0:${seconds}:${body}`).digest("hex");
    return {
      "content-type": "application/json",
      "x-slack-request-timestamp": String(seconds),
      "x-slack-signature": `v0=${signature}`,
    };
  }

  /** What is shown in a channel. */
  got(channel: string): string[] {
    const all = this.sent.filter((each) => each.channel === channel).map(({ texts }) => texts.at(-1) ?? "");
    return all.map((text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"));
  }

  /** Does nothing after the end, where a check that was dropped still calls it. */
  override async start(): Promise<void> {
    if (!this.#isEnded) await super.start();
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await this.stop();
  }

  #time(): string {
    return `1760000000.${String(this.#next++).padStart(6, "0")}`;
  }

  protected override answer({ path, headers, body }: Call): Reply {
    this.paths.push(path);
    const failure = this.failing.get(path.replace("/api/", ""));
    this.failing.delete(path.replace("/api/", ""));
    if (failure) return failure;
    if (headers.authorization !== `Bearer ${SlackApi.token}`) return refused("invalid_auth");
    const asked = new URLSearchParams(body.toString());
    const [channel, text] = [asked.get("channel") ?? "", asked.get("text") ?? ""];
    switch (path) {
      case "/api/auth.test":
        return ok({ user_id: OWN, team_id: "T1" });
      case "/api/chat.postMessage": {
        const thread = asked.get("thread_ts");
        const sent = { channel: channel.replace(/^U/, "D"), ts: this.#time(), thread, texts: [text] };
        if (text === "") return refused("no_text");
        this.sent.push(sent);
        return ok({ channel: sent.channel, ts: sent.ts });
      }
      case "/api/chat.update": {
        const sent = this.sent.find((each) => each.channel === channel && each.ts === asked.get("ts"));
        if (!sent) return refused("message_not_found");
        sent.texts.push(text);
        return ok({ channel, ts: sent.ts });
      }
      default:
        return refused("unknown_method");
    }
  }
}

function ok(fields: object): Reply {
  return { status: 200, body: { ok: true, ...fields } };
}

export function refused(error: string): Reply {
  return { status: 200, body: { ok: false, error } };
}
