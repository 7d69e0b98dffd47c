// Conditions in plain words. The words are those of docs/conditions.md.
import conditions from "kollect:conditions";
import type { Condition, ResourceStatus } from "./types";

export interface Explanation {
  means: string;
  todo: string; // "" when nothing is to be done
}

/** "KollectClusterTarget" is "ClusterTarget" on the page; every family of sinks is "Sinks". */
export function pageKind(kind: string): string {
  const short = kind.replace(/^Kollect/, "");
  return /Sink$/.test(short) ? "Sinks" : short;
}

function covers(where: string, kind: string, type: string, status: string): number {
  let best = 0;
  for (const part of where.split(";")) {
    const [kinds = "", states = ""] = part.split(": ");
    const ofKind = kinds.split(",").some((one) => one.trim() === pageKind(kind));
    const wanted = states.split(",").map((one) => one.trim().replace(/^sinkExports\./, ""));
    const same = wanted.includes(`${type}=${status}`);
    best = Math.max(best, (same ? 2 : 0) + (ofKind ? 1 : 0));
  }
  return best;
}

/** What a reason means where it stands; nothing for reasons that the page does not know. */
export function explain(kind: string, type: string, status: string, reason: string | undefined): Explanation | undefined {
  let best: { row: [string, string, string, string]; fit: number } | undefined;
  for (const row of conditions.reasons) {
    if (row[0] !== reason) continue;
    const fit = covers(row[1], kind, type, status);
    if (!best || fit > best.fit) best = { row, fit };
  }
  if (!best) return undefined;
  return { means: best.row[2], todo: best.row[3] === "nothing" ? "" : best.row[3] };
}

export const typeMeaning = (type: string): string | undefined => conditions.types[type];

export type Health = "degraded" | "attention" | "syncing" | "ready" | "unknown";

export const kHealthWords: Record<Health, string> = {
  degraded: "Degraded",
  attention: "Needs attention",
  syncing: "Syncing",
  ready: "Ready",
  unknown: "Unknown",
};

/** Worst first. */
export const kHealthOrder: Health[] = ["degraded", "attention", "syncing", "unknown", "ready"];

/** One word for an object: what stops it, what needs a look, what is on its way. */
export function health(object: ResourceStatus): { health: Health; condition?: Condition } {
  const of = (type: string) => object.conditions?.find((one) => one.type === type);
  const is = (type: string, status: string) => (of(type)?.status === status ? of(type) : undefined);
  const stopped = is("Degraded", "True") ?? is("Ready", "False") ?? is("ConnectionVerified", "False");
  if (stopped) return { health: "degraded", condition: stopped };
  // Synced=False beside Ready=True says that some sinks had nothing new: no fault.
  const unsynced = is("Ready", "True") ? undefined : is("Synced", "False");
  if (unsynced) return { health: "degraded", condition: unsynced };
  const look = is("SinkReachable", "False") ?? is("ExportShardWarning", "True") ?? is("TLSInsecure", "True");
  if (look) return { health: "attention", condition: look };
  // Sinks do not say which generation they have seen.
  if (object.observedGeneration !== undefined && object.observedGeneration < (object.generation ?? 0)) return { health: "syncing" };
  const ready = is("Ready", "True") ?? is("ConnectionVerified", "True");
  if (ready) return { health: "ready", condition: ready };
  const waiting = is("Ready", "Unknown");
  return waiting ? { health: "syncing", condition: waiting } : { health: "unknown" };
}
