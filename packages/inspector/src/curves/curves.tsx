/**
 * Context size, share of the cache and cost of a session's requests above its line of time. The same in words: a sentence with links, and
 * a slider that reads each point.
 */
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CurvePoint, RequestCurve } from "@pagurus/api/types";
import type { Curve, DrawnCurves } from "./curve-plot.ts";
import { addressOf, go } from "../page-route.ts";
import { count, dollars, percent } from "@pagurus/core/data/plain-numbers";
import { oneLine, time } from "../plain-text.ts";
import { server } from "../server-calls.ts";

export interface CurvesProps {
  agent: string;
  sessionKey: string;
  /** Another value: something happened in the session. */
  version: string;
}

/** Kept while the user goes from page to page. */
const isOpen = signal(true);
const MANY = 1_000;
/** Points that a page key moves by. */
const PAGE = 10;
/** Time between two readings of a session that is at work, ms. */
const PAUSE_MS = 1_000;

function short(tokens: number): string {
  return tokens >= MANY ? `${count(Math.round(tokens / 100) / 10)}k` : String(Math.round(tokens));
}

/** Of an axis, without digits that say nothing. */
function price(cost: number): string {
  return `$${Number(cost.toPrecision(3))}`;
}

const CURVES: readonly (Curve & { title: string })[] = [
  { name: "tokens", title: "Context, tokens", valueOf: ({ tokens }) => tokens, label: short },
  { name: "cache", title: "From the cache", valueOf: ({ cacheShare }) => cacheShare, label: percent, top: 1 },
  { name: "cost", title: "Cost of a request", valueOf: ({ cost }) => cost, label: price },
];

function useCurve({ agent, sessionKey, version }: CurvesProps): RequestCurve | undefined {
  const [curve, setCurve] = useState<RequestCurve>();
  const lastRead = useRef(0);
  useEffect(() => {
    lastRead.current = 0;
    setCurve(undefined);
  }, [agent, sessionKey]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal: aborted } = controller;
    const timer = setTimeout(
      () => {
        lastRead.current = performance.now();
        server.inspect.curve(sessionKey, { agent, signal: aborted }).then(setCurve, () => {
          // The line of time below reports what fails; without an answer there is no curve.
        });
      },
      lastRead.current === 0 ? 0 : Math.max(0, lastRead.current + PAUSE_MS - performance.now()),
    );
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [agent, sessionKey, version]);
  return curve;
}

export function Curves(props: CurvesProps) {
  const curve = useCurve(props);
  // One point is no curve.
  if (!curve || curve.points.length < 2) return null;
  return (
    <details
      class="curves"
      open={isOpen.value}
      onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}
    >
      <summary>Curves of {count(curve.requests)} requests</summary>
      <Summary {...props} curve={curve} />
      {isOpen.value ? <Plots {...props} points={curve.points} /> : null}
    </details>
  );
}

function extreme(
  points: readonly CurvePoint[],
  valueOf: (point: CurvePoint) => number | undefined,
): CurvePoint | undefined {
  const known = points.filter((point) => valueOf(point) !== undefined);
  const [first, ...rest] = known;
  return (
    first &&
    rest.reduce((best, point) => ((valueOf(point) ?? 0) > (valueOf(best) ?? 0) ? point : best), first)
  );
}

/** The curves as a sentence; each extreme is a link to its request. */
function Summary({ agent, sessionKey: key, curve }: CurvesProps & { curve: RequestCurve }) {
  const { points, cost } = curve;
  const largest = extreme(points, ({ tokens }) => tokens);
  // The first request has nothing that a cache could hold.
  const coldest = extreme(points.slice(1), ({ cacheShare }) =>
    cacheShare === undefined ? undefined : -cacheShare,
  );
  const dearest = extreme(points, (point) => point.cost);
  const link = (point: CurvePoint, text: string) => (
    <a href={addressOf({ page: "request", agent, key, request: point.request })}>{text}</a>
  );
  return (
    <p class="facts">
      {largest ? <>largest request {link(largest, `${count(largest.tokens)} tokens`)}</> : null}
      {coldest ? (
        <> · smallest share from the cache {link(coldest, percent(coldest.cacheShare ?? 0))}</>
      ) : null}
      {dearest ? <> · most expensive {link(dearest, dollars(dearest.cost ?? 0))}</> : null}
      {cost === undefined ? null : ` · ${dollars(cost)} in all`}
    </p>
  );
}

function read({ number, requests, at, tokens, cacheShare, cost }: CurvePoint): string {
  const numbers =
    requests === 1
      ? `request ${count(number)}`
      : `requests ${count(number)} to ${count(number + requests - 1)}`;
  return [
    numbers,
    `${count(tokens)} tokens`,
    cacheShare === undefined ? "" : `cache ${percent(cacheShare)}`,
    cost === undefined ? "" : dollars(cost),
    time(at),
  ]
    .filter((fact) => fact !== "")
    .map(oneLine)
    .join(" · ");
}

function moved(key: string, at: number, last: number): number | undefined {
  if (key === "ArrowRight" || key === "ArrowUp") return Math.min(last, at + 1);
  if (key === "ArrowLeft" || key === "ArrowDown") return Math.max(0, at - 1);
  if (key === "PageUp") return Math.min(last, at + PAGE);
  if (key === "PageDown") return Math.max(0, at - PAGE);
  if (key === "Home") return 0;
  return key === "End" ? last : undefined;
}

function useTheme(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [isDark, setIsDark] = useState(query.matches);
  useEffect(() => {
    const listen = (): void => setIsDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return isDark;
}

function Plots({ agent, sessionKey: key, points }: CurvesProps & { points: readonly CurvePoint[] }) {
  const root = useRef<HTMLDivElement>(null);
  const drawn = useRef<DrawnCurves>(undefined);
  const last = points.length - 1;
  const [at, setAt] = useState<number>();
  const index = Math.min(at ?? last, last);
  const isDark = useTheme();
  const choose = (chosen: number): void => {
    const request = points[chosen]?.request;
    if (request !== undefined) go({ page: "request", agent, key, request });
  };
  useEffect(() => {
    let isGone = false;
    void import("./curve-plot.ts").then(({ drawCurves }) => {
      if (isGone || !root.current) return;
      drawn.current = drawCurves(root.current, CURVES, { points, onMove: setAt, onChoose: choose });
    });
    return () => {
      isGone = true;
      drawn.current?.remove();
      drawn.current = undefined;
    };
  }, [points, isDark, agent, key]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moved(event.key, index, last);
    if (next !== undefined) {
      setAt(next);
      drawn.current?.point(next);
    } else if (event.key === "Enter") choose(index);
    else return;
    event.preventDefault();
  };
  const point = points[index];
  const text = point ? read(point) : "";
  const shown = CURVES.filter((curve) => points.some((each) => curve.valueOf(each) !== undefined));
  return (
    <>
      <div
        class="plots"
        ref={root}
        role="slider"
        tabIndex={0}
        aria-label="Points of the curves"
        aria-valuemin={1}
        aria-valuemax={points.length}
        aria-valuenow={index + 1}
        aria-valuetext={text}
        onKeyDown={onKeyDown}
      >
        {shown.map(({ name, title }) => (
          <div key={name} class="plot-frame" aria-hidden="true">
            {title}
            <div class="plot" data-curve={name} />
          </div>
        ))}
      </div>
      <p class="facts point">{text}</p>
    </>
  );
}
