/** Places of rectangles whose areas are in proportion to sizes, as near to squares as they get (squarified). */

export interface Placed<T> {
  item: T;
  /** Shares of the whole area, 0 to 1. */
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** `items` need not be sorted; those of size 0 are left out. `aspect` is the area's width by its height. */
export function treemap<T>(items: readonly T[], sizeOf: (item: T) => number, aspect: number): Placed<T>[] {
  const sorted = items.filter((item) => sizeOf(item) > 0).toSorted((a, b) => sizeOf(b) - sizeOf(a));
  const total = sorted.reduce((sum, item) => sum + sizeOf(item), 0);
  const scale = total === 0 ? 0 : aspect / total;
  const placed: Placed<T>[] = [];
  let area: Area = { x: 0, y: 0, width: aspect, height: 1 };
  for (let at = 0; at < sorted.length;) {
    const side = Math.min(area.width, area.height);
    let end = at + 1;
    const areas = (until: number): number[] => sorted.slice(at, until).map((item) => sizeOf(item) * scale);
    while (end < sorted.length && worst(areas(end + 1), side) <= worst(areas(end), side)) end += 1;
    area = row(sorted.slice(at, end), areas(end), area, placed);
    at = end;
  }
  return placed.map(({ item, x, y, width, height }) => ({
    item,
    x: x / aspect,
    y,
    width: width / aspect,
    height,
  }));
}

/** The longest side by the shortest of a row's worst rectangle. */
function worst(areas: readonly number[], side: number): number {
  const sum = areas.reduce((all, each) => all + each, 0);
  const thickness = sum / side;
  return Math.max(
    ...areas.map((each) => Math.max(each / thickness / thickness, thickness / (each / thickness))),
  );
}

/** Places a row along the shorter side, and returns the area that is left. */
function row<T>(items: readonly T[], areas: readonly number[], area: Area, placed: Placed<T>[]): Area {
  const isTall = area.width >= area.height;
  const thickness = areas.reduce((all, each) => all + each, 0) / Math.min(area.width, area.height);
  let { x, y } = area;
  for (const [index, item] of items.entries()) {
    const length = (areas[index] ?? 0) / thickness;
    placed.push(
      isTall
        ? { item, x, y, width: thickness, height: length }
        : { item, x, y, width: length, height: thickness },
    );
    if (isTall) y += length;
    else x += length;
  }
  return isTall
    ? { ...area, x: area.x + thickness, width: area.width - thickness }
    : { ...area, y: area.y + thickness, height: area.height - thickness };
}
