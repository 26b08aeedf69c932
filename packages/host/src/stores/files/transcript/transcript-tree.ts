/**
 * The active path of a transcript as byte ranges. Entries that follow each other in the file and in the tree form one segment, so a path is
 * a short list of ranges however long the conversation: reading it is reading those bytes. An entry is identified by the offset after its
 * line (`end`); 0 is the empty conversation.
 */
export interface Segment {
  start: number;
  end: number;
  /** `end` of the parent of the segment's first entry; 0 for a root. */
  parentEnd: number;
}

export interface Range {
  start: number;
  end: number;
}

export class PathTree {
  readonly #segments: Segment[];
  #leafEnd: number;
  #path: Range[] | undefined;

  /** `segments` in file order; the tree takes ownership of the array. */
  constructor(segments: Segment[] = [], leafEnd = 0) {
    this.#segments = segments;
    this.#leafEnd = leafEnd;
  }

  get leafEnd(): number {
    return this.#leafEnd;
  }

  /** Adds an entry at the file's end and makes it the leaf. Returns the segment that is new or grew. */
  extend(offset: number, length: number, parentEnd: number): Segment {
    const end = offset + length;
    const last = this.#segments.at(-1);
    const range = this.#path?.at(-1);
    if (last && last.end === offset && parentEnd === offset) {
      last.end = end;
      // The cached path ends in this segment exactly when its last range ends where the entry starts.
      if (range?.end === offset) range.end = end;
      else this.#path = undefined;
      this.#leafEnd = end;
      return last;
    }
    const segment = { start: offset, end, parentEnd };
    this.#segments.push(segment);
    this.#leafEnd = end;
    this.#path = undefined;
    return segment;
  }

  moveTo(end: number): void {
    this.#leafEnd = end;
    this.#path = undefined;
  }

  /** Ranges of the active path, root first. */
  path(): readonly Range[] {
    this.#path ??= this.pathTo(this.#leafEnd);
    return this.#path;
  }

  /** Ranges from the root to the entry that ends at `end`, on or off the active path. */
  pathTo(end: number): Range[] {
    const ranges: Range[] = [];
    let cut = end;
    while (cut > 0) {
      const segment = this.#holding(cut);
      if (!segment) break;
      ranges.push({ start: segment.start, end: cut });
      // A parent is before its child in the file; anything else would be a loop.
      cut = segment.parentEnd <= segment.start ? segment.parentEnd : 0;
    }
    return ranges.reverse();
  }

  /** True when the line at `offset` belongs to the active path. */
  onPath(offset: number): boolean {
    const ranges = this.path();
    let low = 0;
    let high = ranges.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const range = ranges[middle];
      if (!range) return false;
      if (offset < range.start) high = middle - 1;
      else if (offset >= range.end) low = middle + 1;
      else return true;
    }
    return false;
  }

  #holding(end: number): Segment | undefined {
    let low = 0;
    let high = this.#segments.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const segment = this.#segments[middle];
      if (!segment) return undefined;
      if (end <= segment.start) high = middle - 1;
      else if (end > segment.end) low = middle + 1;
      else return segment;
    }
    return undefined;
  }
}

/** The parts of `ranges` that lie in [from, to). */
export function clip(ranges: readonly Range[], from: number, to = Number.MAX_SAFE_INTEGER): Range[] {
  return ranges
    .map((range) => ({ start: Math.max(range.start, from), end: Math.min(range.end, to) }))
    .filter((range) => range.start < range.end);
}
