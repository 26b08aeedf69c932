/**
 * Builds a seccomp filter for Linux. It bounds the means of the kernel that a command has beside its files and its network.
 *
 * - Sockets of the internet and of the kernel's own tables (netlink) alone. By unix sockets, abstract ones included, it would reach other
 *   programs (tmux, Docker, a session bus, X11, a key agent); by families such as vsock the machine around this one, also without a
 *   network. Socket pairs, which programs use internally, are allowed.
 * - No keys of the kernel: the user's session has one keyring, whose keys any of its processes can read.
 * - No setuid bit: a file with it would run as this user for every other user of the machine.
 *
 * Calls that could bypass the filter are refused too: io_uring, and `openat2`, whose flags a filter cannot see.
 */

/** Families of sockets: unspecified, IPv4, IPv6, netlink. */
const FAMILIES = [0, 2, 10, 16];
const SOCKETCALL_SOCKET = 1;
const ALLOW = 0x7fff_0000;
/** `EPERM`. */
const REFUSE = 0x0005_0001;
/** `ENOSYS`: programs use an older call then. */
const MISSING = 0x0005_0026;
/** Flags of opening with which a file is made: `O_CREAT`, `O_TMPFILE`. */
const MAKES = 0x40_0040;
const SETUID = 0o4000;

/** Offsets in the call data of the filter; each argument has 8 bytes, the lower ones first. */
const CALL = 0;
const PROCESSOR = 4;
const argument = (index: number): number => 16 + index * 8;

/** Instructions: load a word, keep some of its bits, compare, test bits, return. */
const LOAD = 0x20;
const AND = 0x54;
const EQUAL = 0x15;
const ANY_BIT = 0x45;
const RETURN = 0x06;

/** Numbers of a processor's calls. Those of the newer ones are the same everywhere. */
interface Calls {
  processor: number;
  socket: number;
  /** The multiplexed socket call, whose first argument selects the operation. */
  socketcall?: number;
  /** `add_key`, `request_key`, `keyctl`. */
  keys: readonly number[];
  /** Calls with a mode, by the index of that argument. */
  modes: Readonly<Record<number, readonly number[]>>;
  /** Calls that open a file, by the index of their flags; the mode is the next argument. */
  opens: Readonly<Record<number, readonly number[]>>;
}

const IO_URING_SETUP = 425;
const OPENAT2 = 437;
const FCHMODAT2 = 452;

/** The processor's native calls first, then those of its 32-bit programs. */
const SYSTEM_CALLS: Partial<Record<NodeJS.Architecture, Calls[]>> = {
  x64: [
    {
      processor: 0xc000_003e,
      socket: 41,
      keys: [248, 249, 250],
      // creat, chmod, fchmod, mknod; fchmodat, mknodat.
      modes: { 1: [85, 90, 91, 133], 2: [268, 259, FCHMODAT2] },
      opens: { 1: [2], 2: [257] },
    },
    {
      processor: 0x4000_0003,
      socket: 359,
      socketcall: 102,
      keys: [286, 287, 288],
      modes: { 1: [8, 15, 94, 14], 2: [306, 297, FCHMODAT2] },
      opens: { 1: [5], 2: [295] },
    },
  ],
  arm64: [
    {
      processor: 0xc000_00b7,
      socket: 198,
      keys: [217, 218, 219],
      modes: { 1: [52], 2: [53, 33, FCHMODAT2] },
      opens: { 2: [56] },
    },
    {
      processor: 0x4000_0028,
      socket: 281,
      keys: [309, 310, 311],
      modes: { 1: [8, 15, 94, 14], 2: [333, 324, FCHMODAT2] },
      opens: { 1: [5], 2: [322] },
    },
  ],
};
/** The bit of x86 calls with short pointers. */
const WITHOUT_SHORT_POINTERS = 0xbfff_ffff;

/** A jump without a label leads to the next instruction. */
type Instruction = [code: number, value: number, yes?: string | undefined, no?: string | undefined];

function callsTo(numbers: readonly number[], label: string): Instruction[] {
  return numbers.map((number) => [EQUAL, number, label]);
}

function partOf(calls: Calls, index: number): (Instruction | string)[] {
  const { processor, socket, socketcall, keys, modes, opens } = calls;
  const byArgument = (of: Calls["modes"], label: string): Instruction[] =>
    Object.entries(of).flatMap(([at, numbers]) => callsTo(numbers, `${label} ${at}`));
  return [
    [LOAD, PROCESSOR],
    [EQUAL, processor, undefined, `after ${index}`],
    [LOAD, CALL],
    [AND, WITHOUT_SHORT_POINTERS],
    ...byArgument(opens, "open"),
    ...byArgument(modes, "mode"),
    ...callsTo([IO_URING_SETUP, ...keys], "refuse"),
    [EQUAL, OPENAT2, "missing"],
    ...(socketcall === undefined ? [] : callsTo([socketcall], "which")),
    [EQUAL, socket, "family", "allow"],
    `after ${index}`,
  ];
}

/** Shared ends of the parts, which judge each kind of call by its arguments. */
const JUDGED: readonly (Instruction | string)[] = [
  // An unknown processor.
  [RETURN, REFUSE],
  "family",
  [LOAD, argument(0)],
  ...callsTo(FAMILIES, "allow"),
  [RETURN, REFUSE],
  "which",
  [LOAD, argument(0)],
  [EQUAL, SOCKETCALL_SOCKET, "refuse", "allow"],
  "open 1",
  [LOAD, argument(1)],
  [ANY_BIT, MAKES, "mode 2", "allow"],
  "open 2",
  [LOAD, argument(2)],
  [ANY_BIT, MAKES, "mode 3", "allow"],
  "mode 1",
  [LOAD, argument(1)],
  [ANY_BIT, SETUID, "refuse", "allow"],
  "mode 2",
  [LOAD, argument(2)],
  [ANY_BIT, SETUID, "refuse", "allow"],
  "mode 3",
  [LOAD, argument(3)],
  [ANY_BIT, SETUID, "refuse", "allow"],
  "allow",
  [RETURN, ALLOW],
  "missing",
  [RETURN, MISSING],
  "refuse",
  [RETURN, REFUSE],
];

/** The filter in the kernel's format; undefined for an unsupported processor. */
export function callFilter(architecture: NodeJS.Architecture = process.arch): Uint8Array | undefined {
  const calls = SYSTEM_CALLS[architecture];
  if (!calls) return undefined;
  const places = new Map<string, number>();
  const instructions: Instruction[] = [];
  for (const part of [...calls.flatMap(partOf), ...JUDGED]) {
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
