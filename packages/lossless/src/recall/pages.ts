/** Renders passages for a model: lines with ids, in pages with a token limit. */
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { textPart } from "@pagurus/core/tokens/text-part";
import type { Passage } from "../store/search/passage-excerpts.ts";
import type { PassageQuery } from "../store/search/search-passages.ts";
import type { Match } from "../store/search/match.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import { defined } from "@pagurus/core/data/defined";

/** Least tokens of most passages, and of the messages of talk; a larger page looks for more passages. */
const PASSAGE_TOKENS = 80;
const TALK_TOKENS = 40;
const LEAST_WANTED = 80;
/** Passages that do not fit while smaller ones still may. */
const MOST_LATE = 6;
export function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

export interface RecallRequest extends Pick<
  PassageQuery,
  | "from"
  | "to"
  | "who"
  | "writer"
  | "beside"
  | "least"
  | "nodes"
  | "ranksSeen"
  | "ranksTurns"
  | "inContext"
  | "later"
> {
  query: string;
  /** Session ids; default: every session. */
  sessions?: readonly string[];
  /** Session that makes the request. */
  asking?: string;
  /** Only entries before this one, where the request is for one session. */
  before?: string;
  /** Estimated tokens of a page, labels included. */
  budgetTokens: number;
  /** Default 0. */
  page?: number;
  /**
   * Most tokens that such a page can have. Then a larger page begins with the passages of a smaller one: it ends where one does not fit, and
   * their order does not depend on `budgetTokens`.
   */
  largestPage?: number;
  /** Passages of a page by time instead of best first; which ones it has is the same. Default false. */
  byTime?: boolean;
}

export interface RecalledPassage {
  /** Of the entry, or of the summary. */
  id: string;
  /** Rendered text, with id and author. */
  text: string;
}

export interface RecallPage {
  passages: RecalledPassage[];
  /** There is a next page. */
  more: boolean;
  match: Match;
}

/** A passage as the first line of a group and as a further one. */
interface Member {
  passage: Passage;
  first: Line;
  next: Line;
  /** After a message of the same person. */
  same: Line;
}

/** A text with its estimated tokens, which are counted when asked for. */
class Line {
  readonly text: string;
  readonly #end: string;
  #tokens: number | undefined;

  /** `end`, as the end of a line, is counted too. */
  constructor(text: string, end = "") {
    this.text = text;
    this.#end = end;
  }

  get tokens(): number {
    return (this.#tokens ??= estimateTokens(this.text + this.#end));
  }
}

const NO_LABEL = new Line("");

/** A run of talk, or one passage with those that belong to it; shown as one, in the order of the conversation. */
interface Group {
  where: string;
  members: Member[];
  /** Of its lines, without a label. */
  tokens: number;
  /** Its text with a label and without one, made when asked for. */
  texts: { labelled?: Line; plain?: Line };
}

/** A member's line after the one before it in its group. */
function lineOf(member: Member, before: Member | undefined): Line {
  if (!before) return member.first;
  const isSame =
    before.passage.role === member.passage.role &&
    before.passage.talk !== undefined &&
    member.passage.talk !== undefined;
  return isSame ? member.same : member.next;
}

function groupOf(where: string, members: Member[]): Group {
  const tokens = members.reduce((sum, member, index) => sum + lineOf(member, members[index - 1]).tokens, 0);
  return { where, members, tokens, texts: {} };
}

/** The whole text of a group. */
function textOf(group: Group, label: Line): Line {
  const kind = label.text === "" ? "plain" : "labelled";
  return (group.texts[kind] ??= new Line(label.text + linesOf(group)));
}

function linesOf({ members }: Group): string {
  return members.map((member, index) => lineOf(member, members[index - 1]).text).join("\n");
}

/** A page while it is filled. */
class Page {
  readonly #asking: string | undefined;
  readonly #most: number;
  readonly #isSorted: boolean;
  #groups: Group[] = [];
  /** Groups by the places of their members. */
  readonly #placed = new Map<number, Group>();
  /** By the place of their groups. */
  readonly #labels = new Map<string, Line>();

  constructor(asking: string | undefined, tokens: number, isSorted: boolean) {
    this.#asking = asking;
    this.#isSorted = isSorted;
    this.#most = tokens;
  }

  /** Adds a passage; false when it does not fit. An empty page takes a part of it. */
  add(passage: Passage): boolean {
    const where = this.#whereOf(passage);
    const joined = this.#joined(passage, where);
    const members = [...joined.flatMap((group) => group.members), passageMember(passage)];
    members.sort((a, b) => a.passage.place - b.passage.place || a.passage.offset - b.passage.offset);
    const group = groupOf(where, members);
    const first = this.#groups.find((each) => joined.includes(each));
    const groups = first
      ? this.#groups.flatMap((each) => (each === first ? [group] : joined.includes(each) ? [] : [each]))
      : [...this.#groups, group];
    if (this.#groups.length > 0 && !this.#fits(groups)) return false;
    this.#groups = groups;
    for (const { passage: each } of members) this.#placed.set(each.place, group);
    return true;
  }

  /** The groups that a passage is part of: of what is next to it in talk, or of what it belongs to. */
  #joined({ talk, of, newer }: Passage, where: string): Group[] {
    // An outdated statement comes after the newer one, not where it was made.
    if (newer !== undefined) return [];
    // In the order of time a related message is not next to the one that it belongs to.
    const places = talk ? [talk.previous, talk.next] : this.#isSorted ? [] : [of];
    const groups = places.flatMap((place) => (place === undefined ? [] : (this.#placed.get(place) ?? [])));
    return [...new Set(groups)].filter((group) => group.where === where);
  }

  #whereOf({ sessionId, sessionKey, onPath, time }: Passage): string {
    const parts: string[] = [];
    if (time > 0) parts.push(dateOf(time).slice(0, 10));
    if (sessionId !== this.#asking) parts.push(`session ${sessionKey ?? sessionId}`);
    if (!onPath) parts.push("a branch that was left");
    return parts.join(", ");
  }

  #ordered(groups: readonly Group[]): readonly Group[] {
    // A passage without a time, of a summary, comes last.
    const timeOf = ({ members: [first] }: Group): number => first?.passage.time || Infinity;
    return this.#isSorted ? groups.toSorted((a, b) => timeOf(a) - timeOf(b)) : groups;
  }

  /** Estimates are rounded, so those of many lines can be less than that of the whole, which is taken where it may matter. */
  #fits(groups: readonly Group[]): boolean {
    const tokens = this.#tokens(groups);
    const lines = groups.reduce((sum, { members }) => sum + members.length, 0);
    if (tokens > this.#most || tokens + lines / 2 <= this.#most) return tokens <= this.#most;
    return this.#labelled(groups).reduce((sum, each) => sum + textOf(...each).tokens, 0) <= this.#most;
  }

  #tokens(groups: readonly Group[]): number {
    return this.#labelled(groups).reduce((sum, [group, label]) => sum + label.tokens + group.tokens, 0);
  }

  passages(): RecalledPassage[] {
    return this.#labelled(this.#groups).map(([group, label]) => {
      const { text, tokens } = textOf(group, label);
      return {
        id: group.members[0]?.passage.id ?? "",
        text: tokens > this.#most ? textPart(text, 0, this.#most - 1).part : text,
      };
    });
  }

  /** The groups in the order of the page, with their labels; a label that equals the one before is not repeated. */
  #labelled(groups: readonly Group[]): [Group, Line][] {
    let where = "";
    return this.#ordered(groups).map((group) => {
      const label = group.where === where ? NO_LABEL : this.#labelOf(group.where);
      where = group.where;
      return [group, label];
    });
  }

  #labelOf(where: string): Line {
    let label = this.#labels.get(where);
    if (!label) this.#labels.set(where, (label = where === "" ? NO_LABEL : new Line(`(${where})\n`)));
    return label;
  }
}

/** A line that could pass for a passage, such as a person's, and the line ends before one. */
const LOOKALIKE = String.raw`\s*(?:\(|(?:\S+ )?(?:user|assistant|summary|notice|result of)\b)`;
const IS_LOOKALIKE = new RegExp(`^${LOOKALIKE}`, "i");
const BEFORE_LOOKALIKE = new RegExp(String.raw`(?:\r\n?|[\n\u2028\u2029])(?=${LOOKALIKE})`, "gi");

/** A text whose lines cannot pass for passages, but for the first one. */
export function shownLines(text: string): string {
  return text.replaceAll(BEFORE_LOOKALIKE, "\n  ");
}

export function isLookalike(text: string): boolean {
  return IS_LOOKALIKE.test(text);
}

function lineOfText(text: string): Line {
  return new Line(text, "\n");
}

/**
 * A passage as a line of each place. A whole message after another one of its group needs no id of its own, and after one of the same
 * person no label. Its text is verbatim, but that a line which looks like another passage is indented.
 */
function passageMember(passage: Passage): Member {
  const { id, role, toolName, offset, isWhole, newer, talk, text } = passage;
  const who = toolName === undefined ? role : `result of ${toolName}`;
  const from = offset > 0 ? ` from ${offset}` : "";
  const later = newer === undefined ? "" : ` (older than ${newer})`;
  const shown = shownLines(text);
  const labelled = `${who}${from}${later}: ${shown}`;
  const first = lineOfText(`${id} ${labelled}`);
  const next = isWhole ? lineOfText(labelled) : first;
  const isPlain = talk !== undefined && newer === undefined && !isLookalike(text);
  return { passage, first, next, same: isPlain ? lineOfText(shown) : next };
}

/**
 * Fills pages one after the other; `isLast` on the last one. What does not fit while smaller ones do goes to the next page, and so does
 * what follows more than `mostLate` of these.
 */
function* pagesOf(
  found: Iterable<Passage>,
  begin: () => Page,
  mostLate: number,
): Generator<{ page: Page; isLast: boolean }> {
  const rest = found[Symbol.iterator]();
  let late: Passage[] = [];
  do {
    const page = begin();
    late = late.filter((passage) => !page.add(passage));
    while (late.length <= mostLate) {
      const next = rest.next();
      if (next.done === true) break;
      if (!page.add(next.value)) late.push(next.value);
    }
    yield { page, isLast: late.length === 0 };
  } while (late.length > 0);
}

/**
 * A page of passages that answer a query, best first. The same request gives the same page until new messages come, or until they have vectors.
 * Throws `session_not_found`.
 */
export async function recallPassages(store: LosslessStore, request: RecallRequest): Promise<RecallPage> {
  const { budgetTokens, largestPage, page: asked = 0, asking, byTime = false, ...query } = request;
  // Equal for every page, since it affects the order.
  const least = query.ranksTurns === true ? TALK_TOKENS : PASSAGE_TOKENS;
  const wanted = Math.max(LEAST_WANTED, Math.ceil((largestPage ?? budgetTokens) / least));
  const begin = (): Page => new Page(asking, budgetTokens, byTime);
  const found = await store.passages({ ...query, wanted, ...defined({ asking }) });
  const { match } = found;
  let number = 0;
  for (const { page, isLast } of pagesOf(found, begin, largestPage === undefined ? MOST_LATE : 0)) {
    if (number === asked) return { passages: page.passages(), more: !isLast, match };
    number += 1;
  }
  return { passages: [], more: false, match };
}
