// A trace from outside, checked where there is no server: by the JSON Schema of its file format,
// which says types, limits and defaults, and by reading each of its steps once. hsd/trace checks
// more; what slips through here is drawn as it stands.
import { differs, readStep } from "../step/model.js";

class Wrong extends Error {}

const KINDS = /** @type {Record<string, (value: any) => boolean>} */ ({
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === "string" && value.isWellFormed(),
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
});
const LIMITS = /** @type {Record<string, (value: any, limit: any) => boolean>} */ ({
  const: (value, wanted) => value === wanted,
  enum: (value, wanted) => wanted.includes(value),
  minimum: (value, least) => Number(value) >= least,
  maximum: (value, most) => Number(value) <= most,
  exclusiveMaximum: (value, most) => Number(value) < most,
  maxLength: (value, most) => value.length <= 2 * most && [...value].length <= most,
  minItems: (value, least) => value.length >= least,
  maxItems: (value, most) => value.length <= most,
});

/**
 * Throw where `value` is not as the schema says; parts that are left out get their defaults.
 * @param {any} value
 * @param {JsonSchema} schema
 * @param {JsonSchema} known - named schemas
 * @param {string} where - the part of the trace that the value is
 * @returns {void}
 */
function fits(value, schema, known, where) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return fits(value, known[name], known, where);
  }
  if (schema.anyOf) return either(value, schema.anyOf, known, where);
  const refuse = (/** @type {string} */ what) => {
    throw new Wrong(`${where.slice(0, 120) || "trace"}: ${what}`);
  };
  if (schema.type && !KINDS[schema.type](value)) refuse(`should be of type ${schema.type}`);
  for (const [name, holds] of Object.entries(LIMITS)) {
    if (name in schema && !holds(value, schema[name]))
      refuse(`${name} is ${JSON.stringify(schema[name])}`);
  }
  if (schema.items) {
    for (const [i, item] of value.entries()) fits(item, schema.items, known, `${where}.${i}`);
  }
  if (schema.type !== "object") return;
  const { properties = {}, required = [], additionalProperties: others = true } = schema;
  for (const name of required) {
    if (!Object.hasOwn(value, name)) refuse(`has no ${name}`);
  }
  for (const [name, part] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name) && "default" in part)
      value[name] = structuredClone(part.default);
  }
  for (const [name, part] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : others;
    if (own === false) refuse(`unknown part ${name.slice(0, 40)}`);
    if (own !== true) fits(part, own, known, `${where}.${name}`.replace(/^\./, ""));
  }
}

/**
 * Throw where `value` fits none of the schemas, with what the last of them lacks that is not null.
 * @type {(value: any, schemas: JsonSchema[], known: JsonSchema, where: string) => void}
 */
function either(value, schemas, known, where) {
  let problem = null;
  for (const schema of schemas) {
    try {
      return fits(value, schema, known, where);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      if (schema.type !== "null") problem = error;
    }
  }
  throw problem;
}

/** Throw where a trace contradicts itself, so that it cannot be read. @param {Trace} trace */
function reads(trace) {
  for (const [i, step] of trace.steps.entries()) {
    const known = new Set([0]);
    for (const [n, { id, parent }] of step.nodes.entries()) {
      if (id !== n + 1 || !known.has(parent))
        throw new Wrong(`steps.${i}.nodes.${n}: is not after its parent`);
      known.add(id);
    }
    try {
      readStep(trace, i);
    } catch {
      throw new Wrong(`steps.${i}: contradicts itself`);
    }
  }
}

/**
 * Return the trace in a text and the first step at which the rules differ, or an error.
 * @type {(text: string, schema: JsonSchema, most: number) => OpenedTrace}
 */
function check(text, schema, most) {
  const { size } = new Blob([text]);
  const limit = `a trace of over ${Math.round(most / 1e6)} MB`;
  if (size > most) return { error: `${limit} cannot be opened: record fewer tokens` };
  let trace;
  try {
    trace = JSON.parse(text);
  } catch {
    return { error: "this file is not JSON: choose a trace saved by hsd" };
  }
  const version = KINDS.object(trace) ? JSON.stringify(trace.trace_version) : undefined;
  if (version === undefined)
    return { error: "this JSON is not a trace (no trace_version): choose a file saved by hsd" };
  if (version !== "2") {
    return {
      error: `trace version ${version.slice(0, 20)} cannot be read, only 2: record the run again`,
    };
  }
  try {
    fits(trace, schema, schema.$defs, "");
    reads(trace);
  } catch (error) {
    if (!(error instanceof Wrong || error instanceof RangeError)) throw error;
    return { error: `not a valid trace: ${error.message}` };
  }
  return { trace, step: Math.max(trace.steps.findIndex(differs), 0) };
}

export { check };
