/**
 * Who wrote a message in a group. The host puts the sender before the words (`Ann Lee (ann@example.org) in the group pier:`); of other
 * members each line has its sender, inside a tag that names the group. Only what the host wrote counts: a name in a person's own text, or in an
 * attached file, is no sender.
 */
import { fold } from "../search/fold.ts";

/** The tag of data, and whom it is from. */
const OPEN = /^<((?:file|stdin|message)(?:-\d+)?)(?: (?:path|from)="([^"]*)")?>$/;
const MEMBERS = /^members of the group /;
/** What is before the words of a line. */
const LABEL = /^(\S.{0,300}?)(?:: |:$)/;
const GROUP = / in the group .*$/;
const ADDRESS = / \(([^()]*)\)$/;

/** The senders in a text, folded: of the data in it and of its own words. */
function* sendersOf(text: string): Generator<string> {
  let tag: string | undefined;
  let isOfMembers = false;
  let isBegun = false;
  for (const line of text.split("\n")) {
    if (tag !== undefined) {
      if (line === `</${tag}>`) tag = undefined;
      else if (isOfMembers) yield LABEL.exec(line)?.[1] ?? "";
      continue;
    }
    const [, name, from = ""] = OPEN.exec(line) ?? [];
    if (name !== undefined) {
      tag = name;
      const isMessage = name.startsWith("message");
      isOfMembers = isMessage && MEMBERS.test(from);
      if (isMessage && !isOfMembers) yield from;
    } else if (!isBegun && line.trim() !== "") {
      isBegun = true;
      yield LABEL.exec(line)?.[1] ?? "";
    }
  }
}

/** Whether a text has a line of this person, by the shown name, a part of it, or the address. */
export function writtenBy(person: string): (text: string) => boolean {
  const wanted = fold(person).replaceAll(/\s+/g, " ").trim();
  const isOf = (sender: string): boolean => {
    const shown = sender.replace(GROUP, "");
    const address = ADDRESS.exec(shown)?.[1];
    return address === wanted || ` ${shown.replace(ADDRESS, "")} `.includes(` ${wanted} `);
  };
  return (text) => {
    const folded = fold(text);
    return folded.includes(wanted) && [...sendersOf(folded)].some((sender) => isOf(sender));
  };
}
