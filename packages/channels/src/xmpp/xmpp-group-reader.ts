/** Reads and writes in groups: what a group's archive has after the last acknowledged id, and messages that the group has taken. */
import type { ChannelPort, IncomingMessage, OutgoingMessage } from "@pagurus/contract/channel/channel";
import { ToolError } from "@pagurus/host/tool/tool-error";
import { ArchiveReader, endPlace } from "./archive-reader.ts";
import { addressOf, groupMessage, isOwnInGroup } from "./received-stanza.ts";
import { conditionOf, CursorGone, hasNoArchive, XmppArchive } from "./xmpp-archive.ts";
import type { XmppClient, XmppElement } from "./xmpp-client.ts";
import type { ArchivePlace, XmppPlaces } from "./xmpp-cursor.ts";
import type { XmppFiles } from "./xmpp-files.ts";
import type { XmppGroups } from "./xmpp-groups.ts";

/** How long a group may take to send a message back to its writer, ms. */
const TAKEN_MS = 20_000;
const STANZA_ID = "urn:xmpp:sid:0";
/** Own messages of a group by which replies are known, and how far back they are looked for. */
const MOST_OWN = 500;
const OWN_MS = 24 * 60 * 60_000;

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

  /** Our ids of own messages, by group and by the group's id of them, which replies name. */
  readonly #own = new Map<string, Map<string, string>>();
  /** Groups whose archive was asked for own messages of an earlier connection. */
  readonly #looked = new Set<string>();

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
    inOrder(async () => {
      const message = await this.#incoming(stanza, `${bare}/${resource}/${id ?? Date.now()}`);
      if (message) await this.#parts.port.receive(message, undefined);
    });
  }

  #noteFirst(group: string, stanza: XmppElement): void {
    if (this.#firstIds.has(group) || stanza.getChild("body") === undefined) return;
    if (this.#parts.places.of(group) !== undefined) return;
    const id = stanzaIdOf(stanza, group);
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
      incoming: (message, id) => {
        if (this.#isOwn(message)) this.#note(group, id, message);
        return this.#incoming(message, `${group}/${id}`);
      },
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

  async #incoming(stanza: XmppElement, id: string): Promise<IncomingMessage | undefined> {
    const { groups, files } = this.#parts;
    const showsAddresses = groups.showsAddresses(addressOf(stanza).bare);
    const found = groupMessage(stanza, { nick: groups.nick, showsAddresses });
    if (!found) return undefined;
    const { fileUrl, replyTo, ...message } = found;
    return {
      id,
      ...message,
      ...(replyTo === undefined ? {} : { replyTo: await this.#answered(addressOf(stanza).bare, replyTo) }),
      ...(fileUrl === undefined ? {} : { fetchAttachments: files.fetcherOf(fileUrl) }),
    };
  }

  /** Whether this account wrote it. */
  #isOwn(stanza: XmppElement): boolean {
    const { groups } = this.#parts;
    const { bare, resource } = addressOf(stanza);
    if (resource !== groups.nick) return false;
    return isOwnInGroup(stanza, { nick: groups.nick, occupant: groups.occupant(bare) });
  }

  #note(group: string, stanzaId: string, { attrs }: XmppElement): void {
    const { id } = attrs as { id?: string };
    if (id === undefined) return;
    const own = this.#own.get(group) ?? new Map<string, string>();
    own.set(stanzaId, id);
    const [oldest] = own.keys();
    if (own.size > MOST_OWN && oldest !== undefined) own.delete(oldest);
    this.#own.set(group, own);
  }

  /** The message that a reply names by the group's id: our id of an own one. Those of an earlier connection are looked for once. */
  async #answered(group: string, stanzaId: string): Promise<string> {
    const known = this.#own.get(group)?.get(stanzaId);
    if (known !== undefined || this.#looked.has(group) || this.#hasArchive.get(group) === false)
      return known ?? stanzaId;
    this.#looked.add(group);
    const { xmpp } = this.#parts;
    let count = 0;
    try {
      for await (const { id, message } of new XmppArchive(xmpp, group).readBack({
        since: Date.now() - OWN_MS,
      })) {
        if (this.#isOwn(message)) this.#note(group, id, message);
        if ((count += 1) >= MOST_OWN) break;
      }
    } catch (error) {
      if (xmpp.status !== "online") throw error;
    }
    return this.#own.get(group)?.get(stanzaId) ?? stanzaId;
  }

  /** Resolves when the group has taken the message, or refused it, which is reported. Throws when it does not answer. */
  async send({ to, id }: OutgoingMessage, stanza: XmppElement): Promise<void> {
    const { xmpp, port, groups } = this.#parts;
    let onStanza: (back: XmppElement) => void = () => undefined;
    let onCut: () => void = () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<string | undefined>((resolve, reject) => {
      onStanza = (back) => {
        const { bare, resource } = addressOf(back);
        if (back.name !== "message" || back.attrs["id"] !== id || bare !== to) return;
        // The group itself refuses; a member may choose the id of a message of ours.
        const isRefusal = back.attrs["type"] === "error" && (resource === "" || resource === groups.nick);
        if (!isRefusal && !this.#isOwn(back)) return;
        const stanzaId = stanzaIdOf(back, to);
        if (stanzaId !== undefined) this.#note(to, stanzaId, back);
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
        if (!this.#isOwn(message)) continue;
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

/** The group's id of a message; undefined where it gives none. */
function stanzaIdOf(stanza: XmppElement, group: string): string | undefined {
  const own = stanza.getChildren("stanza-id", STANZA_ID).find(({ attrs }) => attrs["by"] === group);
  return ((own?.attrs ?? {}) as { id?: string }).id;
}

/** Whether an error is of the group's archive, and not of the host. */
function isAnswerOrSilence(error: unknown): boolean {
  return conditionOf(error) !== undefined || (error as { name?: unknown }).name === "TimeoutError";
}
