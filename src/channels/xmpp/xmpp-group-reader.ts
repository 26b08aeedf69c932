/** Reads and writes in groups: what a group's archive has after the last acknowledged id, and messages that the group has taken. */
import type { ChannelPort, IncomingMessage, OutgoingMessage } from "../../contract/channel/channel.ts";
import { ToolError } from "../../tool/tool-error.ts";
import { ArchiveReader, endPlace } from "./archive-reader.ts";
import { addressOf, groupMessage } from "./received-stanza.ts";
import { conditionOf, CursorGone, hasNoArchive, XmppArchive } from "./xmpp-archive.ts";
import type { XmppClient, XmppElement } from "./xmpp-client.ts";
import type { ArchivePlace, XmppPlaces } from "./xmpp-cursor.ts";
import type { XmppFiles } from "./xmpp-files.ts";
import type { XmppGroups } from "./xmpp-groups.ts";

/** How long a group may take to send a message back to its writer, ms. */
const TAKEN_MS = 20_000;
const STANZA_ID = "urn:xmpp:sid:0";

export interface GroupReaderParts {
  xmpp: XmppClient;
  port: ChannelPort;
  places: XmppPlaces;
  groups: XmppGroups;
  files: XmppFiles;
  /** Asks for another attempt at the archive of a group, after a pause. */
  again(group: string): void;
}

export class XmppGroupReader {
  readonly #parts: GroupReaderParts;
  /** By address; false for one without an archive, whose messages are taken as they arrive. */
  readonly #hasArchive = new Map<string, boolean>();
  /** Ids in the archive of the first messages that arrived in new groups, by address. */
  readonly #firstIds = new Map<string, string>();
  readonly #beginning = new Map<string, Promise<void>>();
  /** Groups whose archive does not answer, which is reported. */
  readonly #silent = new Set<string>();

  constructor(parts: GroupReaderParts) {
    this.#parts = parts;
  }

  /** Takes a message that arrived where its group has no archive; of a new group, notes where it begins for us. */
  arrived(stanza: XmppElement, inOrder: (work: () => Promise<void>) => void): void {
    const { bare, resource } = addressOf(stanza);
    if (this.#hasArchive.get(bare) !== false) {
      this.#noteFirst(bare, stanza);
      return;
    }
    const { id } = stanza.attrs as { id?: string };
    // Two members may choose the same id.
    const message = this.#incoming(stanza, `${bare}/${resource}/${id ?? Date.now()}`);
    if (message) inOrder(() => this.#parts.port.receive(message, undefined));
  }

  #noteFirst(group: string, stanza: XmppElement): void {
    if (this.#firstIds.has(group) || stanza.getChild("body") === undefined) return;
    if (this.#parts.places.of(group) !== undefined) return;
    const archived = stanza.getChildren("stanza-id", STANZA_ID).find(({ attrs }) => attrs["by"] === group);
    const { id } = (archived?.attrs ?? {}) as { id?: string };
    if (id !== undefined) this.#firstIds.set(group, id);
  }

  /**
   * Of a group that has no place, notes where it begins: what was written before the account took part is not for us. Throws where the
   * connection has ended, `store_write_failed`.
   */
  async begin(group: string): Promise<void> {
    const running = this.#beginning.get(group);
    if (running) return running;
    const begun = this.#begin(group).finally(() => this.#beginning.delete(group));
    this.#beginning.set(group, begun);
    await begun;
  }

  async #begin(group: string): Promise<void> {
    const { xmpp, places } = this.#parts;
    if (places.of(group) !== undefined || this.#hasArchive.get(group) === false) return;
    let place: ArchivePlace;
    try {
      place = await this.#placeAtJoin(group);
    } catch (error) {
      if (xmpp.status !== "online") throw error;
      await this.#refused(group, error);
      return;
    }
    await places.move(group, place);
  }

  /** Where a message has arrived before the archive answers, the place before it; else the end. */
  async #placeAtJoin(group: string): Promise<ArchivePlace> {
    const archive = new XmppArchive(this.#parts.xmpp, group);
    const before = async (id: string): Promise<ArchivePlace> =>
      endPlace((await archive.page({ before: id, max: 1 })).messages);
    const end = await before("");
    const first = this.#firstIds.get(group);
    if (first === undefined) return end;
    return before(first).catch((error: unknown) => {
      if (error instanceof CursorGone) return end;
      throw error;
    });
  }

  /** An archive that has refused; one that the group still offers is asked again. */
  async #refused(group: string, error: unknown): Promise<void> {
    const { port, places, again } = this.#parts;
    const isKnown = this.#hasArchive.get(group) === true || places.of(group) !== undefined;
    const isNone = !isKnown && hasNoArchive(error);
    const isAnswer = conditionOf(error) !== undefined;
    if (isNone || (isAnswer && !(await new XmppArchive(this.#parts.xmpp, group).isOffered()))) {
      this.#hasArchive.set(group, false);
      await places.forget(group);
      port.missed(`The group ${group} has no archive: what is written there between connections is missed.`);
      return;
    }
    again(group);
    if (this.#silent.has(group)) return;
    this.#silent.add(group);
    const why = conditionOf(error) ?? "no answer";
    port.missed(
      `The archive of the group ${group} does not answer (${why}): what is written there is received once it does.`,
    );
  }

  /** Receives what is new in a group that has a place. Throws where the connection has ended. */
  async catchUp(group: string): Promise<void> {
    const { xmpp, port, places } = this.#parts;
    if (this.#hasArchive.get(group) === false || places.of(group) === undefined) return;
    const reader = new ArchiveReader({
      archive: new XmppArchive(xmpp, group),
      port,
      places,
      group,
      name: `The archive of the group ${group}`,
      incoming: (message, id) => this.#incoming(message, `${group}/${id}`),
    });
    try {
      await reader.catchUp();
      this.#hasArchive.set(group, true);
      this.#silent.delete(group);
    } catch (error) {
      if (xmpp.status !== "online" || !isAnswerOrSilence(error)) throw error;
      await this.#refused(group, error);
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

/** Whether an error is of the group's archive, and not of the host. */
function isAnswerOrSilence(error: unknown): boolean {
  return conditionOf(error) !== undefined || (error as { name?: unknown }).name === "TimeoutError";
}
