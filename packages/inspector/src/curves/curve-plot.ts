/** The curves of a session's requests, drawn by uPlot with one cursor. Loaded when there are curves to draw. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { CurvePoint } from "@pagurus/api/types";

export interface Curve {
  /** Unique in the page. */
  name: string;
  valueOf(point: CurvePoint): number | undefined;
  /** Of an axis. */
  label(value: number): string;
  /** Upper end of the axis; by default the largest value's. */
  top?: number;
}

export interface DrawOptions {
  points: readonly CurvePoint[];
  /** The point at the cursor; undefined when the pointer has left. */
  onMove(index: number | undefined): void;
  onChoose(index: number): void;
}

export interface DrawnCurves {
  /** Puts the cursor on a point. */
  point(index: number): void;
  remove(): void;
}

const HEIGHT = 84;
const AXIS_WIDTH = 52;
/** A busy page draws a curve nonetheless after this time, ms. */
const MOST_WAIT_MS = 500;
const SOON_MS = 20;

/** One plot in a frame at most: the list below may be scrolled meanwhile. Not all browsers have the call for it. */
function whenIdle(work: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(work, { timeout: MOST_WAIT_MS });
  else setTimeout(work, SOON_MS);
}

/** Draws each curve into the element of its name below `root`, in the colours that the elements have. */
export function drawCurves(
  root: HTMLElement,
  curves: readonly Curve[],
  { points, onMove, onChoose }: DrawOptions,
): DrawnCurves {
  const numbers = points.map(({ number }) => number);
  const plots: { place: HTMLElement; plot: uPlot }[] = [];
  const sizes = new ResizeObserver(() => {
    for (const { place, plot } of plots) plot.setSize({ width: place.clientWidth, height: HEIGHT });
  });
  const draw = (curve: Curve): void => {
    const place = root.querySelector<HTMLElement>(`[data-curve="${curve.name}"]`);
    if (!place) return;
    const values = points.map((point) => curve.valueOf(point) ?? null);
    const plot = new uPlot(optionsOf(place, curve, onMove), [numbers, values], place);
    plot.over.addEventListener("click", () => {
      const { idx } = plot.cursor;
      if (typeof idx === "number") onChoose(idx);
    });
    plot.over.addEventListener("mouseleave", () => onMove(undefined));
    plots.push({ place, plot });
    sizes.observe(place);
  };
  const left = [...curves];
  const next = (): void => {
    const curve = left.shift();
    if (!curve) return;
    draw(curve);
    whenIdle(next);
  };
  whenIdle(next);
  return {
    point(index) {
      const number = numbers[index];
      const [first] = plots;
      if (number !== undefined && first)
        first.plot.setCursor({ left: first.plot.valToPos(number, "x"), top: HEIGHT / 3 });
    },
    remove() {
      left.length = 0;
      sizes.disconnect();
      for (const { plot } of plots) plot.destroy();
    },
  };
}

function optionsOf(place: HTMLElement, curve: Curve, onMove: DrawOptions["onMove"]): uPlot.Options {
  const style = getComputedStyle(place);
  const stroke = style.color;
  const quiet = getComputedStyle(place.parentElement ?? place).color;
  const grid = { stroke: style.borderTopColor, width: 1 };
  const axis = { stroke: quiet, grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [8, 8, 4, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      sync: { key: "requests", setSeries: false },
      points: { size: 7 },
    },
    scales: {
      x: { time: false, range: (_, min, max) => (min === max ? [min - 1, max + 1] : [min, max]) },
      y: { range: (_, __, max) => [0, curve.top ?? (max > 0 ? max * 1.08 : 1)] },
    },
    axes: [
      { ...axis, show: false },
      {
        ...axis,
        size: AXIS_WIDTH,
        space: 24,
        values: (_, ticks) => ticks.map((tick) => curve.label(tick)),
      },
    ],
    series: [
      {},
      {
        stroke,
        width: 1.5,
        fill: `color-mix(in srgb, ${stroke} 14%, transparent)`,
        points: { show: (plot) => (plot.data[0]?.length ?? 0) < 40, size: 4 },
      },
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx } }) => {
          if (typeof idx === "number") onMove(idx);
        },
      ],
    },
  };
}
