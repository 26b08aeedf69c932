/** A server that speaks as much of Telegram's Bot API as the channel uses, in the shapes that its documentation shows. */
import { LocalService, type Call, type Reply } from "./local-service.ts";

const BOT = { id: 7_000_000_001, is_bot: true, first_name: "Crab", username: "crab_bot" };

interface Person {
  id: number;
  first_name: string;
  username?: string;
}

interface Sent {
  id: number;
  chat: string;
  topic?: unknown;
  /** Each state that it had. */
  texts: string[];
}

export class BotApi extends LocalService {
  static readonly token = "7000000001:AAE-test-token";
  readonly sent: Sent[] = [];
  readonly documents: { chat: string; name: string; text: string }[] = [];
  readonly typing: string[] = [];
  /** Answers of these methods, once each, before the real one. */
  readonly failing = new Map<string, Reply>();
  readonly files = new Map<string, Buffer>();
  /** Drops the connection of the next message that is sent, after it has been taken. */
  losesAnswer = false;
  /** Most updates of one answer. */
  mostUpdates = 100;
  #updates: { update_id: number; message: object }[] = [];
  #nextUpdate = 500_000;
  #nextMessage = 10;
  #wakes: (() => void)[] = [];

  static async open(): Promise<BotApi> {
    const made = new BotApi();
    await made.start();
    return made;
  }

  /** A message of a person: to the bot, or in a group. */
  say(from: Person, text: string, more: { group?: number; [key: string]: unknown } = {}): void {
    const { group, ...fields } = more;
    const chat =
      group === undefined ? { ...from, type: "private" } : { id: group, title: "Boats", type: "supergroup" };
    const entities = [...text.matchAll(/@\w+/g)].map((found) => ({
      type: "mention",
      offset: found.index,
      length: found[0].length,
    }));
    this.push({
      from: { is_bot: false, language_code: "en", ...from },
      chat,
      text,
      ...(entities.length > 0 && { entities }),
      ...fields,
    });
  }

  push(message: object): void {
    this.#updates.push({
      update_id: this.#nextUpdate++,
      message: { message_id: this.#nextMessage++, date: Math.floor(Date.now() / 1_000), ...message },
    });
    for (const wake of this.#wakes.splice(0)) wake();
  }

  /** What a person sees in a chat. */
  got(chat: string): string[] {
    return this.sent.filter((each) => each.chat === chat).map(({ texts }) => texts.at(-1) ?? "");
  }

  protected override async answer({ path, body, headers }: Call, isGone: Promise<void>): Promise<Reply> {
    const file = /^\/file\/bot([^/]+)\/(.+)$/.exec(path);
    if (file) return { status: 200, body: this.files.get(file[2] ?? "") ?? Buffer.of() };
    const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (token !== BotApi.token)
      return { status: 401, body: { ok: false, error_code: 401, description: "Unauthorized" } };
    const failure = this.failing.get(method);
    if (failure) {
      this.failing.delete(method);
      return failure;
    }
    const isForm = headers["content-type"]?.startsWith("multipart/") === true;
    if (isForm) return this.#document(await formOf(headers["content-type"] ?? "", body));
    const asked = JSON.parse(body.toString()) as Record<string, unknown>;
    const result = await this.#call(method, asked, isGone);
    return result ?? { status: 404, body: { ok: false, error_code: 404, description: "Not Found" } };
  }

  async #call(
    method: string,
    asked: Record<string, unknown>,
    isGone: Promise<void>,
  ): Promise<Reply | undefined> {
    const chat = String(asked["chat_id"]);
    switch (method) {
      case "getMe":
        return ok(BOT);
      case "getUpdates":
        return ok(await this.#fetch(asked, isGone));
      case "sendChatAction":
        this.typing.push(chat);
        return ok(true);
      case "sendMessage": {
        const topic = asked["message_thread_id"];
        const sent = { id: this.#nextMessage++, chat, topic, texts: [String(asked["text"])] };
        this.sent.push(sent);
        if (this.losesAnswer) {
          this.losesAnswer = false;
          this.cut();
        }
        return ok(messageOf(sent));
      }
      case "editMessageText": {
        const sent = this.sent.find(({ id }) => id === asked["message_id"]);
        if (!sent) return refused("Bad Request: message to edit not found");
        if (sent.texts.at(-1) === asked["text"]) return refused("Bad Request: message is not modified");
        sent.texts.push(String(asked["text"]));
        return ok(messageOf(sent));
      }
      case "getFile":
        return ok({ file_id: asked["file_id"], file_path: `documents/${String(asked["file_id"])}` });
      default:
        return undefined;
    }
  }

  /** Updates up to the offset are confirmed, and forgotten. */
  async #fetch(asked: Record<string, unknown>, isGone: Promise<void>): Promise<object[]> {
    const { offset, timeout } = asked as { offset?: number; timeout: number };
    if (offset !== undefined && offset < 0) {
      this.#updates = this.#updates.slice(offset);
      return this.#updates;
    }
    this.#updates = this.#updates.filter(({ update_id }) => update_id >= (offset ?? 0));
    if (this.#updates.length > 0 || timeout === 0) return this.#updates.slice(0, this.mostUpdates);
    let isLeft = false;
    await Promise.race([
      new Promise<void>((resolve) => this.#wakes.push(resolve)),
      isGone.then(() => {
        isLeft = true;
      }),
    ]);
    return isLeft ? [] : this.#updates.slice(0, this.mostUpdates);
  }

  #document(form: FormData): Reply {
    const [file, chat] = [form.get("document") as File, form.get("chat_id") as string];
    this.documents.push({ chat, name: file.name, text: (form.get("caption") as string | null) ?? "" });
    return ok(messageOf({ id: this.#nextMessage++, chat, texts: [""] }));
  }
}

function ok(result: unknown): Reply {
  return { status: 200, body: { ok: true, result } };
}

function refused(description: string): Reply {
  return { status: 400, body: { ok: false, error_code: 400, description } };
}

function messageOf({ id, chat, texts }: Sent): object {
  return {
    message_id: id,
    from: BOT,
    chat: { id: Number(chat), type: "private", first_name: "Ann" },
    date: 1_760_000_000,
    text: texts.at(-1),
  };
}

function formOf(type: string, body: Buffer): Promise<FormData> {
  return new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
}
