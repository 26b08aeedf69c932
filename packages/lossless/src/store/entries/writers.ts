/**
 * Who wrote a message in a group. The host puts the sender before the words (`Ann Lee (ann@example.org) in the group pier:`); of other
 * members each line has its sender, in a part that names the group (`channels/group-input.ts`). Only what the host wrote counts: a name in a
 * person's own text, or in an attached file, is no sender.
 */
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import { fold } from "../search/fold.ts";

const MESSAGE = "message of ";
const MEMBERS_PREFIX = "message of members of the group ";
/** A name has no brackets, so the address is what is in the first ones. */
const IN_GROUP = /^(?:([^()\n]*) \(([^()\n]*)\)|(\S+)) in the group /;
/** Of a line that is not indented, as the further ones of a message are. A name has no colon, so an address alone comes first. */
const OF_LINE = /^(?=\S)(?:(\S+)|([^()\n]*) \(([^()\n]*)\)): /;

interface Sender {
  name: string;
  address: string;
}

/** The sender that the host put before a message. */
export function senderOf(text: string): Sender | undefined {
  const [, name = "", address, alone = ""] = IN_GROUP.exec(text) ?? [];
  return address === undefined && alone === "" ? undefined : { name, address: address ?? alone };
}

function senderOfLine(line: string): Sender | undefined {
  const [, alone, name = "", address = ""] = OF_LINE.exec(line) ?? [];
  if (alone === undefined && address === "") return undefined;
  return { name, address: alone ?? address };
}

function sendersOf(message: AgentMessage): Sender[] {
  if (message.role !== "user") return [];
  const { typed, attached } = inputWords(message);
  const others = attached.flatMap(({ source, text }) => {
    if (source.startsWith(MEMBERS_PREFIX))
      return text.split("\n").flatMap((line) => senderOfLine(line) ?? []);
    return source.startsWith(MESSAGE) ? (senderOf(source.slice(MESSAGE.length)) ?? []) : [];
  });
  return [...others, ...[senderOf(typed) ?? []].flat()];
}

function compared(text: string): string {
  return fold(text.normalize("NFC")).replaceAll(/\s+/g, " ").trim();
}

/** Whether a message has a line of this person, by the shown name, a part of it, or the address; by the address alone where it has an `@`. */
export function writtenBy(person: string): (message: AgentMessage | undefined) => boolean {
  const wanted = compared(person);
  const isOf = ({ name, address }: Sender): boolean =>
    compared(address) === wanted || (!wanted.includes("@") && ` ${compared(name)} `.includes(` ${wanted} `));
  return (message) => message !== undefined && wanted !== "" && sendersOf(message).some(isOf);
}
