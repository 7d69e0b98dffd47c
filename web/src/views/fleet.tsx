// The fleet: which cluster has which component in which version, what does not follow, how far rollouts are.
import { useCallback, useMemo, useState } from "preact/hooks";
import { ApiError, useData } from "../api";
import { type CatalogEntry, DriftIndex, type DriftReport, type FleetCluster, type Rollout, spreadOf, wantedVersion } from "../fleet";
import { count, number } from "../format";
import { go, href, usePlace } from "../router";
import { type Column, Table } from "../table";
import type { Meta } from "../types";
import { Ago, Empty, ErrorNotice, Loading, Notice, PageHead, SearchBox } from "../ui";
import { ClusterDrawer, FindingMark, Rollouts, Spreads } from "./fleet_parts";

const kTabs: [string, string][] = [["", "Clusters"], ["components", "Components"], ["rollouts", "Rollouts"]];

function ComponentCell({ cluster, component, catalog, drift }: {
  cluster: FleetCluster;
  component: string;
  catalog: Map<string, CatalogEntry>;
  drift: DriftIndex;
}) {
  const reference = cluster.platform_components.find((one) => one.id === component);
  const finding = drift.ofComponent(cluster.id, component);
  if (!reference) return finding ? <FindingMark finding={finding} /> : <span class="faint" aria-label="not assigned">–</span>;
  const own = Boolean(reference.oci_tag || reference.component_path);
  return (
    <span class={reference.enabled ? "version" : "version off"}>
      {reference.enabled ? wantedVersion(reference, catalog.get(component)) : "off"}
      {own && reference.enabled && <span class="own" title="This cluster's own, not the catalog's">own</span>}
      {finding && <FindingMark finding={finding} />}
    </span>
  );
}

function driftProblem(error: ApiError | undefined) {
  if (!error || error.status === 401) return null;
  if (error.status === 404) {
    return (
      <Notice tone="info" title="What clusters really have is not known">
        Versions below are what each cluster should have. Set <code>INVENTORY_URL</code> of <code>kollect fleet serve</code>, and drift is shown here.
      </Notice>
    );
  }
  if (error.status === 429) return null; // somebody else's report is being made; it is asked for again
  return <ErrorNotice error={error} />;
}

export function FleetView({ meta }: { meta: Meta | undefined }) {
  const { query } = usePlace();
  const on = meta?.abilities.fleet !== false;
  const clusters = useData<FleetCluster[]>(on ? "/fleet/clusters" : null, {}, 30_000);
  const components = useData<CatalogEntry[]>(on ? "/fleet/platform_components" : null, {}, 30_000);
  const report = useData<DriftReport>(on ? "/fleet/drift" : null, { limit: 10_000 }, 30_000);
  const rollouts = useData<{ rollouts: Rollout[] }>(on && query.view === "rollouts" ? "/fleet/rollouts" : null, { limit: 20 }, 15_000);
  const [cursor, setCursor] = useState(-1);

  const catalog = useMemo(() => new Map((components.data ?? []).map((one) => [one.id, one])), [components.data]);
  const drift = useMemo(() => new DriftIndex(report.data?.findings ?? []), [report.data]);
  const q = (query.q ?? "").toLowerCase();
  const shown = useMemo(() => (clusters.data ?? []).filter((one) => {
    if (query.environment && one.environment !== query.environment) return false;
    if (query.show === "drift" && drift.of(one.id).length === 0) return false;
    return !q || `${one.id} ${one.cluster_name} ${one.cluster_dns}`.toLowerCase().includes(q);
  }), [clusters.data, query.environment, query.show, q, drift]);
  const ids = useMemo(() => {
    const used = new Set(catalog.keys());
    for (const cluster of clusters.data ?? []) for (const one of cluster.platform_components) used.add(one.id);
    return [...used].sort();
  }, [catalog, clusters.data]);
  const columns = useMemo<Column<FleetCluster>[]>(() => [
    {
      id: "cluster", title: "Cluster", width: 190, grow: 1, sticky: true, text: (one) => `${one.cluster_name} (${one.cluster_dns})`,
      cell: (one) => (
        <>
          <strong class="name">{one.id}</strong>
          {drift.of(one.id).length > 0 && <span class="drift-count" title={count(drift.of(one.id).length, "finding")}>{drift.of(one.id).length}</span>}
        </>
      ),
    },
    { id: "environment", title: "Environment", width: 124, cell: (one) => one.environment },
    ...ids.map((id): Column<FleetCluster> => ({
      id, title: id, width: 156, grow: 1, cell: (one) => <ComponentCell cluster={one} component={id} catalog={catalog} drift={drift} />,
    })),
  ], [ids, catalog, drift]);
  const open = (clusters.data ?? []).find((one) => one.id === query.open);
  const close = useCallback(() => go("fleet", { ...query, open: "" }), [query]);
  const show = (index: number) => shown[index] && go("fleet", { ...query, open: shown[index].id }, query.open !== undefined);

  if (!on) return <div class="page"><PageHead title="Fleet" /><ErrorNotice error={new ApiError(404, "NoFleet", "")} /></div>;
  const error = clusters.error ?? components.error;
  const environments = [...new Set((clusters.data ?? []).map((one) => one.environment))].sort();
  const summary = report.data?.summary;
  return (
    <div class="page page-full">
      <PageHead title="Fleet">
        <span class="count" role="status">{clusters.data && count(shown.length, "cluster")}</span>
        {summary && <span class="muted">{summary.drifting === 0 ? "all as they should be" : `${number(summary.drifting)} drifting, ${count(summary.findings, "finding")}`}</span>}
        <span class="spring" />
        {report.data && <span class="muted">Looked at <Ago at={report.data.at} /></span>}
      </PageHead>
      {error && error.status !== 401 && <ErrorNotice error={error} retry={() => { clusters.reload(); components.reload(); }} />}
      {driftProblem(report.error)}
      <nav class="tabs" aria-label="Parts of the fleet">
        {kTabs.map(([view, title]) => (
          <a key={view} href={href("fleet", { ...query, view, open: "" })} aria-current={(query.view ?? "") === view ? "page" : undefined}>{title}</a>
        ))}
      </nav>
      {query.view !== "rollouts" && (
        <div class="tools"><div class="tools-row">
          <SearchBox value={query.q ?? ""} label="Search clusters" placeholder="Search clusters…" delay={80} onInput={(text) => go("fleet", { ...query, q: text }, true)} />
          <select aria-label="Environment" value={query.environment ?? ""} onChange={(event) => go("fleet", { ...query, environment: event.currentTarget.value })}>
            <option value="">All environments</option>
            {environments.map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
          {report.data && (
            <select aria-label="Show" value={query.show ?? ""} onChange={(event) => go("fleet", { ...query, show: event.currentTarget.value })}>
              <option value="">All clusters</option>
              <option value="drift">Only drifting</option>
            </select>
          )}
        </div></div>
      )}
      {query.view === "components" && <Spreads spreads={spreadOf(shown, catalog, drift)} catalog={catalog} drifting={report.data !== undefined} />}
      {query.view === "rollouts" && (
        rollouts.error
          ? <ErrorNotice error={rollouts.error} retry={rollouts.reload} />
          : rollouts.data
            ? <Rollouts rollouts={rollouts.data.rollouts} clusters={clusters.data ?? []} drift={drift} seen={report.data !== undefined} />
            : <Loading what="rollouts" />
      )}
      {!query.view && (
        <div class="split">
          <Table
            label="Clusters and their components"
            columns={columns}
            total={shown.length}
            row={(index) => shown[index]}
            rowClass={(row) => (row.id === query.open ? "row-open" : "")}
            cursor={cursor}
            onCursor={(index) => {
              setCursor(index);
              if (query.open) show(index);
            }}
            onOpen={show}
            empty={clusters.data ? <Empty title="No cluster matches">{clusters.data.length > 0 ? "Search for less, or show all." : "Register one with kollect fleet cluster create."}</Empty> : error ? null : <Loading what="clusters" />}
          />
          {open && <ClusterDrawer cluster={open} catalog={catalog} findings={drift.of(open.id)} onClose={close} />}
        </div>
      )}
    </div>
  );
}
