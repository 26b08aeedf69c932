/** Numbers as a person reads them, the same in every locale; formats of the language take 40 ms to load in a browser. */

/** `12345` as `12,345`. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number with its noun: `1 entry`, `2 entries`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** US dollars; small sums keep their significant digits. */
export function dollars(value: number): string {
  if (value === 0 || value >= 1) return `$${value.toFixed(2)}`;
  return value >= 0.01 ? `$${value.toFixed(3).replace(/0$/, "")}` : `$${value.toFixed(5)}`;
}

/** `0.884` as `88 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
