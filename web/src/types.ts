// What the read API answers (docs/read-api.md), as far as the console uses it.

export interface Meta {
  schemaVersion: string;
  version: string;
  store: "operator" | "sqlite" | "postgres";
  abilities: { history: boolean; objects: boolean; stream: boolean; fleet: boolean };
  authMode: "kubernetes" | "token" | "disabled";
  now: string;
  access: { namespaces: string[] | null; clusters: string[] | null };
}

export interface Item {
  cluster?: string;
  inventoryNamespace?: string;
  inventory?: string;
  exportedAt?: string;
  targetNamespace?: string;
  targetName?: string;
  namespace?: string;
  name?: string;
  group?: string;
  version?: string;
  kind?: string;
  uid: string;
  attributes?: Record<string, unknown>;
}

export interface ExportStatus {
  sinkName: string;
  sinkNamespace?: string;
  status: "ok" | "degraded" | "unknown" | "debounced";
  lastExportTime?: string;
  message?: string;
}

export interface InventorySummary {
  itemCount: number;
  items: Item[];
  updatedAt?: string;
  /** `atLeast`: `total` is a lower bound; only where it was asked for. */
  pagination?: { limit: number; offset: number; total: number; atLeast?: boolean; hasMore: boolean };
  exportStatus?: ExportStatus[];
  checksum?: string;
}

export interface InventoryPlace {
  cluster: string;
  namespace: string;
  name: string;
  rows: number;
  exportedAt: string;
  generation: number;
  checksum: string;
}

export interface ClusterState {
  cluster: string;
  inventories: number;
  rows: number;
  exportedAt: string;
  oldestExportedAt: string;
}

export interface Problem {
  kind: string;
  namespace: string;
  name: string;
  type: string;
  reason: string;
  message: string;
  since?: string;
}

export interface FreshPlace {
  cluster: string;
  namespace: string;
  name: string;
  exportedAt: string;
}

export interface Overview {
  store: string;
  rows: number;
  clusters: number;
  inventories: number;
  targets: number | null;
  sinks: number | null;
  freshest: FreshPlace | null;
  stalest: FreshPlace | null;
  problems: Problem[];
  problemCount: number;
}

export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

export interface SinkExport {
  sink: string;
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastExportTime?: string;
  itemCount?: number;
  consecutiveFailures?: number;
}

export interface ResourceStatus {
  kind?: string;
  name: string;
  namespace: string;
  generation?: number;
  observedGeneration?: number;
  itemCount?: number;
  conditions?: Condition[];
  lastExportTime?: string;
  spec?: Record<string, unknown>;
  sinkExports?: SinkExport[];
  usedBy?: string[];
}

export interface Listing<T> {
  items: T[];
}

export interface Group {
  values: string[];
  rows: number;
}

export interface Groups {
  by: string[];
  items: Group[];
  rows: number;
}

export interface RowVersion {
  cluster: string;
  inventoryNamespace: string;
  inventory: string;
  validFrom: string;
  validTo: string | null;
  began: string;
  ended: string | null;
  item: Item;
}
