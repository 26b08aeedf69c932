/*! Parts of zod: MIT License, Copyright (c) 2025 Colin McDonnell; the text is in node_modules/zod/LICENSE. */
/**
 * The part of the schema library that checks configurations and manifests. The build bundles it without the rest: the whole library
 * takes 70 ms of CPU to load, most of it for 60 languages and the conversions of JSON Schema, and this part 16.
 */
export {
  array,
  boolean,
  enum,
  int,
  literal,
  number,
  object,
  record,
  strictObject,
  string,
  union,
  unknown,
  url,
} from "zod";
