/**
 * Names each difference between two types by its path, for values of the one that reach code written for the other. A union of texts;
 * `never` if the types are equal.
 */
import type { TheirMessage } from "./openclaw.ts";

/** Who makes the value: the host, which has to set all that an engine may read, or the engine, whose answer the host reads whole. */
export type Mode = "given" | "answered";
type Other<M extends Mode> = M extends "given" ? "answered" : "given";

/** Identical: two types that differ in optional members can be assigned to each other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Any<T> = 0 extends 1 & T ? true : unknown extends T ? true : false;
/** Fields that have a name; a record's other ones are of no contract. */
type Fields<T> = keyof {
  [K in keyof T as string extends K ? never : number extends K ? never : symbol extends K ? never : K]: 0;
} &
  string;
type FieldsOf<T> = T extends unknown ? Fields<T> : never;
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : undefined) : never;
type Fn = (...given: never[]) => unknown;
type First<T> = T extends (first: infer P, ...rest: never[]) => unknown ? P : undefined;
type Second<T> = T extends (first: never, second: infer P, ...rest: never[]) => unknown ? P : undefined;
type Returned<T> = T extends (...given: never[]) => infer R ? Exclude<Awaited<R>, void> : undefined;

/** `Once`: fields that are compared apart; here only that they are there. */
export type Drift<From, To, Path extends string, M extends Mode, Once extends string = never> =
  Any<From> extends true
    ? never
    : Any<To> extends true
      ? never
      : Same<From, To> extends true
        ? never
        : Absent<From, To, Path> | Values<NonNullable<From>, NonNullable<To>, Path, M, Once>;

type Absent<From, To, Path extends string> = undefined extends From
  ? undefined extends To
    ? never
    : `${Path}: may be absent`
  : never;

type Values<From, To, Path extends string, M extends Mode, Once extends string> = [From] extends [Fn]
  ? [To] extends [Fn]
    ? | Drift<First<To>, First<From>, `${Path}()`, Other<M>, Once>
      | Drift<Second<To>, Second<From>, `${Path}(,)`, Other<M>, Once>
      | Drift<Returned<From>, Returned<To>, `${Path} =>`, M, Once>
    : `${Path}: a function`
  : [From] extends [readonly (infer A)[]]
    ? [To] extends [readonly (infer B)[]]
      ? Drift<A, B, `${Path}[]`, M, Once>
      : `${Path}: a list`
    : [To] extends [readonly unknown[]]
      ? `${Path}: no list`
      : [To] extends [TheirMessage]
        ? never
        : [From] extends [TheirMessage]
          ? never
          : [From] extends [object]
            ? [To] extends [object]
              ? Members<From, To, Path, M, Once>
              : `${Path}: an object`
            : [From] extends [To]
              ? never
              : `${Path}: other values`;

type Members<From, To, Path extends string, M extends Mode, Once extends string> = {
  [K in FieldsOf<From> | FieldsOf<To>]: K extends FieldsOf<From>
    ? K extends FieldsOf<To>
      ? K extends Once
        ? never
        : Drift<ValueOf<From, K>, ValueOf<To, K>, `${Path}.${K}`, M, Once>
      : M extends "answered"
        ? `${Path}.${K}: not read`
        : never
    : M extends "given"
      ? `${Path}.${K}: not given`
      : undefined extends ValueOf<To, K>
        ? never
        : `${Path}.${K}: not there`;
}[FieldsOf<From> | FieldsOf<To>];

type Both<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void ? I : never;
type Last<U> = Both<U extends unknown ? () => U : never> extends () => infer L ? L & string : never;
type Joined<U extends string, Text extends string = ""> = [U] extends [never]
  ? Text
  : Joined<Exclude<U, Last<U>>, `${Text}\n${Last<U>}`>;

/** The names of what is found and not declared, and of what is declared and gone, a line each: as one text, which the compiler prints whole. */
export type Undeclared<Found extends string, Known extends string> = Joined<
  Exclude<Found, Known> | Gone<Known, Found>
>;
type Gone<Known extends string, Found extends string> = Known extends Found
  ? never
  : `${Known} (declared, and gone)`;
/** Compiles where nothing is found. */
export type None<_Found extends ""> = true;
