/** The parts of a request as a treemap by bytes. */
import { useMemo } from "preact/hooks";
import type { InspectedPart } from "@pagurus/api/types";
import { SOURCES } from "./legend/terms.ts";
import { bytes, oneLine } from "./plain-text.ts";
import { treemap } from "./treemap-layout.ts";

/** Rectangles; smaller parts are in one for each source. */
const MOST = 120;
const ASPECT = 1.6;
/** Share of the area from which a rectangle has a text. */
const TEXT_SHARE = 0.012;

interface Tile {
  index: number | undefined;
  source: InspectedPart["source"];
  label: string;
  bytes: number;
}

function tilesOf(parts: readonly InspectedPart[]): Tile[] {
  const all = parts.map((part, index): Tile => ({
    index,
    source: part.source,
    label: oneLine(labelOf(part)),
    bytes: part.bytes,
  }));
  const sorted = all.toSorted((a, b) => b.bytes - a.bytes);
  const rest = Object.values(Object.groupBy(sorted.slice(MOST), ({ source }) => source)).map(
    (tiles): Tile => {
      const [first] = tiles;
      return {
        index: undefined,
        source: first?.source ?? "framing",
        label: `${tiles.length} more: ${SOURCES[first?.source ?? "framing"].name}`,
        bytes: tiles.reduce((sum, tile) => sum + tile.bytes, 0),
      };
    },
  );
  return [...sorted.slice(0, MOST), ...rest];
}

/** The source and the first words, the file or the name of a tool, for example `This turn: Which berths are free?`. */
export function labelOf(part: InspectedPart): string {
  return `${SOURCES[part.source].name}: ${namedOf(part)}`;
}

/** A file, the first words, or the place in the body where a part has neither. */
export function namedOf({ source, words, path, at = "", role }: InspectedPart): string {
  if (path !== undefined) return path;
  if (source === "settings") return words === undefined ? at : `${at}: ${words}`;
  return words ?? (at === "" ? (role ?? "") : at);
}

export function PartMap({ parts, onOpen }: { parts: readonly InspectedPart[]; onOpen(index: number): void }) {
  const placed = useMemo(() => treemap(tilesOf(parts), (tile) => tile.bytes, ASPECT), [parts]);
  return (
    <div class="map" role="group" aria-label="Parts by bytes">
      {placed.map(({ item, x, y, width, height }) => (
        <button
          type="button"
          key={`${item.index ?? item.source}`}
          class={width * height > TEXT_SHARE ? "tile named" : "tile"}
          data-source={item.source}
          disabled={item.index === undefined}
          aria-label={`${item.label}, ${bytes(item.bytes)}`}
          title={`${item.label}, ${bytes(item.bytes)}`}
          style={{
            left: `${x * 100}%`,
            top: `${y * 100}%`,
            width: `${width * 100}%`,
            height: `${height * 100}%`,
          }}
          onClick={() => item.index !== undefined && onOpen(item.index)}
        >
          {width * height > TEXT_SHARE ? item.label : ""}
        </button>
      ))}
    </div>
  );
}
