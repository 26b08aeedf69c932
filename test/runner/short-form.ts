/** The lengths of properties, kills and floods: short in `npm test`, full with `PAGURUS_PROVE=1`. */

export const FULL = process.env["PAGURUS_PROVE"] === "1";
/** What CI runs: `npm test -- --all`. */
export const ALL = FULL || process.env["PAGURUS_ALL_TESTS"] === "1";

/** A number of the full form, of `npm test -- --all` and of `npm test`. */
export function byLength<T>(full: T, all: T, short: T): T {
  return FULL ? full : ALL ? all : short;
}

/** All values in the full form; in the short form one, the next for each `index`. */
export function turnAbout<T>(values: readonly T[], index: number): readonly T[] {
  const at = index % values.length;
  return FULL ? values : values.slice(at, at + 1);
}

/** All values in the full form; in the short form every `step`th, from the first. */
export function everyNth<T>(values: readonly T[], step: number): readonly T[] {
  return FULL ? values : values.filter((_value, index) => index % step === 0);
}

/** Runs of a property: an eighth of the full number, at least 40, with `--all`; a third of that, at least 30, in the short form. */
export function runs(full: number): number {
  const some = Math.min(full, Math.max(40, Math.round(full / 8)));
  return byLength(full, some, Math.min(some, Math.max(30, Math.round(some / 3))));
}
