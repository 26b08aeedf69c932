/** Shapes of JSON values. Members that a shape does not name may be anything: clients send more than this server reads. */
import { isRecord } from "@pagurus/core/data/record-fields";

/** What is wrong with a value, with its place, such as `"messages[0].role" has to be a text`; undefined: nothing. */
export type Shape = (value: unknown, place: string) => string | undefined;

function kind(what: string, fits: (value: unknown) => boolean): Shape {
  return (value, place) => (fits(value) ? undefined : `"${place}" has to be ${what}`);
}

export const text = kind("a text", (value) => typeof value === "string");
export const flag = kind("true or false", (value) => typeof value === "boolean");
export const number = kind("a number", (value) => typeof value === "number");
export const record = kind("an object", isRecord);

/** Absent, null, or of the shape. */
export function optional(shape: Shape): Shape {
  return (value, place) => (value === undefined || value === null ? undefined : shape(value, place));
}

export function list(item: Shape): Shape {
  return (value, place) => {
    if (!Array.isArray(value)) return `"${place}" has to be a list`;
    for (const [at, each] of value.entries()) {
      const problem = item(each, `${place}[${at}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

export function object(members: Readonly<Record<string, Shape>>): Shape {
  return (value, place) => {
    if (!isRecord(value)) return record(value, place);
    for (const [name, shape] of Object.entries(members)) {
      const problem = shape(value[name], place === "" ? name : `${place}.${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

/** A text, or a value of the shape. */
export function textOr(shape: Shape): Shape {
  return (value, place) => {
    if (typeof value === "string") return undefined;
    return shape(value, place)?.replace(`"${place}" has to be`, `"${place}" has to be a text or`);
  };
}

/** Refers to a shape that is made later, such as one that contains itself. */
export function later(shape: () => Shape): Shape {
  return (value, place) => shape()(value, place);
}
