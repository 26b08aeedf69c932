/**
 * Place of an entry: its segment (a chain in which each entry is the child of the one before it) and its position there,
 * as one integer, which is the row's number. A chain is contiguous in the table, oldest first.
 */
const SPAN = 2 ** 22;

/** Capacity of a segment in entries; a longer chain continues in a new one. */
export const SEGMENT_LIMIT = SPAN;

export function placeOf(segment: number, position: number): number {
  return segment * SPAN + position;
}

export function segmentOf(place: number): number {
  return Math.floor(place / SPAN);
}

export function positionOf(place: number): number {
  return place % SPAN;
}
