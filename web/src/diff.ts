// What differs between two states of one object.
import { valueText } from "./format";

export interface Difference {
  path: string;
  kind: "added" | "removed" | "changed" | "same";
  before: string;
  after: string;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Members of members as "spec.replicas"; lists are compared as a whole. */
export function flatten(value: unknown, path = "", out = new Map<string, unknown>()): Map<string, unknown> {
  if (isPlainObject(value) && Object.keys(value).length > 0) {
    for (const [name, inner] of Object.entries(value)) flatten(inner, path ? `${path}.${name}` : name, out);
  } else if (path) {
    out.set(path, value);
  }
  return out;
}

/** Differences first by name; what is the same stands at its place too. */
export function compare(before: Record<string, unknown> | undefined, after: Record<string, unknown> | undefined): Difference[] {
  const old = flatten(before ?? {});
  const now = flatten(after ?? {});
  return [...new Set([...old.keys(), ...now.keys()])].sort().map((path) => {
    const a = valueText(old.get(path));
    const b = valueText(now.get(path));
    const kind = !old.has(path) ? "added" : !now.has(path) ? "removed" : a === b ? "same" : "changed";
    return { path, kind, before: a, after: b };
  });
}
