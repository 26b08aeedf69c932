/** Counts checks and prints each as a line. */
import { isDeepStrictEqual } from "node:util";

export class Checks {
  passed = 0;
  failed = 0;

  check(title: string, isRight: boolean, detail = ""): void {
    if (isRight) this.passed += 1;
    else this.failed += 1;
    console.log(`${isRight ? "ok  " : "FAIL"} ${title}`);
    if (!isRight && detail !== "") console.log(detail.slice(0, 1_500).replace(/^/gm, "       "));
  }

  equal(title: string, actual: unknown, expected: unknown): void {
    const text = (value: unknown): string =>
      (typeof value === "string" ? value : JSON.stringify(value)) ?? "";
    const [one, other] = [text(actual), text(expected)];
    let at = 0;
    while (at < one.length && one[at] === other[at]) at += 1;
    const from = Math.max(0, at - 80);
    const detail = `old: …${other.slice(from, at + 300)}\nnow: …${one.slice(from, at + 300)}`;
    this.check(title, isDeepStrictEqual(actual, expected), detail);
  }
}
