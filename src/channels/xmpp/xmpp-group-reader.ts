/** Reads and writes in groups: what a group's archive has after the last acknowledged id, and messages that the group has taken. */
import type { ChannelPort, IncomingMessage, OutgoingMessage } from "../../contract/channel/channel.ts";
import { ToolError } from "../../tool/tool-error.ts";
import { ArchiveReader } from "./archive-reader.ts";
import { addressOf, groupMessage } from "./received-stanza.ts";
import { CursorGone, XmppArchive } from "./xmpp-archive.ts";
import type { XmppClient, XmppElement } from "./xmpp-client.ts";
import type { XmppFiles } from "./xmpp-files.ts";
import type { XmppGroups } from "./xmpp-groups.ts";

/** How long a group may take to send a message back to its writer, ms. */
const TAKEN_MS = 20_000;

export interface GroupReaderParts {
  xmpp: XmppClient;
  port: ChannelPort;
  groups: XmppGroups;
  files: XmppFiles;
}

export class XmppGroupReader {
  readonly #parts: GroupReaderParts;
  /** By address; false for one without an archive, whose messages are taken as they arrive. */
  readonly #hasArchive = new Map<string, boolean>();

  constructor(parts: GroupReaderParts) {
    this.#parts = parts;
  }

  /** Takes a message that arrived where its group has no archive. */
  arrived(stanza: XmppElement, inOrder: (work: () => Promise<void>) => void): void {
    const { bare, resource } = addressOf(stanza);
    if (this.#hasArchive.get(bare) !== false) return;
    const { id } = stanza.attrs as { id?: string };
    // Two members may choose the same id.
    const message = this.#incoming(stanza, `${bare}/${resource}/${id ?? Date.now()}`);
    if (message) inOrder(() => this.#parts.port.receive(message, undefined));
  }

  /** Receives what is new in a group. Throws where the connection has ended. */
  async catchUp(group: string): Promise<void> {
    if (this.#hasArchive.get(group) === false) return;
    const { xmpp, port } = this.#parts;
    const reader = new ArchiveReader({
      archive: new XmppArchive(xmpp, group),
      port,
      group,
      name: `The archive of the group ${group}`,
      incoming: (message, id) => this.#incoming(message, `${group}/${id}`),
    });
    try {
      await reader.catchUp();
      this.#hasArchive.set(group, true);
    } catch (error) {
      if (xmpp.status !== "online" || !isAnswer(error)) throw error;
      // A group that was there before and refuses now is asked again with the next message.
      if (this.#hasArchive.get(group) === true) return;
      this.#hasArchive.set(group, false);
      port.missed(`The group ${group} has no archive: what is written there between connections is missed.`);
    }
  }

  #incoming(stanza: XmppElement, id: string): IncomingMessage | undefined {
    const { groups, files } = this.#parts;
    const showsAddresses = groups.showsAddresses(addressOf(stanza).bare);
    const found = groupMessage(stanza, { nick: groups.nick, showsAddresses });
    if (!found) return undefined;
    const { fileUrl, ...message } = found;
    return {
      id,
      ...message,
      ...(fileUrl === undefined ? {} : { fetchAttachments: files.fetcherOf(fileUrl) }),
    };
  }

  /** Resolves when the group has taken the message, or refused it, which is reported. Throws when it does not answer. */
  async send({ to, id }: OutgoingMessage, stanza: XmppElement): Promise<void> {
    const { xmpp, port } = this.#parts;
    let onStanza: (back: XmppElement) => void = () => undefined;
    let onCut: () => void = () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<string | undefined>((resolve, reject) => {
      onStanza = (back) => {
        if (back.name !== "message" || back.attrs["id"] !== id || addressOf(back).bare !== to) return;
        resolve(back.attrs["type"] === "error" ? (back.getChild("error")?.toString() ?? "error") : undefined);
      };
      onCut = () => reject(new ToolError("the connection was cut"));
      timer = setTimeout(() => reject(new ToolError(`the group ${to} does not answer`)), TAKEN_MS);
    });
    xmpp.on("stanza", onStanza);
    xmpp.once("disconnect", onCut);
    try {
      await xmpp.send(stanza);
      const refusal = await answered;
      if (refusal !== undefined) port.missed(`The group ${to} refused a message of the agent.`);
    } finally {
      clearTimeout(timer);
      xmpp.removeListener("stanza", onStanza);
      xmpp.removeListener("disconnect", onCut);
    }
  }

  /** Whether the group's archive has it. Where it has none the message counts as sent, and that is reported. */
  async wasSent({ id, to, previousId }: OutgoingMessage, since: number): Promise<boolean> {
    const { xmpp, port } = this.#parts;
    try {
      for await (const { message } of new XmppArchive(xmpp, to).readBack({ since })) {
        if (message.attrs["id"] === id) return true;
        if (previousId !== undefined && message.attrs["id"] === previousId) return false;
      }
      return false;
    } catch (error) {
      if (xmpp.status !== "online") throw error;
      port.missed(`The group ${to} has no archive: a message of the agent may not have arrived there.`);
      return true;
    }
  }
}

/** Whether an error is the group's answer, and not of the host. */
function isAnswer(error: unknown): boolean {
  return error instanceof CursorGone || typeof (error as { condition?: unknown }).condition === "string";
}
