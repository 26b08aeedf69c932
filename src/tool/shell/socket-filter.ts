/**
 * A seccomp filter for Linux: a filtered program cannot create a unix socket, so that it reaches no other program by one (tmux,
 * Docker, a session bus, X11, a key agent), abstract ones included. Socket pairs, which programs use internally, are allowed.
 * Calls that could bypass the filter are refused too: io_uring, and 32-bit ones.
 */

const AF_UNIX = 1;
const SOCKETCALL_SOCKET = 1;
const IO_URING_SETUP = 425;
const ALLOW = 0x7fff_0000;
/** `EPERM`. */
const REFUSE = 0x0005_0001;

/** Offsets in the call data of the filter. */
const CALL = 0;
const PROCESSOR = 4;
const FIRST_ARGUMENT = 16;

/** Instructions: load a word, keep some of its bits, compare, return. */
const LOAD = 0x20;
const AND = 0x54;
const EQUAL = 0x15;
const RETURN = 0x06;

interface Calls {
  processor: number;
  socket: number;
  /** The multiplexed socket call, whose first argument selects the operation. */
  socketcall?: number;
}

/** The processor's native calls first, then those of its 32-bit programs. */
const CALLS: Partial<Record<NodeJS.Architecture, Calls[]>> = {
  x64: [
    { processor: 0xc000_003e, socket: 41 },
    { processor: 0x4000_0003, socket: 359, socketcall: 102 },
  ],
  arm64: [
    { processor: 0xc000_00b7, socket: 198 },
    { processor: 0x4000_0028, socket: 281 },
  ],
};
/** The bit of x86 calls with short pointers. */
const WITHOUT_SHORT_POINTERS = 0xbfff_ffff;

type Instruction = [code: number, value: number, yes: string | undefined, no: string | undefined];

function instructionsFor(calls: readonly Calls[]): (Instruction | string)[] {
  const parts = calls.flatMap(({ processor, socket, socketcall }, index): (Instruction | string)[] => [
    [LOAD, PROCESSOR, undefined, undefined],
    [EQUAL, processor, undefined, `after ${index}`],
    [LOAD, CALL, undefined, undefined],
    [AND, WITHOUT_SHORT_POINTERS, undefined, undefined],
    [EQUAL, IO_URING_SETUP, "refuse", undefined],
    ...((socketcall === undefined
      ? [[EQUAL, socket, "family", "allow"]]
      : [
          [EQUAL, socket, "family", undefined],
          [EQUAL, socketcall, "which", "allow"],
        ]) satisfies Instruction[]),
    `after ${index}`,
  ]);
  return [
    ...parts,
    // An unknown processor.
    [RETURN, REFUSE, undefined, undefined],
    "family",
    [LOAD, FIRST_ARGUMENT, undefined, undefined],
    [EQUAL, AF_UNIX, "refuse", "allow"],
    "which",
    [LOAD, FIRST_ARGUMENT, undefined, undefined],
    [EQUAL, SOCKETCALL_SOCKET, "refuse", "allow"],
    "allow",
    [RETURN, ALLOW, undefined, undefined],
    "refuse",
    [RETURN, REFUSE, undefined, undefined],
  ];
}

/** The filter in the kernel's format; undefined for an unsupported processor. */
export function socketFilter(architecture: NodeJS.Architecture = process.arch): Uint8Array | undefined {
  const calls = CALLS[architecture];
  if (!calls) return undefined;
  const places = new Map<string, number>();
  const instructions: Instruction[] = [];
  for (const part of instructionsFor(calls)) {
    if (typeof part === "string") places.set(part, instructions.length);
    else instructions.push(part);
  }
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [index, [code, value, yes, no]] of instructions.entries()) {
    const jump = (to: string | undefined): number =>
      to === undefined ? 0 : (places.get(to) ?? index + 1) - index - 1;
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jump(yes));
    bytes.setUint8(index * 8 + 3, jump(no));
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
