// The fleet API's records as the fleet view needs them (docs/fleet.md), and what can be told from them.

export interface ComponentReference {
  id: string;
  enabled: boolean;
  oci_tag?: string;
  component_path?: string;
}

export interface FleetCluster {
  id: string;
  cluster_name: string;
  cluster_dns: string;
  environment: string;
  node_count?: number;
  vm_image?: string;
  k0s_version?: string;
  platform_components: ComponentReference[];
  namespaces: { id: string }[];
  rolebindings: { id: string }[];
  patches: Record<string, Record<string, string>>;
}

export interface CatalogEntry {
  id: string;
  component_path: string;
  component_version: string;
  cluster_env_enabled: boolean;
  oci_url: string;
  oci_tag: string;
  depends_on: string[];
}

export interface Finding {
  cluster: string;
  environment: string | null;
  finding: string;
  family: string | null;
  id: string | null;
  object: { kind: string | null; namespace: string | null; name: string } | null;
  field: string | null;
  expected: string | null;
  observed: string | null;
  message: string | null;
  since: string | null;
  seen: string | null;
}

export interface DriftReport {
  at: string;
  summary: { clusters: number; drifting: number; findings: number; by_finding: Record<string, number> } | null;
  findings: Finding[];
  cursor: string | null;
}

export interface RolloutMember {
  family: string;
  id: string;
  action: "created" | "changed" | "deleted";
  changes?: { path: string[] }[];
}

export interface Rollout {
  id: string;
  at: string;
  by: string;
  kind?: string;
  note?: string;
  created?: number;
  changed?: number;
  deleted?: number;
  undone_by?: string;
  reaches?: { clusters: number };
  members?: RolloutMember[];
}

/** In plain words; `worst` first. */
export const kFindings: [string, string][] = [
  ["missing", "Wanted, and not there"],
  ["not_ready", "As wanted, and not working"],
  ["differs", "There, but other than wanted"],
  ["disabled", "There although it is disabled here"],
  ["extra", "There, and wanted by nobody"],
  ["suspended", "Flux was told to leave it alone"],
  ["unreadable", "A row that cannot be read"],
  ["stale", "Not seen for too long"],
  ["unobserved", "The inventory has no rows of this cluster"],
  ["unknown_cluster", "Rows of a cluster that no record has"],
];

const kRank = new Map(kFindings.map(([name], index) => [name, index]));
export const worstFirst = (a: Finding, b: Finding) => (kRank.get(a.finding) ?? 99) - (kRank.get(b.finding) ?? 99);
export const findingWords = (finding: string) => kFindings.find(([name]) => name === finding)?.[1] ?? finding;

/** Findings about a cluster as a whole: nothing is known of its components. */
export const kUnseen = new Set(["stale", "unobserved"]);

/** Which version a cluster gets: its own tag, else the catalog's, and the version where that says no more than "latest". */
export function wantedVersion(reference: ComponentReference, entry: CatalogEntry | undefined): string {
  const tag = reference.oci_tag || entry?.oci_tag || "";
  return tag && tag !== "latest" ? tag : entry?.component_version || tag || "?";
}

export class DriftIndex {
  private byCluster = new Map<string, Finding[]>();

  constructor(findings: Finding[]) {
    for (const one of findings) {
      const list = this.byCluster.get(one.cluster);
      if (list) list.push(one);
      else this.byCluster.set(one.cluster, [one]);
    }
    for (const list of this.byCluster.values()) list.sort(worstFirst);
  }

  of(cluster: string): Finding[] {
    return this.byCluster.get(cluster) ?? [];
  }

  ofComponent(cluster: string, component: string): Finding | undefined {
    return this.of(cluster).find((one) => one.family === "platform_components" && one.id === component);
  }

  unseen(cluster: string): boolean {
    return this.of(cluster).some((one) => kUnseen.has(one.finding));
  }
}

export interface Spread {
  id: string;
  total: number; // clusters that have it enabled
  disabled: number;
  drifting: number;
  versions: [string, number][]; // most first
}

/** For each component of the catalog, which versions clusters get. */
export function spreadOf(clusters: FleetCluster[], catalog: Map<string, CatalogEntry>, drift: DriftIndex): Spread[] {
  const found = new Map<string, { disabled: number; drifting: number; versions: Map<string, number> }>();
  for (const id of catalog.keys()) found.set(id, { disabled: 0, drifting: 0, versions: new Map() });
  for (const cluster of clusters) {
    for (const reference of cluster.platform_components) {
      let one = found.get(reference.id);
      if (!one) found.set(reference.id, (one = { disabled: 0, drifting: 0, versions: new Map() }));
      if (!reference.enabled) ++one.disabled;
      else {
        const version = wantedVersion(reference, catalog.get(reference.id));
        one.versions.set(version, (one.versions.get(version) ?? 0) + 1);
        if (drift.ofComponent(cluster.id, reference.id)) ++one.drifting;
      }
    }
  }
  return [...found].sort(([a], [b]) => a.localeCompare(b)).map(([id, one]) => {
    const versions = [...one.versions].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
    return { id, total: versions.reduce((sum, [, n]) => sum + n, 0), disabled: one.disabled, drifting: one.drifting, versions };
  });
}

export interface Progress {
  clusters: string[]; // that the rollout reaches and that are still there
  done: string[];
  waiting: string[]; // a finding about what the rollout changed
  unseen: string[];
}

/** How far the clusters have followed a rollout, by what the inventory saw of them. */
export function progressOf(rollout: Rollout, clusters: FleetCluster[], drift: DriftIndex): Progress {
  const things = new Map<string, Set<string>>(); // cluster: "family/id" that were changed; empty: anything
  const reach = (cluster: string, thing?: string) => {
    const set = things.get(cluster) ?? new Set<string>();
    if (thing) set.add(thing);
    things.set(cluster, set);
  };
  for (const member of rollout.members ?? []) {
    if (member.family === "clusters") {
      reach(member.id);
      for (const change of member.changes ?? []) {
        const [family, id] = change.path;
        if (id) reach(member.id, `${family === "patches" ? "platform_components" : family}/${id}`);
      }
    } else {
      for (const cluster of clusters) {
        const lists = cluster as unknown as Record<string, { id: string }[] | undefined>;
        if (lists[member.family]?.some((one) => one.id === member.id)) reach(cluster.id, `${member.family}/${member.id}`);
      }
    }
  }
  const out: Progress = { clusters: [], done: [], waiting: [], unseen: [] };
  const present = new Set(clusters.map((one) => one.id));
  for (const [cluster, changed] of things) {
    if (!present.has(cluster)) continue;
    out.clusters.push(cluster);
    const behind = drift.of(cluster).some((one) => changed.size === 0 || changed.has(`${one.family}/${one.id}`));
    (drift.unseen(cluster) ? out.unseen : behind ? out.waiting : out.done).push(cluster);
  }
  return out;
}
