/** Calls of the probes: each reads what it got of the host and is true where that is as OpenClaw's types say. */

export interface ProbeCall {
  name: string;
  ok: boolean;
  detail: string;
}

interface Holder {
  probeCalls?: ProbeCall[];
}

/** Shared with the test: a plugin is another copy of this module. */
export function probeCalls(): ProbeCall[] {
  return ((globalThis as Holder).probeCalls ??= []);
}

/** `seen`: a list of what was read, each of which has to be true. */
export function note(name: string, seen: Record<string, boolean>): void {
  const wrong = Object.entries(seen).flatMap(([field, is]) => (is ? [] : [field]));
  probeCalls().push({ name, ok: wrong.length === 0, detail: wrong.join(", ") });
}
