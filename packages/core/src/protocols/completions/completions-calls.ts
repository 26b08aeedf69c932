/** The calls of an answer of the Chat Completions API, from their pieces. Servers number and name the pieces in many ways. */
import { type Fields, isRecord, recordOf, stringOf } from "../../data/record-fields.ts";
import type { ReadCall } from "../answer-reader.ts";
import { plainCount, plainName } from "../answer-values.ts";
import { readArguments } from "../protocol-parts.ts";

export interface OpenCall {
  id: string;
  name: string;
  args: string;
}

interface Piece {
  index: number | undefined;
  id: string;
  name: string;
  /** Text to append; an object replaces what came. */
  args: string | Fields;
}

/** A piece as OpenAI sends it, one of a custom tool, or one with its members at the top. */
function readPiece(fields: Fields): Piece {
  const custom = recordOf(fields["custom"]);
  const named = isRecord(fields["function"]) ? fields["function"] : fields;
  const args = named["arguments"] ?? custom["input"] ?? named["input"];
  return {
    index: plainCount(fields["index"]),
    id: plainName(fields["id"]),
    name: plainName(named["name"]) || plainName(custom["name"]),
    args: isRecord(args) ? args : stringOf(args),
  };
}

function isWholeCall({ args }: OpenCall): boolean {
  return args.trim() !== "" && readArguments(args).unparsed === undefined;
}

export class CallPieces {
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  readonly #begin: (call: OpenCall) => void;

  /** `begin` is called with each new call. */
  constructor(begin: (call: OpenCall) => void) {
    this.#begin = begin;
  }

  get size(): number {
    return this.#calls.length;
  }

  add(fields: Fields): void {
    const piece = readPiece(fields);
    const call = this.#continued(piece) ?? this.#next();
    if (piece.index !== undefined) this.#byIndex.set(piece.index, call);
    call.id ||= piece.id;
    call.name = joinedName(call, piece);
    if (typeof piece.args === "string") call.args += piece.args;
    else if (Object.keys(piece.args).length > 0 || call.args === "") call.args = JSON.stringify(piece.args);
  }

  #next(): OpenCall {
    const call = { id: "", name: "", args: "" };
    this.#calls.push(call);
    this.#begin(call);
    return call;
  }

  /** The call that a piece belongs to; undefined for the first piece of one. */
  #continued(piece: Piece): OpenCall | undefined {
    const { index, id, name } = piece;
    const sameId = id === "" ? undefined : this.#calls.find((call) => call.id === id);
    if (sameId) return sameId;
    const known = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index);
    // A piece with nothing but arguments begins no call, under whatever index it comes.
    if (!known) return id === "" && name === "" ? this.#calls.at(-1) : undefined;
    if (id !== "") return known.id === "" && !beginsAnother(known, piece) ? known : undefined;
    return name === "" || !beginsAnother(known, piece) ? known : undefined;
  }
}

/** Whether a named piece without an id of the call begins another one: the call has all its arguments. */
function beginsAnother(known: OpenCall, { index, name, args }: Piece): boolean {
  if (name === "" || known.name === "") return false;
  if (index === undefined && known.args === "") return name === known.name || args !== "";
  const isFresh = typeof args !== "string" || args === "" || args.trimStart().startsWith("{");
  return isWholeCall(known) && isFresh;
}

/** A name may come in pieces, late, or with every piece. */
function joinedName(call: OpenCall, { name }: Piece): string {
  if (call.name === "" || name.startsWith(call.name)) return name || call.name;
  return name !== "" && call.args === "" ? call.name + name : call.name;
}

export function readCall({ id, name, args }: OpenCall): ReadCall {
  return { type: "toolCall", id, name: name || "unknown", ...readArguments(args) };
}
