/** Header fields of a mail in their order, which says who added them: each server puts its own at the top. */

export interface MailHeader {
  /** In lower case. */
  name: string;
  /** Unfolded, on one line. */
  value: string;
}

/** The fields from raw lines, each with its folded continuation. */
export function headersOf(lines: readonly { key: string; line: string }[]): MailHeader[] {
  return lines.map(({ key, line }) => ({
    name: key,
    value: line
      .slice(line.indexOf(":") + 1)
      .replaceAll(/\s+/g, " ")
      .trim(),
  }));
}

/** The first field of that name; undefined where there is none. */
export function headerIn(headers: readonly MailHeader[], name: string): string | undefined {
  return headers.find((header) => header.name === name)?.value;
}

/** Message ids in a field, with their angle brackets, in order. */
export function messageIds(value: string | undefined): string[] {
  return [...(value ?? "").matchAll(/<[^<>\s]{1,990}>/g)].map(([id]) => id);
}
